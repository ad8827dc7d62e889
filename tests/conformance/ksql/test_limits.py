"""Calls in persistent queries respect the limits of ADR 0091."""

import json

import pytest
from pyspark.sql import SparkSession

from conformance.ksql.limits import ABOVE_LIMIT, AT_LIMIT, ENDLESS
from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

pytestmark = pytest.mark.spark

_DECLARED = "CREATE STREAM s (id INT) WITH (kafka_topic='s', value_format='JSON');"


_DECLARED_ARRAY = (
    "CREATE STREAM s (id INT, ns ARRAY<INT>) WITH (kafka_topic='s', value_format='JSON');"
)


def _cube_rows(columns: int) -> tuple[int, int]:
    """Return the rows of CUBE_EXPLODE for a number of columns, and the failed records."""
    session = SqlSession()
    list(session.run(_DECLARED_ARRAY))
    (made,) = session.run("CREATE STREAM r AS SELECT id, CUBE_EXPLODE(ns) AS x FROM s;")
    assert made.query is not None
    evaluator = KernelEvaluator(
        made.query.planned.plan, tasks=1, cache_bytes_max=0, passes_over=True
    )
    try:
        value = json.dumps({"ID": 1, "NS": list(range(columns))}).encode()
        rows = len(evaluator.run([SourceRecord("s", 0, 0, 0, None, value)]))
        return rows, evaluator.failed
    finally:
        evaluator.close()


def _computed(calls: list[str]) -> dict[str, object]:
    session = SqlSession()
    list(session.run(_DECLARED))
    listed = ", ".join(f"{call} AS x{at}" for at, call in enumerate(calls))
    (made,) = session.run(f"CREATE STREAM r AS SELECT id, {listed} FROM s;")  # noqa: S608 - our own
    assert made.query is not None
    evaluator = KernelEvaluator(made.query.planned.plan, tasks=1, cache_bytes_max=0)
    try:
        (out,) = evaluator.run([SourceRecord("s", 0, 0, 0, None, b'{"ID": 1}')])
    finally:
        evaluator.close()
    found = json.loads(out.value or b"null")
    return {call: found[f"X{at}"] for at, call in enumerate(calls)}


def test_call_at_the_limit_returns_its_value(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert _computed(list(AT_LIMIT)) == AT_LIMIT


def test_call_above_the_limit_returns_null(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert _computed([*ABOVE_LIMIT, ENDLESS]) == dict.fromkeys((*ABOVE_LIMIT, ENDLESS))


def test_cube_is_limited_to_the_elements_of_a_call(spark: SparkSession) -> None:
    """16 columns give 65,536 rows of 16 elements, the limit; 17 columns fail the record."""
    assert spark is not None, "the kernel is in the JVM of this run"

    assert _cube_rows(16) == (2**16, 0)
    assert _cube_rows(17) == (0, 1)
