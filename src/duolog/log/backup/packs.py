"""Packs: large files with the pieces of many small ones, in the order in which they were copied.

    packs/000001.pack    piece · piece · piece · …

A pack is only appended to, by one backup; a later backup begins another. So thousands of small
logs cost a few files and syncs. Manifests say where each piece is, and its hash.
"""

import errno
import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from duolog.core.units import GIB, MIB
from duolog.log.backup.copies import Copy, Piece
from duolog.log.errors import BackupDamaged
from duolog.log.files.disk import Buffer, Disk, DiskFile, make_durable_dir

PACKS_DIRECTORY: Final = "packs"
PIECE_BYTES_MAX: Final = 64 * MIB
_PACK_BYTES_MAX: Final = GIB
_SUFFIX: Final = ".pack"
_READ_BYTES: Final = MIB
_HINT: Final = "Use another backup of the directory, or another copy of it; --verify lists damage."


def pack_path(directory: str, number: int) -> str:
    """Return the path of a pack."""
    return f"{directory}/{PACKS_DIRECTORY}/{number:06d}{_SUFFIX}"


def list_packs(disk: Disk, directory: str) -> list[int]:
    """Return the numbers of all packs, rising."""
    names = disk.list(f"{directory}/{PACKS_DIRECTORY}")
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isdigit())


class PackWriter:
    """Writes pieces to new packs. `sync` makes all that was written durable."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._number = max(list_packs(disk, directory), default=0)
        self._file: DiskFile | None = None
        self.unsynced_bytes = 0
        self.written_bytes = 0

    def write(self, chunks: Iterable[Buffer]) -> tuple[Piece, ...]:
        """Write the chunks as pieces.

        Raises:
            OSError: the disk refused.
        """
        pieces: list[Piece] = []
        digest, size, start = hashlib.sha256(), 0, 0
        for chunk in chunks:
            file = self._file_for_more()
            if not size:
                start = file.size_bytes
            file.append([chunk])
            digest.update(chunk)
            size += len(chunk)
            self.unsynced_bytes += len(chunk)
            self.written_bytes += len(chunk)
            if size >= PIECE_BYTES_MAX or file.size_bytes >= _PACK_BYTES_MAX:
                pieces.append(Piece(self._number, start, size, digest.hexdigest()))
                digest, size = hashlib.sha256(), 0
        if size:
            pieces.append(Piece(self._number, start, size, digest.hexdigest()))
        return tuple(pieces)

    def _file_for_more(self) -> DiskFile:
        if self._file is not None and self._file.size_bytes < _PACK_BYTES_MAX:
            return self._file
        self.close()
        make_durable_dir(self._disk, f"{self._directory}/{PACKS_DIRECTORY}")
        self._number += 1
        self._file = self._disk.open(pack_path(self._directory, self._number), create=True)
        self._disk.sync_dir(f"{self._directory}/{PACKS_DIRECTORY}")
        return self._file

    def sync(self) -> None:
        """Make all pieces durable.

        Raises:
            OSError: the disk refused.
        """
        if self._file is not None:
            self._file.sync()
        self.unsynced_bytes = 0

    def close(self) -> None:
        """Sync and close the file."""
        if self._file is not None:
            self.sync()
            self._file.close()
            self._file = None


class PackReader:
    """Reads pieces, and verifies each of them."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._number = 0
        self._file: DiskFile | None = None

    def read(self, copy: Copy) -> Iterator[bytes]:
        """Yield the bytes of a file; the error for a damaged piece comes after its bytes.

        Raises:
            BackupDamaged: bytes are missing, or are not what was written.
        """
        size = 0
        for piece in copy.pieces:
            yield from self.read_piece(piece)
            size += piece.size_bytes
        if size != copy.size_bytes:
            raise BackupDamaged(
                "the backup is damaged: a file does not have the size of its pieces", hint=_HINT
            )

    def read_piece(self, piece: Piece) -> Iterator[bytes]:
        """Yield the bytes of a piece. Raises as `read`."""
        file = self._open(piece.pack)
        digest = hashlib.sha256()
        position, end = piece.position, piece.position + piece.size_bytes
        while position < end:
            try:
                chunk = file.pread(position, min(_READ_BYTES, end - position))
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                raise self._damaged(piece, f"It cannot be read at position {position}") from error
            if not chunk:
                raise self._damaged(piece, f"It ends at position {position}")
            digest.update(chunk)
            position += len(chunk)
            yield chunk
        if digest.hexdigest() != piece.sha256:
            raise self._damaged(piece, "The bytes have another hash")

    def problem_of(self, piece: Piece) -> str | None:
        """Return what is wrong with a piece; None if it is whole."""
        try:
            for _ in self.read_piece(piece):
                pass
        except BackupDamaged as error:
            return error.one_line()
        return None

    def _open(self, number: int) -> DiskFile:
        if self._file is None or self._number != number:
            self.close()
            path = pack_path(self._directory, number)
            try:
                self._file, self._number = self._disk.open(path), number
            except FileNotFoundError:
                raise BackupDamaged(f'file "{path}" is missing', hint=_HINT) from None
        return self._file

    def _damaged(self, piece: Piece, problem: str) -> BackupDamaged:
        path = pack_path(self._directory, piece.pack)
        detail = f"{problem}, in the piece of {piece.size_bytes} bytes at {piece.position}."
        return BackupDamaged(f'file "{path}" is damaged', detail=detail, hint=_HINT)

    def close(self) -> None:
        """Close the open file."""
        if self._file is not None:
            self._file.close()
            self._file = None
