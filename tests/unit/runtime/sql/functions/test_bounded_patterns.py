"""Patterns that take long are matched in a process that is killed when the call is stopped."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from duolog.ksql.errors import SqlError
from duolog.plan.sql.time_patterns import Unsupported
from duolog.plan.types import STRING
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.clauses import Query, ResultColumn
from duolog.runtime.sql.duck.interrupting import AnswerLimits
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.functions import pattern_process
from duolog.runtime.sql.functions.bounded_patterns import CALLS, bounded, is_cheap
from duolog.runtime.sql.functions.call_limits import CallStopped, limit_of
from duolog.runtime.sql.functions.pattern_process import close_idle, matched
from duolog.runtime.sql.functions.registry import called
from waiting import wait_until

SLOW = ["(x+x+)+y", "x" * 200_000]


@pytest.fixture(autouse=True)
def _no_processes() -> Iterator[None]:
    yield
    close_idle()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("extract", ["(a+)(b)", "xaab", 1]),
        ("extract", ["a", "b"]),
        ("extract_all", ["[é😀]", "aé😀"]),
        ("replaced", ["a\nb\u2028c", r"\s", r"\$1"]),
        ("split", ["a,b,,", ","]),
        ("like", ["50% of it", "50!%%", "!"]),
    ],
)
def test_both_processes_give_the_same(name: str, args: list[Any]) -> None:
    assert matched(name, args, None) == CALLS[name](*args) == bounded(name)(*args, None)


def test_a_pattern_that_cannot_be_computed_fails_in_both() -> None:
    for pattern, error in (("(", ValueError), (r"\p{IsGreek}", Unsupported)):
        with pytest.raises(error):
            matched("extract", [pattern, "a"], None)
    assert matched("extract", ["a", "a"], None) == "a", "the process continues"


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|aa)+$",
        r"(a*)\1$",
        "(?=a+a+a+b)a",
        "(a?){9}b",
        "a?" * 30 + "a" * 30,
        "(?x)(a+) +",
    ],
)
def test_what_may_backtrack_for_long_is_not_matched_in_this_process(pattern: str) -> None:
    assert not is_cheap("extract", [pattern, "a" * 40])
    assert not is_cheap("split", ["a" * 40, pattern])


@pytest.mark.parametrize("pattern", [r"\d+", "(?i)abc", "(?<n>[a-z]+)@x", "(?:ab|cd)e"])
def test_an_everyday_pattern_is_matched_in_this_process(pattern: str) -> None:
    assert is_cheap("extract", [pattern, "a" * 100])
    assert is_cheap("replaced", ["a" * 100, pattern, ""])


def test_a_stop_ends_the_pattern_that_is_matched_now_and_the_next_ones() -> None:
    with connect() as connection:
        limit = limit_of(connection)
    here = bounded("extract")
    limit.begin()
    found: list[object] = []

    def match() -> None:
        try:
            found.append(matched("extract", SLOW, limit))
        except CallStopped as error:
            found.append(error)

    thread = threading.Thread(target=match)
    thread.start()
    wait_until(lambda: limit._kills, "the start of the pattern")  # noqa: SLF001
    limit.stop()
    thread.join()

    (stopped,) = found
    assert isinstance(stopped, CallStopped)
    assert not pattern_process._idle, "a process that was killed is not used again"  # noqa: SLF001
    limit_number = limit.number
    with pytest.raises(CallStopped):
        matched("extract", ["a", "a"], limit)
    with pytest.raises(CallStopped):
        here("a", "a", limit_number)
    limit.begin()
    assert matched("extract", ["a", "a"], limit) == "a"
    assert limit.number == limit_number


def test_a_process_that_something_else_has_ended_is_replaced() -> None:
    assert matched("extract", ["a", "a"], None) == "a"
    (idle,) = pattern_process._idle  # noqa: SLF001
    idle._process.kill()  # noqa: SLF001
    idle._process.wait()  # noqa: SLF001

    assert matched("extract", ["b", "b"], None) == "b"


def test_a_match_ends_by_itself_if_the_process_that_asked_is_gone() -> None:
    program = (
        "from duolog.runtime.sql.functions import pattern_worker as worker\n"
        "worker.MATCH_S = 0.5\n"
        "worker.main()"
    )
    line = json.dumps(["extract", SLOW]).encode() + b"\n"

    ended = subprocess.run([sys.executable, "-c", program], input=line, check=False, timeout=100)

    assert ended.returncode == -signal.SIGALRM


def test_a_pull_query_with_a_slow_pattern_ends_at_its_limit_of_time() -> None:
    call = called("pattern_extract", ("'(x+x+)+y'", "v"))
    table = "(SELECT repeat('x', 200000 + range::INT) AS v FROM range(3000))"
    slow = Query(f"SELECT {call} FROM {table}", (ResultColumn("N", STRING),))
    like = called("like", ("'ab'", "'a%'", "''"))
    quick = Query(f"SELECT {like}::VARCHAR", slow.columns)

    with connect() as connection:
        with pytest.raises(SqlError, match="stopped after 1500 ms"):
            list(answered(connection, slow, limits=AnswerLimits(timeout_ms=1500)))

        assert list(answered(connection, quick)) == [("true",)]


def test_stopping_one_query_does_not_stop_another_of_the_same_database() -> None:
    call = called("pattern_extract", ("'(x+x+)+y|z'", "v"))
    slow = Query(
        f"SELECT {call} FROM (SELECT repeat('x', 100000 + range::INT) AS v FROM range(9))",
        (ResultColumn("N", STRING),),
    )
    other = Query(f"SELECT {call} FROM (SELECT 'z' AS v FROM range(500))", slow.columns)
    found: list[object] = []

    with connect() as connection:
        rows = answered(connection, Query("SELECT 'a'", slow.columns))

        def stopped() -> None:
            try:
                list(answered(connection, slow, limits=AnswerLimits(timeout_ms=1500)))
            except SqlError as error:
                found.append(error)

        thread = threading.Thread(target=stopped)
        thread.start()
        while thread.is_alive():
            assert len(list(answered(connection, other))) == 500
        thread.join()
        assert list(rows) == [("a",)]

    assert len(found) == 1
