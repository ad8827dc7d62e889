"""Lines that strangers cause are written up to a limit, and the others counted."""

import logging
from collections.abc import Callable

import pytest

from duolog.core.limited_log import LINES_MAX, PERIOD_S, LimitedLog

logger = logging.getLogger("duolog.test")


class World:
    """A log with a clock and timers that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.log = LimitedLog(self._call_later, lambda: self.now)

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.due.append((self.now + seconds, call))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        ready = [call for at, call in self.due if at <= self.now]
        self.due = [row for row in self.due if row[0] > self.now]
        for call in ready:
            call()

    def write(self, count: int, line: str = "refused", level: int = logging.WARNING) -> None:
        for n in range(count):
            self.log.log(logger, level, line, {"client": f"192.0.2.7:{n}"})


@pytest.fixture
def world() -> World:
    return World()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [row.getMessage() for row in caplog.records]
    caplog.clear()
    return found


def test_a_flood_writes_some_lines_and_then_how_many_there_were(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write(LINES_MAX + 5000)
    assert lines(caplog) == ["refused"] * LINES_MAX

    world.advance(PERIOD_S)

    (row,) = caplog.records
    assert (row.getMessage(), row.levelno) == ("further lines were not written", logging.WARNING)
    assert (row.line, row.lines) == ("refused", 5000)  # type: ignore[attr-defined]
    assert world.due == []


def test_lines_that_are_few_are_all_written_and_plan_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        world.write(LINES_MAX)
        world.advance(PERIOD_S)

    assert lines(caplog) == ["refused"] * (5 * LINES_MAX)
    assert world.due == []


def test_a_flood_that_goes_on_gets_a_share_of_each_period(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(30):
        world.write(100)
        world.advance(1.0)

    found = lines(caplog)
    assert found.count("refused") == 3 * LINES_MAX
    assert found.count("further lines were not written") == 3


def test_a_late_report_counts_all_lines_that_were_not_written(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The loop may be busy when a period ends."""
    world.write(LINES_MAX + 5)
    world.now += 2 * PERIOD_S
    world.write(7)
    caplog.clear()

    world.advance(0.0)

    (row,) = caplog.records
    assert row.lines == 12  # type: ignore[attr-defined]


def test_other_lines_and_other_levels_are_not_held_by_a_flood(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world.write(1000)
    caplog.clear()

    world.write(1, "closed")
    world.write(1, level=logging.INFO)

    assert lines(caplog) == ["closed", "refused"]


def test_lines_for_developers_are_all_written(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    world.write(1000, level=logging.DEBUG)

    assert len(caplog.records) == 1000
    assert world.due == []


def test_a_level_that_is_turned_off_counts_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)

    world.write(1000)

    assert world.due == []
