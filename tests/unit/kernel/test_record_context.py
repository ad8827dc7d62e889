"""Records carry headers, and the topic and partition that they chose, along with key and value."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from unit.kernel.conftest import OpenDriver
from unit.kernel.driver import In, KernelDriver, Out
from unit.kernel.specs import (
    FLIGHT,
    Node,
    Spec,
    flights_spec,
    json_sink,
    json_source,
    regroup_spec,
)
from unit.kernel.specs import spec as spec_of

pytestmark = pytest.mark.spark

TRACE = (("trace", b"\x00\x01"), ("retry", None), ("trace", b""), ("\N{SNOWMAN}", b"x"))
AMERICAN = In("airlines", "AA", '{"name":"American"}', headers=(("of", b"table"),))
FLIGHT_OF_AA = In("flights", "f", '{"carrier":"AA","delay":5}', ts=5)


def stateless_spec(**fields: Any) -> Spec:
    """flights ─► filter ─► project ─► select_key ─► sink "out"."""
    chain: list[Node] = [
        {"kind": "filter", "predicate": "v1 > 0"},
        {"kind": "project", "values": ["v0", "v1 + 1"]},
        {"kind": "select_key", "keys": ["v0"]},
    ]
    nodes: dict[int, Node] = {
        i: {**node, "children": [i + 1], **FLIGHT} for i, node in enumerate(chain)
    }
    nodes[len(chain)] = {**json_sink(0, FLIGHT, "carrier", "delay"), **fields}
    source = json_source(0, "flights", "carrier STRING, delay BIGINT", [0])
    return spec_of(sources=[source], edges=[], nodes=nodes, sinks=["out"])


def test_headers_pass_through_stateless_nodes_into_the_sink(open_driver: OpenDriver) -> None:
    driver = open_driver(stateless_spec())

    outputs = driver.batch([FLIGHT_OF_AA._replace(headers=TRACE), FLIGHT_OF_AA._replace(offset=1)])

    assert [out.headers for out in outputs] == [TRACE, ()]


def test_a_join_and_an_aggregate_carry_the_headers_of_the_streams_record(
    open_driver: OpenDriver,
) -> None:
    driver = open_driver(flights_spec())
    driver.pipe(AMERICAN)

    outputs = driver.pipe(FLIGHT_OF_AA._replace(headers=TRACE))

    assert {out.topic: out.headers for out in outputs} == {"joined": TRACE, "by_airline": TRACE}


def test_both_groups_of_a_row_that_moves_carry_the_headers_of_the_move(
    open_driver: OpenDriver,
) -> None:
    driver = open_driver(regroup_spec())
    driver.pipe(In("persons", "a", '{"city":"Rome","age":30}', headers=(("first", b""),)))

    moved = driver.pipe(In("persons", "a", '{"city":"Oslo","age":30}', headers=TRACE))

    assert [out.headers for out in moved] == [TRACE, TRACE]


def test_with_a_record_cache_the_last_records_headers_are_emitted(spark: SparkSession) -> None:
    driver = KernelDriver(spark, regroup_spec(cache_bytes_max=1 << 20, tasks=1))

    (out,) = driver.batch(
        In("persons", "a", f'{{"city":"Rome","age":{age}}}', offset=age, headers=headers)
        for age, headers in enumerate((TRACE, (), (("last", b"1"),)))
    )

    assert out.headers == (("last", b"1"),)


def test_a_record_may_choose_its_topic_and_its_partition(spark: SparkSession) -> None:
    driver = KernelDriver(
        spark,
        stateless_spec(
            topic="CASE WHEN v0 <> 'ZZ' THEN concat('of_', v0) END",
            partition="CASE WHEN v1 > 6 THEN CAST(v1 - 6 AS INT) END",
        ),
    )

    outputs = driver.batch(
        In("flights", "f", f'{{"carrier":"{carrier}","delay":{delay}}}', offset=delay)
        for carrier, delay in (("AA", 5), ("ZZ", 6), ("BB", 7))
    )

    assert [(out.topic, out.partition) for out in outputs] == [
        ("of_AA", None),
        ("out", 1),
        ("of_BB", 2),
    ]


def test_missing_parts_are_left_out_of_a_record(open_driver: OpenDriver) -> None:
    driver = open_driver(stateless_spec())

    assert driver.pipe(FLIGHT_OF_AA) == [Out("out", "AA", '{"carrier":"AA","delay":6}', 5)]
