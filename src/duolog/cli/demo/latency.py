"""How long it took from the write of an event to its result, as percentiles."""

from collections import Counter


class Latencies:
    """Counts latencies in whole milliseconds.

    Example:
        >>> latencies = Latencies()
        >>> for ms in (10, 20, 30, 1000):
        ...     latencies.add(ms)
        >>> latencies.percentile(50), latencies.percentile(99)
        (20, 1000)
    """

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.count = 0

    def add(self, ms: int) -> None:
        self._counts[ms] += 1
        self.count += 1

    def percentile(self, percent: float) -> int | None:
        """Return the smallest latency that `percent` of all do not exceed; None without any."""
        wanted = self.count * percent / 100
        seen = 0
        for ms in sorted(self._counts):
            seen += self._counts[ms]
            if seen >= wanted:
                return ms
        return None
