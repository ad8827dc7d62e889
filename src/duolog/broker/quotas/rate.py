"""The rate of something in the last seconds, as Kafka measures it for quotas.

    samples  │ 3 │ 0 │ 5 │ 2 ◀ current      one for each `window_ms` in which something happened

The rate is the sum of the samples, divided by the time since the oldest of them began. That time
counts as at least `samples - 1` whole windows, so a client that has just started may use what it
could have used before. A sample is emptied when nothing was added to it for `samples` windows.

A rate is asked for at each request, so the sum, the oldest start and the end of the current sample
are kept, and computed again only when a sample begins or is emptied.

Pure: the caller gives the time, in milliseconds that never decrease.

Source: Kafka `Rate`, `SampledStat`, `WindowedSum`.
"""

from typing import Final, NamedTuple

from duolog.core.units import SECOND_MS


class Windows(NamedTuple):
    """The settings of a rate: `quota.window.num` and `quota.window.size.seconds`."""

    samples: int = 11
    window_ms: int = SECOND_MS

    @property
    def span_ms(self) -> int:
        """The time that all samples cover."""
        return self.samples * self.window_ms

    @property
    def whole_s(self) -> float:
        """The seconds that a rate counts at least: all windows but the current one."""
        return (self.samples - 1) * self.window_ms / SECOND_MS


class Rate:
    """A sum over sliding windows, and what it is per second."""

    __slots__ = (
        "_current",
        "_current_end",
        "_empty_at",
        "_lasts",
        "_oldest",
        "_starts",
        "_total",
        "_values",
        "windows",
    )

    def __init__(self, windows: Windows) -> None:
        self.windows: Final = windows
        self._starts: list[int] = []
        self._lasts: list[int] = []
        """When something was last added to each sample."""
        self._values: list[float] = []
        self._current = 0
        self._current_end = -1
        """When the current sample is over; before the first one, it always is."""
        self._total = 0.0
        self._oldest = 0
        self._empty_at = 0
        """No sample must be emptied before this time."""

    def record(self, value: float, now_ms: int) -> None:
        """Add `value`; a negative one takes back what was added."""
        if now_ms >= self._current_end:
            self._advance(now_ms)
        current = self._current
        self._values[current] += value
        self._lasts[current] = now_ms
        self._total += value

    def measure(self, now_ms: int) -> float:
        """Return the amount per second."""
        return self.total(now_ms) * SECOND_MS / self.elapsed_ms(now_ms)

    @property
    def total_at_most(self) -> float:
        """The sum of the samples, or more, if some of them should have been emptied."""
        return self._total

    def total(self, now_ms: int) -> float:
        """Return the sum of the samples."""
        if now_ms >= self._empty_at:
            self._empty(now_ms)
        return self._total

    def elapsed_ms(self, now_ms: int) -> int:
        """Return the time by which the sum is divided."""
        if now_ms >= self._empty_at:
            self._empty(now_ms)
        samples, window_ms = self.windows
        elapsed_ms = now_ms - self._oldest
        missing = samples - 1 - elapsed_ms // window_ms
        if missing > 0:
            elapsed_ms += missing * window_ms
        return max(elapsed_ms, 1)

    def is_idle(self, now_ms: int) -> bool:
        """Return whether nothing happened in the windows: a new rate would be the same."""
        return all(now_ms - last >= self.windows.span_ms for last in self._lasts)

    def _begin(self, now_ms: int) -> None:
        self._starts.append(now_ms)
        self._lasts.append(now_ms)
        self._values.append(0)
        self._summarize()

    def _advance(self, now_ms: int) -> None:
        """Go to the next sample: a new one, or the oldest, emptied."""
        if not self._starts:
            self._begin(now_ms)
            return
        # One more than `samples`: the oldest may have begun before the span and reach into it.
        self._current = (self._current + 1) % (self.windows.samples + 1)
        if self._current == len(self._starts):
            self._begin(now_ms)
            return
        self._reset(self._current, now_ms)
        self._summarize()

    def _empty(self, now_ms: int) -> None:
        """Empty the samples to which nothing was added in the span."""
        if not self._starts:
            self._begin(now_ms)
        for index, last in enumerate(self._lasts):
            if now_ms - last >= self.windows.span_ms:
                self._reset(index, now_ms)
        self._summarize()

    def _reset(self, index: int, now_ms: int) -> None:
        self._starts[index] = self._lasts[index] = now_ms
        self._values[index] = 0

    def _summarize(self) -> None:
        self._total = sum(self._values)
        self._oldest = min(self._starts)
        self._current_end = self._starts[self._current] + self.windows.window_ms
        # The samples' last times only grow: this is too early at worst.
        self._empty_at = min(self._lasts) + self.windows.span_ms
