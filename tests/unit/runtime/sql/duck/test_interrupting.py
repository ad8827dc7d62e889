"""Pull queries that take too long: limits, and Ctrl-C."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.plan.types import BIGINT
from duolog.runtime.sql.duck.answers import _within, answered
from duolog.runtime.sql.duck.clauses import Query, ResultColumn
from duolog.runtime.sql.duck.interrupting import THREAD, AnswerLimits
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.reply.printing import guessed

FOR_DAYS = Query(
    "SELECT sum(a.range * b.range)::BIGINT FROM range(10000000) a, range(10000000) b",
    (ResultColumn("N", BIGINT),),
)
SHORT = Query("SELECT 1::BIGINT", (ResultColumn("N", BIGINT),))
SORTED = Query(
    "SELECT count(*)::BIGINT FROM (SELECT range, random() r FROM range(3000000) ORDER BY r)",
    SHORT.columns,
)


@pytest.fixture
def connection() -> Iterator[Any]:
    with connect() as connection:
        yield connection


def _interrupt_once_it_runs() -> None:
    while not any(one.name == THREAD for one in threading.enumerate()):
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)


def test_a_pull_query_ends_at_its_time_limit(connection: Any) -> None:
    ended: list[str] = []

    with pytest.raises(SqlError, match="stopped after 50 ms") as found:
        answered(connection, FOR_DAYS, lambda: ended.append("ended"), AnswerLimits(timeout_ms=50))

    assert "ksql.query.pull.timeout.ms" in found.value.hint
    assert ended == ["ended"]
    assert list(answered(connection, SHORT)) == [(1,)]


def test_ctrl_c_ends_a_pull_query_and_the_next_one_runs(connection: Any) -> None:
    pressing = threading.Thread(target=_interrupt_once_it_runs)
    pressing.start()

    with pytest.raises(KeyboardInterrupt):
        answered(connection, FOR_DAYS)

    pressing.join()
    assert all(one.name != THREAD for one in threading.enumerate())
    assert list(answered(connection, SHORT)) == [(1,)]


def test_a_pull_query_ends_at_its_memory_limit(connection: Any) -> None:
    with pytest.raises(DuologError, match="do not fit into memory"):
        list(answered(connection, SORTED, limits=AnswerLimits(memory_bytes_max=8_000_000)))

    assert list(answered(connection, SHORT)) == [(1,)]


def _memory(connection: Any) -> str:
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return str(limit)


def test_the_memory_limit_of_pull_queries_limits_nothing_else(connection: Any) -> None:
    before, limits = _memory(connection), AnswerLimits(memory_bytes_max=64_000_000)
    many = Query("SELECT range FROM range(10000)", SHORT.columns)

    rows = answered(connection, many, limits=limits)
    assert _memory(connection) == before
    assert len([next(rows) for _ in range(3_000)]) == 3_000
    assert _memory(connection) == before
    with pytest.raises(SqlError):
        answered(connection, Query("SELECT nothing", SHORT.columns), limits=limits)
    assert _memory(connection) == before


LARGE = Query("SELECT list(range) FROM range(1000000) GROUP BY range % 10", SHORT.columns)
"""Takes some 20 MB, and its result some 8 MB until it is read."""


def test_results_of_other_pull_queries_do_not_count(connection: Any) -> None:
    limits = AnswerLimits(memory_bytes_max=64_000_000)
    waiting = [answered(connection, LARGE, limits=limits) for _ in range(12)]

    assert [len(list(rows)) for rows in waiting] == [10] * 12


def test_concurrent_pull_queries_have_their_own_limits(connection: Any) -> None:
    """The first one that was done took the limit from the other one."""
    before, limits = _memory(connection), AnswerLimits(memory_bytes_max=8_000_000)
    outcomes: list[object] = []

    def ask(query: Query) -> None:
        for _ in range(3):
            try:
                outcomes.append(len(list(answered(connection, query, limits=limits))))
            except DuologError as error:
                outcomes.append("do not fit into memory" in str(error))

    threads = [threading.Thread(target=ask, args=(query,)) for query in (SORTED, SHORT) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes, key=str) == [1] * 6 + [True] * 6
    assert _memory(connection) == before


def test_a_pull_query_waits_for_its_turn_no_longer_than_its_time_limit(connection: Any) -> None:
    limits = AnswerLimits(timeout_ms=1, memory_bytes_max=64_000_000)
    with _within(connection, limits), pytest.raises(SqlError, match="stopped after 1 ms"):
        answered(connection, SHORT, limits=limits)


@pytest.mark.parametrize("sign", ["[", '{"a":'])
def test_a_deeply_nested_value_is_printed_as_text(sign: str) -> None:
    deep = (sign * 100_000).encode()

    assert guessed(deep) == (deep.decode(), "KAFKA_STRING")
