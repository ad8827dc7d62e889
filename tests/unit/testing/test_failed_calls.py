"""A call in SQL that fails returns null, is counted, and has an entry in the processing log."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from duolog.engine.settings import ErrorHandling
from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

pytestmark = pytest.mark.spark

SOURCES: Final = """
    CREATE STREAM s (k STRING KEY, a STRING, n INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
    CREATE TABLE t (k STRING PRIMARY KEY, a STRING, n INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
"""
LOG: Final = ErrorHandling(dead_letter_topic="log", processing_log=True)
BURST: Final = 100
"""`EntryLimit.BURST` of the kernel."""


class Query:
    """A query that runs in memory, with a processing log."""

    def __init__(self, text: str, errors: ErrorHandling = LOG) -> None:
        *_, done = SqlSession().run(SOURCES + text)
        assert done.query is not None
        self._evaluator = KernelEvaluator(
            done.query.planned.plan, tasks=1, cache_bytes_max=0, errors=errors
        )
        self._next = 0

    def run(self, topic: str, *values: Any) -> tuple[list[Any], list[str]]:
        """Return the values that it writes, and the messages of its processing log."""
        first, self._next = self._next, self._next + len(values)
        out = self._evaluator.run(
            SourceRecord(topic, 0, offset, offset, b"k", json.dumps(value).encode())
            for offset, value in enumerate(values, first)
        )
        log = [json.loads(one.value or b"") for one in out if one.topic == "log"]
        assert all(entry["message"]["type"] == 1 for entry in log)
        messages = [entry["message"]["recordProcessingError"]["errorMessage"] for entry in log]
        written = [one.value and json.loads(one.value) for one in out if one.topic != "log"]
        return written, messages

    @property
    def failed_calls(self) -> int:
        return self._evaluator.failed_calls

    def close(self) -> None:
        self._evaluator.close()


@pytest.fixture
def query(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Query]:
    assert spark is not None, "the kernel finds the session of this run"
    running = Query(request.param)
    yield running
    running.close()


def starts(messages: Sequence[str]) -> list[str]:
    """Return the messages up to the name of the exception."""
    return [": ".join(message.split(": ")[:2]) for message in messages]


DATES: Final = "CREATE STREAM x AS SELECT k, PARSE_DATE(a, 'yyyy-MM-dd') AS d, n FROM s;"


@pytest.mark.parametrize("query", [DATES], indirect=True)
def test_a_call_that_fails_has_an_entry_with_its_name_and_record(query: Query) -> None:
    values, messages = query.run("s", {"a": "1970-01-02"}, {"a": "no date"}, {"a": None})

    assert [value["D"] for value in values] == [1, None, None]
    (message,) = messages
    assert 'a call returned null for the record of topic "s", partition 0, offset 1 at ' in message
    assert ": PARSE_DATE: " in message
    assert "no date" in message
    assert query.failed_calls == 1


TWICE: Final = """CREATE STREAM x AS SELECT k, PARSE_DATE(a, 'yyyy') AS d,
    COALESCE(PARSE_DATE(a, 'yyyy'), PARSE_DATE('1970', 'yyyy')) AS e FROM s
    WHERE PARSE_DATE(a, 'yyyy') IS NULL;"""


@pytest.mark.parametrize("query", [TWICE], indirect=True)
def test_a_call_that_fails_twice_at_one_node_has_one_entry_there(query: Query) -> None:
    values, messages = query.run("s", {"a": "no date"})

    assert [value["E"] for value in values] == [0]
    places = {message.split(" at ")[1].split(":")[0] for message in messages}
    assert len(messages) == len(places) <= 2


ELEMENTS: Final = (
    "CREATE STREAM x AS SELECT k, TRANSFORM(SPLIT(a, ','), e => PARSE_DATE(e, 'yyyy')) AS d FROM s;"
)


@pytest.mark.parametrize("query", [ELEMENTS], indirect=True)
def test_failures_of_one_record_are_limited(query: Query) -> None:
    _, messages = query.run("s", {"a": ",".join(f"no {number}" for number in range(500))})

    assert 1 < len(messages) <= 16


@pytest.mark.parametrize(
    "query", ["CREATE TABLE x AS SELECT k, PARSE_DATE(a, 'yyyy') AS d FROM t;"], indirect=True
)
def test_the_old_value_of_a_row_has_no_entry_of_its_own(query: Query) -> None:
    values, messages = query.run("t", {"a": "no date"}, {"a": "1970"}, {"a": "1970"})

    assert [value["D"] for value in values] == [None, 0, 0]
    assert len(messages) == 1
    assert "offset 0" in messages[0]


GROUPED: Final = """CREATE TABLE x AS SELECT UNIX_DATE(PARSE_DATE(a, 'yyyy')) AS d, COUNT(*) AS c FROM t
    GROUP BY UNIX_DATE(PARSE_DATE(a, 'yyyy'));"""


@pytest.mark.parametrize("query", [GROUPED], indirect=True)
def test_a_table_that_is_grouped_reports_a_failing_key_once(query: Query) -> None:
    _, messages = query.run("t", {"a": "no date"}, {"a": "1970"}, {"a": "1971"})

    assert [message.split(" at ")[0] for message in messages] == [
        'a call returned null for the record of topic "t", partition 0, offset 0'
    ]


@pytest.mark.parametrize("query", [DATES], indirect=True)
def test_entries_are_limited_and_all_failures_are_counted(query: Query) -> None:
    records = [{"a": "no date"}] * 20 * BURST

    _, messages = query.run("s", *records)

    assert BURST <= len(messages) < len(records) / 2
    assert query.failed_calls == len(records)


def test_failures_are_counted_without_a_processing_log(spark: SparkSession) -> None:
    assert spark is not None, "the kernel finds the session of this run"
    query = Query(DATES, ErrorHandling())
    try:
        _, messages = query.run("s", {"a": "no date"})
    finally:
        failed = query.failed_calls
        query.close()

    assert messages == []
    assert failed == 1


DIVIDED: Final = """CREATE STREAM x AS SELECT k, 10 / n AS a, CAST(n AS BIGINT) % n AS b,
    CAST(1 AS DECIMAL(4, 2)) / n AS c, 1E0 / n AS d FROM s;"""


@pytest.mark.parametrize("query", [DIVIDED], indirect=True)
def test_a_division_by_zero_has_an_entry_unless_it_is_of_doubles(query: Query) -> None:
    values, messages = query.run("s", {"n": 2}, {"n": 0}, {"n": None})

    found = [[value[name] for name in "ABC"] for value in values]
    assert found == [[5, 0, 0.5], [None] * 3, [None] * 3]
    (message,) = messages
    assert 'topic "s", partition 0, offset 1 at ' in message
    assert message.endswith(": division by zero")


IN_A_LAMBDA: Final = (
    "CREATE STREAM x AS SELECT k, TRANSFORM(ARRAY[n], x => x IN (1, 1 + 1 / (x - 2))) AS a FROM s;"
)


@pytest.mark.parametrize("query", [IN_A_LAMBDA], indirect=True)
def test_operands_of_in_that_are_not_needed_have_no_entry(query: Query) -> None:
    values, messages = query.run("s", {"n": 1}, {"n": 2}, {"n": 3})

    assert [value["A"] for value in values] == [[True], None, [False]]
    assert all("offset 1 at " in message for message in messages)
    assert any(message.endswith(": division by zero") for message in messages)
