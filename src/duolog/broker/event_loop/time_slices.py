"""Long work on the loop, cut into time slices, so that other connections are served in between."""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.core.clock import Clock

SLICE_S: Final = 0.002
"""Others wait no longer than this for one request, and what one item takes."""

SHORT_SLICE_S: Final = 0.004
"""For work that does not wait for a disk: nothing of it holds the loop longer."""


WRITE_SLICE_S: Final = 0.001
"""For appends to many partitions: each of them is a write at the end of the round."""


def run_in_slices(
    clock: "Clock",
    timers: "Timers",
    steps: Iterator[object],
    first_slice_s: float = SHORT_SLICE_S,
    *,
    slice_s: float | None = None,
) -> None:
    """Run a generator to its end, some of it now and the rest in later rounds."""

    def run_slice(seconds: float) -> None:
        until = clock.monotonic() + seconds
        for _ in steps:
            if clock.monotonic() >= until:
                timers.call_at(
                    until, lambda: run_slice(SHORT_SLICE_S if slice_s is None else slice_s)
                )
                return

    run_slice(first_slice_s)


class OrderedWork:
    """Does pieces of work one after the other; what takes longer than a slice goes on in later rounds.

    What comes while an earlier piece is unfinished waits for it, however short it is. A piece that
    raises is over: the loop hears of it, and those behind it go on in the next round.
    """

    def __init__(self, clock: "Clock", timers: "Timers") -> None:
        self._clock = clock
        self._timers = timers
        self._pieces: deque[Iterator[object]] = deque()

    def add(self, steps: Iterator[object]) -> None:
        """Do a piece of work: at once, if none is unfinished and it is short."""
        self._pieces.append(steps)
        if len(self._pieces) == 1:
            self._go_on()

    def _go_on(self) -> None:
        run_in_slices(self._clock, self._timers, self._steps())

    def _steps(self) -> Iterator[object]:
        while self._pieces:
            try:
                yield from self._pieces[0]
            except Exception:
                self._pieces.popleft()
                if self._pieces:
                    self._timers.call_later(0.0, self._go_on)
                raise
            # Only now, so that what it adds waits for its turn.
            self._pieces.popleft()
            yield None
