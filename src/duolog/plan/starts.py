"""The position from which a source reads when its application starts for the first time.

Later starts continue from the checkpoint. Source: Kafka Streams `AutoOffsetReset` (KIP-1106).
"""

from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Start:
    """A start position in each partition of a topic."""

    kind: OneOf["earliest", "latest", "ago", "at"] = "earliest"
    ms: int = 0
    """For `ago` the time before the first start, for `at` the time since 1970."""

    def time_ms(self, now_ms: int) -> int:
        """Return the time at which reading starts; only for kinds with a time."""
        assert self.kind in {"ago", "at"}, self
        return self.ms if self.kind == "at" else max(0, now_ms - self.ms)

    def __str__(self) -> str:
        match self.kind:
            case "earliest":
                return ""
            case "latest":
                return ", from its end at the first start"
            case "ago":
                return f", from {self.ms} ms before the first start"
            case "at":
                return f", from timestamp {self.ms}"


EARLIEST: Final = Start()
