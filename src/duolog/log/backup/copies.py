"""Copied files: pieces of packs, each with its hash, and the file that they were copied from.

    Copy    a file, or the part of it below a cut: pieces one after the other
    Piece   bytes in a pack: pack number, position, size, SHA-256

A later backup uses the pieces of an earlier one again if their file is still the same:

    same identity (device, inode, time of change, size)    all that was copied
    a log segment with the same inode that has grown        what was copied: logs are appended to,
                                                            if the last piece is still in the file

Compaction writes a new file. Segments below the offset `holes_below` of their log may have been
compacted, so growth proves nothing there.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """Bytes in a pack; `sha256` is hexadecimal."""

    pack: int
    position: int
    size_bytes: int
    sha256: str


class Identity(NamedTuple):
    """A file of the operating system in one state."""

    device: int
    inode: int
    changed_ns: int
    size_bytes: int

    @classmethod
    def of(cls, path: str) -> "Identity | None":
        """Return the identity of a file; None if it does not exist."""
        try:
            found = os.stat(path)  # noqa: PTH116 - paths are texts here
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)

    def is_at(self, path: str) -> bool:
        """Return whether this file is at `path`, perhaps in another state."""
        found = Identity.of(path)
        return found is not None and found[:2] == self[:2]

    def has_grown_to(self, later: "Identity") -> bool:
        """Return whether `later` is the same file with more bytes."""
        return (
            self[:2] == later[:2]
            and self.changed_ns <= later.changed_ns
            and self.size_bytes <= later.size_bytes
        )


@dataclass(frozen=True, slots=True)
class Copy:
    """The first `size_bytes` of a file.

    Attributes:
        identity: the file when it was copied; None if it cannot be recognized.
        next_offset: of a log segment: one past the last offset in the copy.
    """

    size_bytes: int
    pieces: tuple[Piece, ...]
    identity: Identity | None = None
    next_offset: int = 0

    def as_json(self) -> list[object]:
        """Return the copy as values of JSON."""
        identity = None if self.identity is None else list(self.identity)
        return [self.size_bytes, [list(piece) for piece in self.pieces], identity, self.next_offset]

    @classmethod
    def of_json(cls, content: Any) -> "Copy":
        """Return the copy of `as_json`.

        Raises:
            ValueError, TypeError: it is not one.
        """
        size, pieces, identity, next_offset = content
        return cls(
            int(size),
            tuple(Piece(int(p), int(at), int(n), str(digest)) for p, at, n, digest in pieces),
            None if identity is None else Identity(*map(int, identity)),
            int(next_offset),
        )

    def still_is(self, identity: Identity | None) -> bool:
        """Return whether the file has not changed since."""
        return identity is not None and self.identity == identity

    def begins(self, identity: Identity | None) -> bool:
        """Return whether an append-only file still begins with this copy."""
        return (
            identity is not None
            and self.identity is not None
            and self.identity.has_grown_to(identity)
        )


Known = Mapping[str, Copy]
"""Copies by the key of their file: its path in the data directory."""
