"""Calls in persistent queries make no more than ADR 0091 allows."""

import json

import pytest
from pyspark.sql import SparkSession

from conformance.ksql.limits import ABOVE_LIMIT, AT_LIMIT, ENDLESS
from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

pytestmark = pytest.mark.spark

_DECLARED = "CREATE STREAM s (id INT) WITH (kafka_topic='s', value_format='JSON');"


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


def test_a_call_makes_as_much_as_it_may(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert _computed(list(AT_LIMIT)) == AT_LIMIT


def test_a_call_that_would_make_more_is_null(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert _computed([*ABOVE_LIMIT, ENDLESS]) == dict.fromkeys((*ABOVE_LIMIT, ENDLESS))
