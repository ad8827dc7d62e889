"""Edge cases of keys, in the kernel and in the reference evaluator."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given
from conformance.streams.test_engine_semantics import Define, drive, driver_of, plan_of
from duolog import Topology
from duolog.dsl.streams import Stream
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = pytest.mark.spark

Written = list[tuple[bytes | None, bytes | None]]


def both(spark: SparkSession, define: Define, *rows: tuple[Any, Any]) -> tuple[Written, Written]:
    """The output of the kernel and of the reference for records of the first source."""
    plan = plan_of(define)
    (source, *_) = plan.sources
    records = [
        SourceRecord(source.topic, 0, offset, offset, _json(key), _json(value))
        for offset, (key, value) in enumerate(rows)
    ]
    kernel = drive(driver_of(spark, define, 0), records)
    reference = ReferenceEvaluator(plan, tasks=2).run(records)
    return [(w.key, w.value) for w in kernel], [(w.key, w.value) for w in reference]


def test_composite_key_of_nulls_is_a_null_key(spark: SparkSession) -> None:
    def nulls(topology: Topology) -> None:
        topology.table("t", key="a STRING, b BIGINT", value="v BIGINT").to("out")

    kernel, reference = both(
        spark, nulls, ({"a": None, "b": None}, {"v": 1}), ({"a": None, "b": 2}, {"v": 2})
    )

    assert kernel == reference == [(b'{"a":null,"b":2}', b'{"v":2}')]


def test_keys_that_differ_below_a_millisecond_are_distinct(spark: SparkSession) -> None:
    """Regression: both were written as the same key, so one group replaced the other's row."""

    def times(topology: Topology) -> None:
        read = topology.stream("t", value="at TIMESTAMP")
        read.group_by("at").count("n").to("out")

    rows = [(None, {"at": f"2013-01-01T10:00:00{part}Z"}) for part in (".1234", ".1239", ".5", "")]
    kernel, reference = both(spark, times, *rows, rows[0])

    assert sorted(kernel) == sorted(reference)
    assert dict(kernel) == {
        b'"2013-01-01T10:00:00.123400Z"': b'{"n":2}',
        b'"2013-01-01T10:00:00.123900Z"': b'{"n":1}',
        b'"2013-01-01T10:00:00.500Z"': b'{"n":1}',
        b'"2013-01-01T10:00:00.000Z"': b'{"n":1}',
    }


def rows_found(topology: Topology) -> None:
    here, there = _of_other_names(topology)
    here.join(there.to_table(), on=["a", "b"]).to("out")


def streams_met(topology: Topology) -> None:
    here, there = _of_other_names(topology)
    here.join(there, on=["a", "b"], within="1 hour").to("out")


def tables_met(topology: Topology) -> None:
    here, there = _of_other_names(topology)
    here.to_table().join(there.to_table(), on=["a", "b"]).to("out")


def _of_other_names(topology: Topology) -> tuple[Stream, Stream]:
    return (
        topology.stream("here", key="a STRING, b BIGINT", value="v BIGINT"),
        topology.stream("there", key="x STRING, y BIGINT", value="w BIGINT"),
    )


@pytest.mark.parametrize("define", [rows_found, streams_met, tables_met])
def test_column_names_are_not_part_of_a_key(spark: SparkSession, define: Define) -> None:
    """Regression: column names were hashed for the task, so equal keys were not co-located."""
    keys = [(f"key-{number}", number) for number in range(20)]
    records = [Given("there", key, (1,), 1) for key in keys]
    records += [Given("here", key, (2,), 2) for key in keys]
    plan = plan_of(define)

    (kernel,) = run_in_memory(spark, plan, [records], cache_bytes_max=0, tasks=4)
    (reference,) = run_in_reference(plan, [records], cache_bytes_max=0, tasks=4)

    assert sorted((w.key, w.value) for w in kernel["out"]) == sorted((k, (2, 1)) for k in keys)
    assert sorted(kernel["out"]) == sorted(reference["out"])


def _json(value: Any) -> bytes | None:
    return None if value is None else json.dumps(value).encode()
