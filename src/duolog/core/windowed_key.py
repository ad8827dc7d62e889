"""Encoding of keys that end with window bounds."""

from dataclasses import dataclass
from typing import Final

BOUND_BYTES: Final = 8
NO_END: Final = 2**63 - 1
"""End of an unlimited window: the largest timestamp."""


@dataclass(frozen=True, slots=True)
class WindowedKey:
    """The window size of a key's encoding, if all windows have the same size, else None.

    The key columns are followed by the start of the window, or by its end and start if sizes differ
    (sessions, months), as eight bytes each, big-endian.

    Source: Kafka Streams `WindowKeySchema`, `SessionKeySchema`.
    """

    size_ms: int | None = None

    @property
    def bytes(self) -> int:
        return BOUND_BYTES if self.size_ms is not None else 2 * BOUND_BYTES
