"""Keys that end with the bounds of a window, and how they are written."""

from dataclasses import dataclass
from typing import Final

BOUND_BYTES: Final = 8
NO_END: Final = 2**63 - 1
"""The end of a window that has none: the last timestamp that there is."""


@dataclass(frozen=True, slots=True)
class WindowedKey:
    """What bytes do not say of a window: its size where all have one, else None.

    Behind the columns of the key stands the start of a window, or the end and the start where windows
    differ in size (sessions, months), in eight bytes each, big-endian.

    Source: Kafka Streams `WindowKeySchema`, `SessionKeySchema`.
    """

    size_ms: int | None = None

    @property
    def bytes(self) -> int:
        return BOUND_BYTES if self.size_ms is not None else 2 * BOUND_BYTES
