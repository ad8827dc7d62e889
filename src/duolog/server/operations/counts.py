"""Counts of requests, for metrics.

Thread: the event loop.
"""

from collections import Counter

from duolog.core.histogram import TIMES_S, Histogram


class Counts:
    """Requests of one server since it started."""

    def __init__(self) -> None:
        self.answered: Counter[tuple[str, int]] = Counter()
        """By operation and status."""
        self.seconds: dict[str, Histogram] = {}
        self.in_progress = 0
        self.connections = 0
        self.evicted = 0
        """Idle connections that made room for others."""

    def note(self, operation: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.answered[operation, status] += 1
        histogram = self.seconds.get(operation)
        if histogram is None:
            histogram = self.seconds[operation] = Histogram(TIMES_S)
        histogram.observe(seconds)
