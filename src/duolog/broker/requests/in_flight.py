"""A request in flight: its place in the order of its connection, until its answer leaves.

An answer is bytes and spans of segment files. A span holds its file, not only the descriptor's
number: the segment may be deleted while the span waits, and a number that was given again would
send another file's bytes.
"""

from typing import ClassVar

from duolog.log.files.disk import DiskFile


class FileSpan:
    """Some bytes of a file that is open."""

    __slots__ = ("file", "position", "size_bytes")

    def __init__(self, file: DiskFile, position: int, size_bytes: int) -> None:
        self.file = file
        self.position = position
        self.size_bytes = size_bytes


Data = bytes | list[bytes | FileSpan]


def held_bytes(data: Data) -> int:
    """Return the bytes of an answer that lie in memory; spans of files do not."""
    if isinstance(data, bytes):
        return len(data)
    return sum(len(piece) for piece in data if isinstance(piece, bytes))


class InFlightRequest:
    """Waits in its connection's order until the request is answered."""

    __slots__ = ("data",)

    appends: ClassVar = False
    """True if the request only appends: another append need not wait for it."""
    changes_nothing = False
    """True if later requests need not wait for the response."""
    waits_for_clients: ClassVar = False
    """True if the response may have to wait for what other clients do."""

    def __init__(self) -> None:
        self.data: Data | None = None


class ClientsAwaited(InFlightRequest):
    """A request that the members of a group complete together, as JoinGroup."""

    __slots__ = ()

    waits_for_clients = True
