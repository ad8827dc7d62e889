import threading
from collections.abc import Callable

import pytest

from duolog.core.errors import DuologError, QueryError
from duolog.runtime.sql.groups.bounded_query import BoundedQuery
from unit.runtime.sql.fake_queries import FakeQuery
from unit.runtime.sql.groups.groups import wait_for

FOREVER_S = 60.0


class StuckQuery(FakeQuery):
    """Stops once it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    def stop(self) -> None:
        self.release.wait()
        super().stop()


def bounded(
    start: Callable[[], FakeQuery],
    stop_timeout_s: float = FOREVER_S,
    overdue: Callable[[], None] = lambda: None,
) -> BoundedQuery:
    return BoundedQuery("heavy", start, stop_timeout_s=stop_timeout_s, overdue=overdue)


def test_a_start_in_time_is_a_running_query() -> None:
    inner = FakeQuery()
    query = bounded(lambda: inner)
    query.begin(FOREVER_S)

    assert (query.state, query.has_ended, query.is_running) == ("running", False, True)
    assert query.progress().records_in == 7
    query.stop()
    assert inner.has_ended
    assert query.is_released


def test_a_start_that_fails_raises_its_error() -> None:
    def start() -> FakeQuery:
        raise QueryError("its topic is gone")

    query = bounded(start)
    with pytest.raises(QueryError, match="its topic is gone"):
        query.begin(FOREVER_S)
    assert query.has_ended
    assert query.is_released


def test_an_error_of_a_library_names_its_class() -> None:
    query = bounded(lambda: FakeQuery(1))  # type: ignore[call-arg]

    with pytest.raises(DuologError, match="TypeError"):
        query.begin(FOREVER_S)


def test_a_start_that_takes_long_continues_without_its_caller() -> None:
    may_start = threading.Event()

    def start() -> FakeQuery:
        may_start.wait()
        return FakeQuery()

    query = bounded(start)
    query.begin(0)
    assert (query.state, query.has_ended, query.is_running) == ("starting", False, False)
    assert query.progress().state == "starting"
    may_start.set()

    wait_for(lambda: query.is_running, "it does not start")


def test_a_late_start_that_fails_is_the_end_of_the_query() -> None:
    may_start = threading.Event()

    def start() -> FakeQuery:
        may_start.wait()
        raise QueryError("its topic is gone")

    query = bounded(start)
    query.begin(0)
    may_start.set()

    wait_for(lambda: query.has_ended, "the failure is not noticed")
    assert "its topic is gone" in str(query.exception())


def test_a_stop_that_takes_long_is_reported_and_continues() -> None:
    inner, overdue = StuckQuery(), threading.Event()
    query = bounded(lambda: inner, 0.01, overdue.set)
    query.begin(FOREVER_S)
    query.stop()

    assert overdue.is_set()
    assert query.is_leaving
    assert not query.is_released
    inner.release.set()
    assert query.wait_released(FOREVER_S)
    assert inner.has_ended


def test_a_stop_that_fails_does_not_leave_its_caller_waiting() -> None:
    inner = FakeQuery()
    query = bounded(lambda: inner)
    query.begin(FOREVER_S)

    def stop() -> None:
        inner.has_ended = True
        raise QueryError("the connection was reset")

    inner.stop = stop  # type: ignore[method-assign]
    query.stop()

    assert query.is_released


def test_a_query_that_is_stopped_before_it_has_started_does_not_run() -> None:
    may_start, inner = threading.Event(), FakeQuery()

    def start() -> FakeQuery:
        may_start.wait()
        return inner

    query = bounded(start, 0.01)
    query.begin(0)
    query.stop()
    assert not inner.has_ended
    may_start.set()

    assert query.wait_released(FOREVER_S)
    assert inner.has_ended


def test_an_evicted_query_ends_with_the_reason_and_stops() -> None:
    inner = StuckQuery()
    query = bounded(lambda: inner)
    query.begin(FOREVER_S)
    query.evict(QueryError("it moves"))

    assert query.has_ended
    assert str(query.exception()) == "it moves"
    assert not query.is_released
    inner.release.set()
    assert query.wait_released(FOREVER_S)
