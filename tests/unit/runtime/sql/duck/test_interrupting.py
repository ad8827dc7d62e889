"""Answers that take too long: their limits, and Ctrl-C."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.plan.types import BIGINT
from duolog.runtime.sql.duck.interrupting import THREAD, AnswerLimits
from duolog.runtime.sql.duck.selects import Query, ResultColumn
from duolog.runtime.sql.duck.tables import answered, connect
from duolog.runtime.sql.reply.printing import guessed

FOR_DAYS = Query(
    "SELECT sum(a.range * b.range)::BIGINT FROM range(10000000) a, range(10000000) b",
    (ResultColumn("N", BIGINT),),
)
SHORT = Query("SELECT 1::BIGINT", (ResultColumn("N", BIGINT),))


@pytest.fixture
def connection() -> Iterator[Any]:
    with connect() as connection:
        yield connection


def _interrupt_once_it_runs() -> None:
    while not any(one.name == THREAD for one in threading.enumerate()):
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)


def test_an_answer_ends_with_its_time(connection: Any) -> None:
    ended: list[str] = []

    with pytest.raises(SqlError, match="ended after 50 ms") as found:
        answered(connection, FOR_DAYS, lambda: ended.append("ended"), AnswerLimits(timeout_ms=50))

    assert "ksql.query.pull.timeout.ms" in found.value.hint
    assert ended == ["ended"]
    assert list(answered(connection, SHORT)) == [(1,)]


def test_ctrl_c_ends_an_answer_and_the_next_one_is_answered(connection: Any) -> None:
    pressing = threading.Thread(target=_interrupt_once_it_runs)
    pressing.start()

    with pytest.raises(KeyboardInterrupt):
        answered(connection, FOR_DAYS)

    pressing.join()
    assert all(one.name != THREAD for one in threading.enumerate())
    assert list(answered(connection, SHORT)) == [(1,)]


def test_an_answer_ends_with_its_memory(connection: Any) -> None:
    large = Query(
        "SELECT count(*)::BIGINT FROM (SELECT range, random() r FROM range(3000000) ORDER BY r)",
        SHORT.columns,
    )

    with pytest.raises(DuologError, match="do not fit into memory"):
        list(answered(connection, large, limits=AnswerLimits(memory_bytes_max=8_000_000)))

    assert list(answered(connection, SHORT)) == [(1,)]


def _memory(connection: Any) -> str:
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return str(limit)


def test_the_memory_of_an_answer_limits_nothing_else(connection: Any) -> None:
    before, limits = _memory(connection), AnswerLimits(memory_bytes_max=64_000_000)
    many = Query("SELECT range FROM range(10000)", SHORT.columns)

    rows = answered(connection, many, limits=limits)
    assert _memory(connection) == before
    assert len([next(rows) for _ in range(3_000)]) == 3_000
    assert _memory(connection) == before
    with pytest.raises(SqlError):
        answered(connection, Query("SELECT nothing", SHORT.columns), limits=limits)
    assert _memory(connection) == before


@pytest.mark.parametrize("sign", ["[", '{"a":'])
def test_a_value_that_is_nested_deeply_is_printed_as_a_text(sign: str) -> None:
    deep = (sign * 100_000).encode()

    assert guessed(deep) == (deep.decode(), "KAFKA_STRING")
