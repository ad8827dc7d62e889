"""Percentiles of the latency from writing an event to its result."""

from collections import Counter, deque


class Latencies:
    """Counts latencies in whole milliseconds, in total and for the last seconds.

    Args:
        recent_s: number of seconds that `recent` covers.

    Example:
        >>> latencies = Latencies(recent_s=10)
        >>> for ms in (10, 20, 30, 1000):
        ...     latencies.add(ms, at_s=1.0)
        >>> latencies.add(5, at_s=60.0)
        >>> latencies.percentile(50), latencies.percentile(99), latencies.recent(99, at_s=60.0)
        (20, 1000, 5)
    """

    def __init__(self, recent_s: int = 10) -> None:
        self._recent_s = recent_s
        self._all: Counter[int] = Counter()
        self._seconds: deque[tuple[int, Counter[int]]] = deque()

    def add(self, ms: int, at_s: float) -> None:
        second = int(at_s)
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append((second, Counter()))
            self._forget(second)
        self._seconds[-1][1][ms] += 1
        self._all[ms] += 1

    def percentile(self, percent: float) -> int | None:
        """Return the latency that `percent` of all do not exceed; None if there are none."""
        return _percentile(self._all, percent)

    def recent(self, percent: float, at_s: float) -> int | None:
        """Return the same for the seconds before `at_s`."""
        self._forget(int(at_s))
        together: Counter[int] = Counter()
        for _, counts in self._seconds:
            together.update(counts)
        return _percentile(together, percent)

    def _forget(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second - self._recent_s:
            self._seconds.popleft()


def _percentile(counts: Counter[int], percent: float) -> int | None:
    wanted = counts.total() * percent / 100
    seen = 0
    for ms in sorted(counts):
        seen += counts[ms]
        if seen >= wanted:
            return ms
    return None
