"""Long work continues in later rounds of the loop; a piece that raises does not block other work."""

from collections.abc import Iterator

import pytest

from duolog.broker.event_loop.loop import Loop
from duolog.broker.event_loop.time_slices import SLICE_S, OrderedWork, TimeSlices
from duolog.testing.clock import FakeClock


def test_a_failing_slice_does_not_block_later_ones() -> None:
    clock = FakeClock()
    loop = Loop(clock)
    work = OrderedWork(TimeSlices(clock, loop.timers), loop.timers)
    done: list[str] = []

    def piece(name: str) -> Iterator[None]:
        clock.advance(1)
        yield
        if name == "b":
            raise ZeroDivisionError
        done.append(name)

    for name in ("a", "b", "c"):
        work.add(piece(name))
    for _ in range(9):
        clock.advance(1)
        loop.run_once(0)
    work.add(piece("d"))
    clock.advance(1)
    loop.run_once(0)

    assert done == ["a", "c", "d"]
    assert loop.timers.failures == 1
    loop.close()


class Turns:
    """Time slices over a clock that a step of work moves by a millisecond."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.loop = Loop(self.clock)
        self.slices = TimeSlices(self.clock, self.loop.timers)
        self.done: list[str] = []

    def work(self, name: str, count: int, fails_at: int = -1) -> Iterator[None]:
        for number in range(count):
            self.clock.advance(ms=1)
            if number == fails_at:
                raise ZeroDivisionError
            yield
        self.done.append(name)

    def turn(self) -> float:
        """Turn the loop once; return how long it was held."""
        before = self.clock.monotonic()
        self.loop.run_once(0)
        return self.clock.monotonic() - before


@pytest.fixture
def turns() -> Iterator[Turns]:
    made = Turns()
    yield made
    made.loop.close()


def test_long_work_holds_the_loop_for_one_slice_per_round(turns: Turns) -> None:
    for name in "abcdefgh":
        turns.slices.run(turns.work(name, 40))

    holds = []
    while len(turns.done) < 8:
        holds.append(turns.turn())

    assert max(holds) <= SLICE_S + 0.001
    assert sorted(turns.done) == [*"abcdefgh"]


def test_long_work_of_several_callers_alternates(turns: Turns) -> None:
    turns.slices.run(turns.work("long", 400))
    turns.slices.run(turns.work("shorter", 40))

    for _ in range(25):
        turns.turn()

    assert turns.done == ["shorter"]


def test_long_work_of_one_round_is_spread_over_rounds(turns: Turns) -> None:
    before = turns.clock.monotonic()

    for number in range(100):
        turns.slices.run(turns.work(f"{number}", 40))

    assert turns.clock.monotonic() - before <= 2 * SLICE_S + 0.002
    while len(turns.done) < 100:
        turns.turn()


def test_short_work_runs_at_once_while_other_work_is_queued(turns: Turns) -> None:
    turns.slices.run(turns.work("long", 40))

    turns.slices.run(turns.work("short", 0))

    assert turns.done == ["short"]


def test_an_error_in_a_later_round_does_not_block_other_requests(turns: Turns) -> None:
    turns.slices.run(turns.work("a", 40, fails_at=9))
    turns.slices.run(turns.work("b", 40))

    for _ in range(40):
        turns.turn()

    assert turns.done == ["b"]
    assert turns.loop.timers.failures == 1


def test_unwanted_work_is_cancelled(turns: Turns) -> None:
    wanted = {"a", "b"}
    turns.slices.run(turns.work("a", 40), wanted=lambda: "a" in wanted)
    turns.slices.run(turns.work("b", 40), wanted=lambda: "b" in wanted)
    turns.turn()
    wanted.remove("a")

    before = turns.clock.monotonic()
    for _ in range(40):
        turns.turn()

    assert turns.done == ["b"]
    assert turns.clock.monotonic() - before < 0.045


def test_work_added_as_the_last_slice_ends_runs_once_and_in_order(
    turns: Turns,
) -> None:
    work = OrderedWork(turns.slices, turns.loop.timers)
    names = [f"{number:02}" for number in range(40)]

    def piece(name: str, count: int) -> Iterator[None]:
        yield from turns.work(name, count)
        turns.clock.advance(ms=4)  # Its slice is over when it ends.

    for number, name in enumerate(names):
        work.add(piece(name, number % 7))
        for _ in range(number % 5):
            turns.turn()
    for _ in range(200):
        turns.turn()

    assert turns.done == names
    assert turns.loop.timers.failures == 0
