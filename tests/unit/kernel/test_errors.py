"""Records that cannot be read, processed or written fail with their name, or are skipped."""

import json
import time
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from unit.kernel.conftest import OpenDriver
from unit.kernel.driver import In, KernelDriver, Out, kernel_package
from unit.kernel.specs import (
    AIRLINE,
    FLIGHT,
    Spec,
    flights_spec,
    json_sink,
    json_source,
    regroup_spec,
)
from unit.kernel.specs import spec as spec_of

pytestmark = pytest.mark.spark

CONTINUE = {"processing": "log_and_continue", "production": "log_and_continue"}
DEAD_LETTERS = {**CONTINUE, "dead_letter_topic": "dead"}
# No value for a delay of 13.
SPOILT = "CASE WHEN v1 = 13 THEN CAST(raise_error('13 is an invalid delay') AS BIGINT) ELSE v1 END"
BAD = '{"carrier":"AA","delay":13}'
GOOD = '{"carrier":"AA","delay":5}'
AMERICAN = In("airlines", "AA", '{"name":"American"}')


def flight(value: str | None, **fields: Any) -> In:
    return In("flights", "f", value, **fields)


def doubled_spec(**changes: Any) -> Spec:
    """flights ─► project ─► sink "out", and straight to sink "all": at the ingress."""
    return spec_of(
        sources=[json_source(0, "flights", "carrier STRING, delay BIGINT", [0, 1])],
        edges=[],
        nodes={
            0: {
                "kind": "project",
                "name": "p-1",
                "values": ["v0", SPOILT],
                "children": [2],
                **FLIGHT,
            },
            1: json_sink(1, FLIGHT, "carrier", "delay"),
            2: json_sink(0, FLIGHT, "carrier", "delay"),
        },
        sinks=["out", "all"],
        **changes,
    )


def counting(spec: Spec, **node: Any) -> Spec:
    """`spec` with its fold changed."""
    (fold,) = (entry for entry in spec["nodes"].values() if entry["kind"] == "fold")
    fold |= node
    return spec


def skipped(spark: SparkSession) -> Any:
    return json.loads(kernel_package(spark).Metrics.snapshot("test"))["skipped"]


@pytest.fixture(autouse=True)
def no_counts(spark: SparkSession) -> None:
    kernel_package(spark).Metrics.reset("test")


def samples(spark: SparkSession) -> Any:
    return json.loads(kernel_package(spark).Metrics.snapshot("test"))["samples"]


def values(outputs: list[Out], topic: str) -> list[str | None]:
    return [out.value for out in outputs if out.topic == topic]


def test_a_record_that_cannot_be_processed_fails_with_its_name(open_driver: OpenDriver) -> None:
    driver = open_driver(doubled_spec())

    with pytest.raises(
        Py4JJavaError,
        match=r'cannot process the record of topic "flights", partition 1, offset 7 at p-1: '
        r".*13 is an invalid delay",
    ):
        driver.pipe(flight(BAD, partition=1, offset=7))


def test_passed_over_it_ends_at_its_node_and_is_counted(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    driver = open_driver(doubled_spec(errors=CONTINUE))

    outputs = driver.batch([flight(BAD, offset=0), flight(GOOD, offset=1)])

    assert values(outputs, "out") == [GOOD]
    assert values(outputs, "all") == [BAD, GOOD]
    assert skipped(spark) == {"processing": 1}


def test_a_dead_letter_has_the_bytes_of_the_source_and_the_headers_of_kafka_streams(
    open_driver: OpenDriver,
) -> None:
    driver = open_driver(doubled_spec(errors=DEAD_LETTERS))
    record = flight(BAD, partition=1, offset=7, ts=99, headers=(("trace", b"x"),))

    (letter,) = (out for out in driver.pipe(record) if out.topic == "dead")

    assert (letter.key, letter.value, letter.ts) == ("f", BAD, 99)
    headers = dict(letter.headers)
    assert list(headers) == [
        "trace",
        *(f"__streams.errors.{name}" for name in ("exception", "message", "stacktrace")),
        *(f"__streams.errors.{name}" for name in ("topic", "partition", "offset")),
        "__duolog.errors.application",
    ]
    assert headers["__duolog.errors.application"] == b"test"
    assert headers["trace"] == b"x"
    assert headers["__streams.errors.topic"] == b"flights"
    assert headers["__streams.errors.partition"] == b"1"
    assert headers["__streams.errors.offset"] == b"7"
    assert b"13 is an invalid delay" in (headers["__streams.errors.message"] or b"")
    assert b"\tat " in (headers["__streams.errors.stacktrace"] or b"")


@pytest.mark.parametrize("value", ["garbage", "{}"])
def test_a_record_that_cannot_be_read_is_a_dead_letter_too(
    spark: SparkSession, open_driver: OpenDriver, value: str
) -> None:
    driver = open_driver(doubled_spec(errors={"dead_letter_topic": "dead"}))

    (letter,) = driver.pipe(flight(value))

    assert (letter.topic, letter.value) == ("dead", value)
    assert dict(letter.headers)["__streams.errors.message"] == b"its value is no JSON"
    assert skipped(spark) == {"deserialization": 1}


@pytest.mark.parametrize("ts", [-7, 4_000_000_000_000, 1_700_000_000_000_000_000])
def test_a_dead_letter_has_a_time_that_its_topic_takes(open_driver: OpenDriver, ts: int) -> None:
    """A broker refuses times that are ahead of its clock, and the query ended of that."""
    driver = open_driver(doubled_spec(errors={"dead_letter_topic": "dead"}))
    before = int(time.time() * 1000)

    (letter,) = driver.pipe(flight("garbage", ts=ts))

    assert letter.ts == 0 if ts < 0 else before <= letter.ts <= time.time() * 1000
    assert dict(letter.headers)["__duolog.errors.timestamp"] == str(ts).encode()


def test_a_negative_timestamp_is_reported_when_the_record_is_read(open_driver: OpenDriver) -> None:
    driver = open_driver(doubled_spec(errors={"deserialization": "log_and_fail"}))

    with pytest.raises(Py4JJavaError, match=r"offset 3: .*its timestamp is -7"):
        driver.pipe(flight(GOOD, ts=-7, offset=3))


def test_skipped_records_are_counted_by_reason_with_the_first_of_each(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    driver = open_driver(doubled_spec(errors=CONTINUE))
    long = "é" * 80

    driver.pipe(flight(BAD, partition=1, offset=7))
    for offset in (3, 4):
        driver.pipe(flight(GOOD, ts=-offset, offset=offset))
    driver.pipe(flight(long, offset=9))

    failed, early, unread = samples(spark)
    assert (failed["stage"], failed["topic"], failed["partition"]) == ("processing", "flights", 1)
    assert (failed["offset"], failed["key"], failed["value"]) == (7, "f", BAD)
    assert failed["at"] == "p-1"
    assert (early["reason"], early["count"], early["offset"]) == ("its timestamp is -3", 2, 3)
    assert unread["reason"] == "its value is no JSON"
    assert unread["value"] == "é" * 50 + "…"


def test_bytes_that_are_no_text_are_shown_as_digits(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    driver = open_driver(doubled_spec(errors=CONTINUE))

    driver.pipe(flight("\x00\x01", offset=1))

    assert [sample["value"] for sample in samples(spark)] == ["0x0001"]


def test_reasons_without_an_end_are_counted_together(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    spec = doubled_spec(errors=CONTINUE)
    spec["sources"][0]["corrupt"] = "concat('no ', CAST(value AS STRING))"
    driver = open_driver(spec)

    driver.batch(flight(chr(97 + at % 26) * (1 + at // 26), offset=at) for at in range(50))

    found = samples(spark)
    assert (len(found), found[-1]["reason"]) == (21, "other reasons")
    assert sum(sample["count"] for sample in found) == 50


@pytest.mark.parametrize("real_time", [False, True])
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_an_aggregate_is_as_it_was_when_a_step_fails(
    spark: SparkSession,
    real_time: bool,  # noqa: FBT001 - a parameter of the test
    cache: int,
) -> None:
    """In the second level: the record that is named is that of the source topic."""
    spec = flights_spec(real_time=real_time, cache_bytes_max=cache, errors=DEAD_LETTERS)
    driver = KernelDriver(spark, counting(spec, add=["a0 + 1", f"coalesce(a1, 0) + {SPOILT}"]))
    driver.pipe(AMERICAN)

    outputs = driver.batch(
        flight(value, offset=offset) for offset, value in enumerate([GOOD, BAD, GOOD])
    )

    assert values(outputs, "by_airline")[-1] == '{"flights":2,"delay":10}'
    (letter,) = (out for out in outputs if out.topic == "dead")
    assert (letter.value, dict(letter.headers)["__streams.errors.offset"]) == (BAD, b"1")


@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_an_aggregate_is_as_it_was_when_a_result_fails(spark: SparkSession, cache: int) -> None:
    results = ["a0", "CASE WHEN a1 = 18 THEN CAST(raise_error('18') AS BIGINT) ELSE a1 END"]
    spec = flights_spec(cache_bytes_max=cache, errors=DEAD_LETTERS)
    driver = KernelDriver(spark, counting(spec, results=results))
    driver.pipe(AMERICAN)

    first = driver.pipe(flight(GOOD, offset=0))
    second = driver.batch([flight(BAD, offset=1), flight(GOOD, offset=2)])

    assert values(first, "by_airline") == ['{"flights":1,"delay":5}']
    assert values(second, "by_airline") == ['{"flights":2,"delay":10}']
    assert values(second, "dead") == [BAD]


def test_a_row_that_cannot_be_processed_is_taken_back_and_never_twice(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    """Its old side used to fail again with each later change of the key, and that change was lost too."""
    predicate = "CASE WHEN v1 = 13 THEN CAST(raise_error('13') AS BOOLEAN) ELSE true END"
    driver = open_driver(regroup_spec(predicate=predicate, errors=CONTINUE))

    outputs = [
        driver.pipe(In("persons", "a", f'{{"city":"Rome","age":{age}}}')) for age in (30, 13, 40)
    ]

    assert [[out.value for out in step] for step in outputs] == [
        ['{"persons":1,"age":30}'],
        ['{"persons":0,"age":0}'],
        ['{"persons":1,"age":40}'],
    ]
    assert skipped(spark) == {"processing": 1}


def test_a_row_of_a_table_that_is_only_looked_up_fails_when_it_comes(
    spark: SparkSession, open_driver: OpenDriver
) -> None:
    """A lookup treats the row as deleted: its failure was reported before."""
    spoilt = "CASE WHEN v0 = 'bad' THEN CAST(raise_error('bad') AS STRING) ELSE v0 END"
    project = {"kind": "project", "table": True, "values": [spoilt], **AIRLINE}
    spec = flights_spec(errors=CONTINUE)
    spec["nodes"]["2"]["getter"] = [project]
    spec["nodes"]["3"]["children"] = [9]
    spec["nodes"]["9"] = project
    driver = open_driver(spec)

    driver.pipe(In("airlines", "AA", '{"name":"bad"}'))

    assert skipped(spark) == {"processing": 1}
    assert values(driver.pipe(flight(GOOD)), "joined") == []
    assert skipped(spark) == {"processing": 1}


def test_an_aggregate_that_is_only_looked_up_is_as_it_was_when_a_result_fails(
    spark: SparkSession,
    open_driver: OpenDriver,
) -> None:
    results = ["CASE WHEN a0 = 2 THEN CAST(raise_error('2') AS BIGINT) ELSE a0 END", "a1"]
    spec = counting(flights_spec(errors=CONTINUE), results=results, children=[])
    driver = open_driver(spec)
    driver.pipe(AMERICAN)

    driver.batch(flight(GOOD, offset=offset) for offset in range(3))

    assert skipped(spark) == {"processing": 2}


def test_a_record_cache_names_the_last_record_of_each_key(spark: SparkSession) -> None:
    """A failure downstream of an aggregate is reported when the record cache is flushed."""
    spec = flights_spec(cache_bytes_max=1 << 20, tasks=1, errors=DEAD_LETTERS)
    spec["nodes"]["8"]["value_bytes"] = "CAST(raise_error('no') AS BINARY)"
    driver = KernelDriver(spark, spec)
    for code in ("AA", "BA"):
        driver.pipe(In("airlines", code, f'{{"name":"{code}"}}'))

    outputs = driver.batch(
        flight(GOOD.replace("AA", code), offset=offset)
        for offset, code in enumerate(("AA", "AA", "BA"))
    )

    letters = [dict(out.headers) for out in outputs if out.topic == "dead"]
    assert {letter["__streams.errors.offset"] for letter in letters} == {b"1", b"2"}
    assert skipped(spark) == {"production": 2}
