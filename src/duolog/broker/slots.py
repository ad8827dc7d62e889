"""The place of one answer in the order of its connection."""

from duolog.broker.sending import FileSpan

Data = bytes | list[bytes | FileSpan]


def held_bytes(data: Data) -> int:
    """Return the bytes of an answer that lie in memory; spans of files do not."""
    if isinstance(data, bytes):
        return len(data)
    return sum(len(piece) for piece in data if isinstance(piece, bytes))


class Slot:
    """Waits in its connection's order until the request is answered."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: Data | None = None
