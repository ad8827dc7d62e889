from typing import TYPE_CHECKING

from duolog.testing import FakeClock

if TYPE_CHECKING:
    from duolog.core.clock import Clock


def test_time_does_not_advance_by_itself() -> None:
    clock: Clock = FakeClock(now_ms=1_000)

    assert [clock.now_ms(), clock.now_ms(), clock.monotonic()] == [1_000, 1_000, 0.0]


def test_wall_clock_and_monotonic_time_advance_together() -> None:
    clock = FakeClock(now_ms=1_000)

    clock.advance(seconds=1.5, ms=250)

    assert (clock.now_ms(), clock.monotonic()) == (2_750, 1.75)


def test_the_wall_clock_may_jump_back_but_monotonic_time_does_not() -> None:
    clock = FakeClock(now_ms=5_000)
    clock.advance(seconds=1)

    clock.set_wall_ms(1_000)

    assert (clock.now_ms(), clock.monotonic()) == (1_000, 1.0)
