"""Times at which the servers were killed and ready again, and whether a failure is within one."""

from typing import Final, NamedTuple

SETTLE_S: Final = 15.0
"""After a server is ready, clients may need as long to connect again."""


class Outage(NamedTuple):
    """A kill; times are those of `time.monotonic`, which is the same for all processes."""

    what: str
    killed_at: float
    ready_at: float

    def as_row(self) -> dict[str, object]:
        """Return the row of the report."""
        return {"what": self.what, "away_s": round(self.ready_at - self.killed_at, 1)}

    def covers(self, start: float, end: float) -> bool:
        """Return true if a failure between two moments was caused by this kill."""
        return start >= self.killed_at - 1.0 and end <= self.ready_at + SETTLE_S


def unexplained(
    failures: list[tuple[float, float]], outages: list[Outage]
) -> list[tuple[float, float]]:
    """Return the failures that no kill explains."""
    return [one for one in failures if not any(outage.covers(*one) for outage in outages)]
