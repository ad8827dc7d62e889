"""The place of one answer in the order of its connection."""

from duolog.broker.sending import FileSpan

Data = bytes | list[bytes | FileSpan]


class Slot:
    """Waits in its connection's order until the request is answered."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: Data | None = None
