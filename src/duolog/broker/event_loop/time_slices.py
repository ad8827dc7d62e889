"""Long work on the loop, cut into time slices, so that other connections are served in between.

    run(a) ─ a slice now ─▶ line: b c a ─ next round: a slice of b ─▶ line: c a b ─ …

What is long does not add up: queued work holds the loop for one slice per round, and new work for
two.

Private timers and slices would add up, so all long-running work uses these. If two generators
consume one queue, the item that one of them was working on is lost. Code that appends to very many
partitions writes each one at once (`Rounds.write_now`); otherwise the end of the round blocks the
loop.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.core.clock import Clock

Result = TypeVar("Result")
Key = TypeVar("Key")
Item = TypeVar("Item")

SLICE_S: Final = 0.004
"""Others wait no longer than this for all that is long, and for what one step takes."""

_FREED_A_STEP: Final = 1000
_SHARE: Final = 8
"""Share of a slice that new work gets immediately while other work is queued: most new work is
short.
"""
_SLICES_FOR_NEW: Final = 2
"""After new work has used the time of this many slices, further new work is queued at once."""


def at_once(steps: Generator[object, None, Result]) -> Result:
    """Run a generator to its end, and return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def freeing(rows: list[tuple[Key, list[Item]]]) -> Iterator[None]:
    """Free lists of lists in steps: a million objects at once take a fifth of a second."""
    for _, items in rows:
        while len(items) > _FREED_A_STEP:
            del items[-_FREED_A_STEP:]
            yield
    while rows:
        del rows[-_FREED_A_STEP:]
        yield


def _always() -> bool:
    return True


def _fail(error: Exception) -> None:
    raise error


class _Work(NamedTuple):
    steps: Iterator[object]
    wanted: Callable[[], bool]


class TimeSlices:
    """Runs generators to their ends, by turns."""

    def __init__(self, clock: "Clock", timers: "Timers") -> None:
        self._clock = clock
        self._timers = timers
        self._line: deque[_Work] = deque()
        self._new_s = 0.0
        """Time that new work has used since the queue last had its turn."""

    def run(
        self,
        steps: Iterator[object],
        *,
        wanted: Callable[[], bool] = _always,
        first_slice_s: float | None = None,
    ) -> None:
        """Run `steps` to their end: some now, the rest in later rounds.

        They are given up in between when they are not `wanted` any more. What they raise now is
        raised here, what they raise later is a failure of the loop.
        """
        work = _Work(steps, wanted)
        seconds = SLICE_S if first_slice_s is None else first_slice_s
        if self._new_s > _SLICES_FOR_NEW * SLICE_S or self._some_left_of_new(work, seconds):
            self._line.append(work)
            if len(self._line) == 1:
                self._plan()

    def _some_left_of_new(self, work: _Work, seconds: float) -> bool:
        clock = self._clock
        came_at = clock.monotonic()
        try:
            return self._some_left(work, seconds / _SHARE if self._line else seconds)
        finally:  # The long slices of a start count as one: no request waits for them yet.
            self._new_s += min(clock.monotonic() - came_at, SLICE_S)

    def _plan(self) -> None:
        self._timers.call_later(0.0, self._take_turns)

    def _take_turns(self) -> None:
        line, clock = self._line, self._clock
        until = clock.monotonic() + SLICE_S
        self._new_s = 0.0
        try:
            for _ in range(len(line)):
                # It stays in the queue meanwhile, so that no second turn of the queue is scheduled.
                work = line[0]
                left = False
                try:
                    left = work.wanted() and self._some_left(work, until - clock.monotonic())
                finally:
                    line.popleft()
                if left:
                    line.append(work)
                if clock.monotonic() >= until:
                    return
        finally:  # If one raises, the others continue.
            if line:
                self._plan()

    def _some_left(self, work: _Work, seconds: float) -> bool:
        """Run some steps; return whether there are more."""
        clock = self._clock
        until = clock.monotonic() + seconds
        for _ in work.steps:  # noqa: SIM110  A generator around it is felt.
            if clock.monotonic() >= until:
                return True
        return False


class OrderedWork:
    """Does pieces of work in order; a piece longer than a slice is continued in later rounds.

    What comes while an earlier piece is unfinished waits for it, however short it is. A piece that
    raises is over: the loop gets the error in the next round, and the rest of the queue continues.
    """

    def __init__(self, slices: TimeSlices, timers: "Timers") -> None:
        self._slices = slices
        self._timers = timers
        self._pieces: deque[Iterator[object]] = deque()

    def add(self, steps: Iterator[object]) -> None:
        """Do a piece of work: at once, if none is unfinished and it is short."""
        self._pieces.append(steps)
        if len(self._pieces) == 1:
            self._go_on()

    def _go_on(self) -> None:
        self._slices.run(self._steps())

    def _steps(self) -> Iterator[object]:
        while self._pieces:
            try:
                yield from self._pieces[0]
            except Exception as error:  # noqa: BLE001  Not for who adds a piece, as a round that lands.
                self._timers.call_later(0.0, partial(_fail, error))
            # Only now, so that what it adds waits for its turn.
            self._pieces.popleft()
            if self._pieces:  # Else this ends at once: what is added from now on is begun by `add`.
                yield None
