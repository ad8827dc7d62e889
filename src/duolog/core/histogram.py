"""A histogram with fixed buckets: bounded in size, and cheap to update."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

TIMES_S: Final = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    60.0,
)


class Histogram:
    """Counts values per bucket: `steps` are upper bounds; a last bucket has all larger values."""

    __slots__ = ("counts", "steps", "sum")

    def __init__(self, steps: Sequence[float]) -> None:
        self.steps = tuple(steps)
        self.counts = [0] * (len(steps) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value that was observed `times` times.

        Example:
            >>> histogram = Histogram((1, 10))
            >>> histogram.observe(3, times=2)
            >>> histogram.counts
            [0, 2, 0]
        """
        self.counts[bisect_left(self.steps, value)] += times
        self.sum += value * times
