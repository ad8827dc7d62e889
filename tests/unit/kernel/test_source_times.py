"""Timestamps of a source's records: computed, and what becomes of those that are invalid."""

import time

import pytest
from pyspark.sql import SparkSession

from unit.kernel.driver import In, KernelDriver
from unit.kernel.specs import FLIGHT, Spec, json_sink, json_source
from unit.kernel.specs import spec as spec_of
from waiting import wait_until

pytestmark = pytest.mark.spark


def timed_spec(timestamp: str, invalid: str | None = None, **changes: object) -> Spec:
    source = json_source(0, "flights", "carrier STRING, delay BIGINT", [0])
    source |= {"timestamp": timestamp, "invalid_timestamp": invalid}
    nodes = {0: json_sink(0, FLIGHT, "carrier", "delay")}
    return spec_of(sources=[source], edges=[], nodes=nodes, sinks=["out"], **changes)


def flights(*delays: int | None, offset: int = 0, ts: int = 3) -> list[In]:
    return [
        In(
            "flights",
            "f",
            f'{{"carrier":"AA","delay":{"null" if delay is None else delay}}}',
            ts=ts,
            offset=offset + place,
        )
        for place, delay in enumerate(delays)
    ]


def test_a_timestamp_is_computed_from_value_and_metadata(
    spark: SparkSession,
) -> None:
    driver = KernelDriver(spark, timed_spec("p0.delay + `offset` + length(topic)"))

    assert [out.ts for out in driver.batch(flights(10, 20))] == [17, 28]


def test_the_wall_clock_is_asked_for_each_record(spark: SparkSession) -> None:
    driver = KernelDriver(spark, timed_spec("duolog_wall_clock(`offset`)"))
    before = int(time.time() * 1000)

    (first,) = driver.batch(flights(1))
    wait_until(lambda: int(time.time() * 1000) > first.ts, "the clock continues")
    (second,) = driver.batch(flights(1, offset=1))

    assert before <= first.ts < second.ts <= time.time() * 1000


def test_invalid_ones_are_passed_over_or_fail_whatever_the_handler(spark: SparkSession) -> None:
    passes = timed_spec("p0.delay", "skip", errors={"deserialization": "log_and_fail"})
    fails = timed_spec("p0.delay", "fail", errors={"deserialization": "log_and_continue"})
    driver = KernelDriver(spark, passes)

    assert [out.ts for out in driver.batch(flights(7, None, -1, 5))] == [7, 5]
    assert driver.corrupt_records == 2
    with pytest.raises(Exception, match="partition 0, offset 1: its timestamp is null"):
        KernelDriver(spark, fails).batch(flights(7, None))


def test_partition_time_continues_in_the_next_micro_batch(spark: SparkSession) -> None:
    driver = KernelDriver(spark, timed_spec("p0.delay", "partition_time"))

    first = driver.batch(flights(None, 7, -1))
    second = driver.batch(flights(None, 9, offset=3))
    again = driver.batch(flights(None, 9, offset=3))
    third = driver.batch(flights(None, offset=5))

    assert [out.ts for out in first] == [3, 7, 7]
    assert [out.ts for out in second] == [out.ts for out in again] == [7, 9]
    assert [out.ts for out in third] == [9]


FAR = (9_223_372_036_854_775, 1_700_000_000_000_000_000, 2**63 - 1)
"""After the year 294246, if read as microseconds or nanoseconds."""


@pytest.mark.parametrize("ts", FAR)
def test_a_time_that_spark_does_not_have_is_none(spark: SparkSession, ts: int) -> None:
    """No handler could pass such a record over."""
    own = timed_spec("ts", "skip")
    computed = timed_spec("p0.delay", "skip")
    partition_time = timed_spec("p0.delay", "partition_time")

    assert KernelDriver(spark, own).batch(flights(1, ts=ts)) == []
    assert [out.ts for out in KernelDriver(spark, computed).batch(flights(7, ts, 8))] == [7, 8]
    later = KernelDriver(spark, partition_time).batch(flights(7, ts, 8))
    assert [out.ts for out in later] == [7, 7, 8]
    with pytest.raises(Exception, match="its timestamp is after the year 294246"):
        KernelDriver(spark, timed_spec("ts", "fail")).batch(flights(1, ts=ts))


def test_the_last_time_that_spark_has_is_one(spark: SparkSession) -> None:
    last = FAR[0] - 1

    assert [out.ts for out in KernelDriver(spark, timed_spec("ts")).batch(flights(1, ts=last))] == [
        last
    ]
