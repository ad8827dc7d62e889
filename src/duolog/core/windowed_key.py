"""Keys that end with the bounds of a window, and how they are written."""

from dataclasses import dataclass
from typing import Final

BOUND_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class WindowedKey:
    """What bytes do not say of a window: its size where all have one, None for sessions.

    Behind the columns of the key stands the start of a window, or the end and the start of a session, in
    eight bytes each, big-endian.

    Source: Kafka Streams `WindowKeySchema`, `SessionKeySchema`.
    """

    size_ms: int | None = None

    @property
    def bytes(self) -> int:
        return BOUND_BYTES if self.size_ms is not None else 2 * BOUND_BYTES
