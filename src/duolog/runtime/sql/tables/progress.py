"""Progress of the first read of a table's topic."""

from typing import NamedTuple


class Progress(NamedTuple):
    """Offsets of a topic that were applied, of those that it had when it was opened."""

    topic: str
    applied: int
    total: int
    elapsed_s: float
    """Time from the opening of the topic until now, or until all was applied."""

    @property
    def is_complete(self) -> bool:
        return self.applied >= self.total

    @property
    def per_second(self) -> int:
        """Offsets applied per second, on average."""
        return round(self.applied / max(self.elapsed_s, 0.001))

    @property
    def left_s(self) -> float | None:
        """Expected time to the end, in seconds; None before anything was applied."""
        if not self.applied:
            return None
        return self.elapsed_s * (self.total - self.applied) / self.applied

    def __str__(self) -> str:
        percent = 100 * self.applied // max(self.total, 1)
        return (
            f"{self.topic}: {percent} % ({self.applied:,} of {self.total:,} offsets, "
            f"{self.per_second:,} per second)"
        )
