"""Long work goes on in later rounds, and ends whatever a piece of it raises."""

from collections.abc import Iterator

from duolog.broker.event_loop.loop import Loop
from duolog.broker.event_loop.time_slices import OrderedWork
from duolog.testing.clock import FakeClock


def test_a_piece_that_fails_holds_up_nothing_behind_it() -> None:
    clock = FakeClock()
    loop = Loop(clock)
    work = OrderedWork(clock, loop.timers)
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
