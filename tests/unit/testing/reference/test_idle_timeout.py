"""Windows that close without further records: `idle=` of results on close."""

from datetime import timedelta
from typing import Any

import pytest

from duolog import Topology, hopping, session, sliding, tumbling
from duolog.core.errors import StatementError
from duolog.plan.windows import Windows
from duolog.testing import TopologyDriver

Row = tuple[str, int, int, int]
WINDOWS: list[Windows] = [
    tumbling("10 ms", grace="5 ms"),
    hopping("10 ms", "5 ms", grace="5 ms"),
    session("10 ms", grace="5 ms"),
    sliding("10 ms", grace="5 ms"),
]


def visits(windows: Windows, idle: str | None = "40 ms") -> Topology:
    topology = Topology("visits")
    stream = topology.stream("visits", key="user STRING", value="page STRING")
    kept = stream.group_by_key().windowed_by(windows, emit="on close", idle=idle)
    kept.count("n").to("counts")
    return topology


class VisitDriver:
    """Sends visits at wall-clock times, or none; returns the emitted results."""

    def __init__(self, topology: Topology, **more: Any) -> None:
        self.driver = TopologyDriver(topology, **more)

    def visit(self, user: str, at: int) -> list[Row]:
        self.driver.input_topic("visits").pipe_input(user, {"page": "/"}, at)
        return self.emitted()

    def after(self, ms: int) -> list[Row]:
        self.driver.advance_wall_clock_time(timedelta(milliseconds=ms))
        return self.emitted()

    def emitted(self) -> list[Row]:
        rows = self.driver.output_topic("counts").read_key_values()
        return [(user, start, end, row["n"]) for (user, start, end), row in rows]


def test_a_window_that_has_ended_is_emitted_without_further_records() -> None:
    driver = VisitDriver(visits(WINDOWS[0]), wall_clock_ms=1000)

    assert driver.visit("ann", 3) == []
    assert driver.after(39) == []
    assert driver.after(1) == [("ann", 0, 10, 1)]
    assert driver.after(1000) == []


def test_a_record_restarts_the_timeout() -> None:
    driver = VisitDriver(visits(WINDOWS[0]), wall_clock_ms=1000)

    driver.visit("ann", 3)
    driver.after(30)
    driver.visit("ann", 4)

    assert driver.after(39) == []
    assert driver.after(1) == [("ann", 0, 10, 2)]


def test_a_window_that_has_not_ended_by_the_wall_clock_is_not_emitted() -> None:
    driver = VisitDriver(visits(WINDOWS[0], idle="1 ms"), wall_clock_ms=3)

    driver.visit("ann", 3)

    assert driver.after(11) == []
    assert driver.after(1) == [("ann", 0, 10, 1)]


def test_a_record_after_the_close_is_late() -> None:
    driver = VisitDriver(visits(WINDOWS[0]), wall_clock_ms=1000)
    driver.visit("ann", 3)
    driver.after(40)

    assert driver.visit("ann", 9) == []
    assert driver.after(40) == []
    assert driver.visit("ann", 12) == []
    assert driver.after(40) == [("ann", 10, 20, 1)]


@pytest.mark.parametrize("windows", WINDOWS)
def test_all_windows_of_a_task_close_in_order(windows: Windows) -> None:
    driver = VisitDriver(visits(windows), wall_clock_ms=1000)
    expected = VisitDriver(visits(windows, idle=None))
    for user, at in [("bob", 3), ("ann", 12), ("ann", 14), ("bob", 27)]:
        driver.visit(user, at)
        expected.visit(user, at)

    closed = driver.after(40)

    assert [row for row in expected.visit("eve", 1000) if row[0] != "eve"] == closed
    assert closed


def test_each_task_has_its_own_timeout() -> None:
    driver = VisitDriver(visits(WINDOWS[0]), wall_clock_ms=1000, tasks=64)
    driver.visit("ann", 3)
    driver.after(30)
    driver.visit("bob", 3)

    assert driver.after(10) == [("ann", 0, 10, 1)]
    assert driver.after(30) == [("bob", 0, 10, 1)]


def test_results_of_an_aggregate_restart_the_timeout_of_the_next() -> None:
    topology = Topology("visits")
    stream = topology.stream("visits", key="user STRING", value="page STRING")
    first = stream.group_by_key().windowed_by(WINDOWS[0], emit="on close", idle="40 ms").count("n")
    by_count = first.to_stream().group_by("n")
    by_count.windowed_by(WINDOWS[0], emit="on close", idle="40 ms").count("m").to("counts")
    driver = TopologyDriver(topology, wall_clock_ms=1000)
    driver.input_topic("visits").pipe_input("ann", {"page": "/"}, 3)

    driver.advance_wall_clock_time(timedelta(milliseconds=40))
    assert not driver.output_topic("counts").read_records()
    driver.advance_wall_clock_time(timedelta(milliseconds=40))
    assert driver.output_topic("counts").read_key_values() == [((1, 0, 10), {"m": 1})]


def test_only_results_on_close_have_a_timeout() -> None:
    topology = Topology("visits")
    stream = topology.stream("visits", key="user STRING", value="page STRING")

    with pytest.raises(StatementError, match="are not emitted on close"):
        stream.group_by_key().windowed_by(WINDOWS[0], idle="40 ms").count()


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(StatementError):
        visits(WINDOWS[0], idle="0 s").build()
