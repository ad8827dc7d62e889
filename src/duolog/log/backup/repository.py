"""A directory with backups of one Duolog.

    DIR/duolog-backup      format and cluster id; a directory without it is not used
    DIR/.lock              held by the backup that runs
    DIR/backup-000001      a complete backup, see `manifest`
    DIR/packs/             the bytes of all backups, see `packs`
    DIR/progress           an interrupted backup, see `progress`

Each backup names pieces of its own packs and of those before it, so a later one writes only what
has changed, and each can be restored alone. An interrupted one changes no earlier one. A pack that
no backup names is removed; one that the last backup hardly uses is copied again, so that old packs
do not stay for a few bytes.

Thread: one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.log.backup.copies import Copy, Known, Piece
from duolog.log.backup.manifest import (
    Manifest,
    list_manifests,
    manifest_name,
    read_manifest,
    write_manifest,
)
from duolog.log.backup.packs import PACKS_DIRECTORY, PackWriter, list_packs, pack_path
from duolog.log.backup.progress import PROGRESS_FILE_NAME, Progress, read_progress
from duolog.log.errors import BackupDamaged, BackupRefused, DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Buffer, DirLock, Disk, make_durable_dir

MARK_FILE_NAME: Final = "duolog-backup"
FORMAT: Final = 1
_LOCK: Final = ".lock"
SAVE_BYTES: Final = 32 * 1024 * 1024
_USED_SHARE_MIN: Final = 0.5


class Repository:
    """The backups in a directory, for reading.

    Raises:
        BackupRefused: the directory is not one of backups, or a newer Duolog wrote it.
        BackupDamaged: its mark is damaged.
    """

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.directory = directory
        self.cluster_id = _read_mark(disk, directory)

    def numbers(self) -> list[int]:
        """Return the numbers of the complete backups, rising."""
        return list_manifests(self.disk, self.directory)

    @property
    def interrupted(self) -> bool:
        """True if a backup was begun here and is not complete."""
        return self.disk.exists(f"{self.directory}/{PROGRESS_FILE_NAME}")

    def read(self, number: int | None = None) -> Manifest:
        """Return a backup, by default the last one.

        Raises:
            BackupRefused: there is none of this number.
            BackupDamaged: its file is damaged.
        """
        numbers = self.numbers()
        if not numbers:
            raise BackupRefused(
                f'directory "{self.directory}" has no complete backup',
                detail="The only one was interrupted." if self.interrupted else "",
                hint="Run `duolog backup` again: it continues an interrupted backup.",
            )
        if number is not None and number not in numbers:
            raise BackupRefused(
                f'directory "{self.directory}" has no backup {number}',
                detail=f"It has {', '.join(map(str, numbers))}.",
                hint="Use one of these numbers.",
            )
        return read_manifest(self.disk, self.directory, numbers[-1] if number is None else number)


def create_repository(disk: Disk, directory: str, cluster_id: str) -> Repository:
    """Return the repository in a directory; make one where it is empty or missing.

    Raises:
        BackupRefused: the directory holds something else, or backups of another cluster.
        BackupDamaged: its mark is damaged.
        OSError: the disk refused.
    """
    others = set(disk.list(directory)) - {_LOCK, f"{MARK_FILE_NAME}.tmp"}
    if not others:
        make_durable_dir(disk, directory)
        content = json.dumps({"format": FORMAT, "cluster_id": cluster_id}).encode()
        write_checked(disk, directory, MARK_FILE_NAME, content)
    found = Repository(disk, directory)
    if found.cluster_id != cluster_id:
        raise BackupRefused(
            f'directory "{directory}" has backups of another cluster',
            detail=f"They are of cluster {found.cluster_id}, and this one is {cluster_id}.",
            hint="Use a directory for each cluster.",
        )
    return found


def _read_mark(disk: Disk, directory: str) -> str:
    try:
        data = read_checked(disk, directory, MARK_FILE_NAME)
        if data is None:
            raise BackupRefused(
                f'directory "{directory}" is not a directory of backups',
                detail=f"It has no file {MARK_FILE_NAME}.",
                hint="Name a directory that `duolog backup` has written; a new backup needs an "
                "empty directory.",
            )
        content = json.loads(data)
        found, cluster_id = int(content["format"]), str(content["cluster_id"])
    except (DamagedFile, ValueError, KeyError, TypeError) as error:
        raise BackupDamaged(
            f'file "{directory}/{MARK_FILE_NAME}" is damaged',
            hint="Restore it from another copy of the directory.",
        ) from error
    if found > FORMAT:
        raise BackupRefused(
            f'directory "{directory}" was written by a newer Duolog',
            detail=f"It has the format {found}; this version knows {FORMAT}.",
            hint="Use that version or a later one.",
        )
    return cluster_id


class Session:
    """A backup that is being written. `close` it, complete or not.

    Raises:
        BackupRefused: another backup into the directory is running.
        OSError: the disk refused.
    """

    def __init__(self, repository: Repository, *, full: bool = False) -> None:
        """`full`: use no copies of earlier backups."""
        self._disk, self._directory = repository.disk, repository.directory
        self._repository = repository
        self._lock = self._take_lock()
        self._writer = PackWriter(self._disk, self._directory)
        self._progress = Progress(self._disk, self._directory)
        self.known: Known = {} if full else self._read_known()

    def _take_lock(self) -> DirLock:
        try:
            return self._disk.lock(f"{self._directory}/{_LOCK}")
        except BlockingIOError:
            raise BackupRefused(
                f'another backup into "{self._directory}" is running',
                hint="Wait until it is complete.",
            ) from None

    @property
    def number(self) -> int:
        """The number of this backup."""
        return max(self._repository.numbers(), default=0) + 1

    @property
    def written_bytes(self) -> int:
        return self._writer.written_bytes

    def _read_known(self) -> dict[str, Copy]:
        """Return the copies of the last backup and of an interrupted one that can be used again."""
        sizes = {
            pack: self._disk.size(pack_path(self._directory, pack))
            for pack in list_packs(self._disk, self._directory)
        }
        known: dict[str, Copy] = {}
        numbers = self._repository.numbers()
        if numbers:
            try:
                known = dict(read_manifest(self._disk, self._directory, numbers[-1]).copies())
            except BackupDamaged:
                known = {}  # All is copied again, which is what a damaged backup needs.
        good = _well_used(known, sizes)
        known = {key: copy for key, copy in known.items() if _is_within(copy, good)}
        interrupted = read_progress(self._disk, self._directory)
        return known | {key: copy for key, copy in interrupted.items() if _is_within(copy, sizes)}

    def write(self, chunks: Iterable[Buffer]) -> tuple[Piece, ...]:
        """Write bytes to a pack.

        Raises:
            OSError: the disk refused.
        """
        return self._writer.write(chunks)

    def note(self, key: str, copy: Copy) -> None:
        """Note a finished copy, so that an interrupted backup need not make it again."""
        self._progress.note(key, copy)
        if self._writer.unsynced_bytes >= SAVE_BYTES:
            self.save()

    def save(self) -> None:
        """Make all finished copies durable.

        Raises:
            OSError: the disk refused.
        """
        self._writer.sync()
        self._progress.save()

    def complete(self, manifest: Manifest) -> None:
        """Make this backup a complete one.

        Raises:
            OSError: the disk refused.
        """
        self._writer.sync()
        write_manifest(self._disk, self._directory, manifest)
        self._progress.close()
        if self._repository.interrupted:
            self._disk.remove(f"{self._directory}/{PROGRESS_FILE_NAME}")
            self._disk.sync_dir(self._directory)

    def keep(self, newest: int) -> list[int]:
        """Remove all backups but the newest, and packs that none of the others uses.

        Returns the numbers of the backups that were removed.

        Raises:
            BackupDamaged: a backup cannot be read, so that its packs are unknown.
            OSError: the disk refused.
        """
        numbers = self._repository.numbers()
        doomed, kept = numbers[:-newest], numbers[-newest:]
        manifests = [read_manifest(self._disk, self._directory, number) for number in kept]
        for number in doomed:
            self._disk.remove(f"{self._directory}/{manifest_name(number)}")
        # Manifests first: none may name a pack that is gone.
        self._disk.sync_dir(self._directory)
        used = {piece.pack for manifest in manifests for piece in manifest.pieces()}
        for pack in list_packs(self._disk, self._directory):
            if pack not in used:
                self._disk.remove(pack_path(self._directory, pack))
        if self._disk.exists(f"{self._directory}/{PACKS_DIRECTORY}"):
            self._disk.sync_dir(f"{self._directory}/{PACKS_DIRECTORY}")
        return doomed

    def close(self) -> None:
        """Close all files, and let other backups begin."""
        self._writer.close()
        self._progress.close()
        self._lock.release()


def _well_used(known: Mapping[str, Copy], sizes: Mapping[int, int]) -> dict[int, int]:
    """Return the sizes of the packs of which at least half is in use."""
    used: Counter[int] = Counter()
    for copy in known.values():
        for piece in copy.pieces:
            used[piece.pack] += piece.size_bytes
    return {pack: size for pack, size in sizes.items() if used[pack] >= size * _USED_SHARE_MIN}


def _is_within(copy: Copy, sizes: Mapping[int, int]) -> bool:
    """Return whether packs of these sizes have all pieces of a copy."""
    return all(
        piece.position + piece.size_bytes <= sizes.get(piece.pack, -1) for piece in copy.pieces
    )
