"""Headers, timestamps and positions of records in the reference evaluator."""

import datetime as dt

import pytest

from duolog import Topology, col, header, headers, offset, partition, row_time, topic, wall_clock
from duolog.core.errors import QueryError
from duolog.dsl.streams import Stream
from duolog.testing import TopologyDriver

TRACE = (("trace", b"1"), ("retry", None), ("trace", b"2"))


def orders(topology: Topology) -> Stream:
    return topology.stream("orders", key="id STRING", value="user STRING, n BIGINT")


def test_records_have_topic_partition_offset_and_headers() -> None:
    topology = Topology("shop")
    orders(topology).map_values(
        topic(), partition(), offset(), trace=header("trace").cast(str), none=header("none")
    ).to("out")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("orders").pipe_input

    pipe("a", {"user": "bob"})
    pipe("b", {"user": "amy"}, headers=TRACE)

    place = {"topic": "orders", "partition": 0, "none": None}
    out = driver.output_topic("out").read_records()
    assert [record.value for record in out] == [
        place | {"offset": 0, "trace": None},
        place | {"offset": 1, "trace": "2"},
    ]
    assert [record.headers for record in out] == [(), TRACE]


def test_an_update_of_an_aggregate_has_the_metadata_of_the_last_record() -> None:
    topology = Topology("shop")
    counted = orders(topology).group_by("user").count()
    counted.to_stream().with_columns(last=offset(), trace=header("trace").cast(str)).to("out")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("orders").pipe_input

    pipe("a", {"user": "bob"}, headers=TRACE)
    pipe("b", {"user": "amy"})
    pipe("c", {"user": "bob"})

    assert driver.output_topic("out").read_key_values() == [
        ("bob", {"count": 1, "last": 0, "trace": "2"}),
        ("amy", {"count": 1, "last": 1, "trace": None}),
        ("bob", {"count": 2, "last": 2, "trace": None}),
    ]


def test_written_headers_replace_those_with_the_same_name() -> None:
    topology = Topology("shop")
    written = orders(topology).with_headers(trace=col("user"), raw=b"\x00", none=None)
    written.to("written")
    written.without_headers("trace", "raw").to("fewer")
    written.without_headers().map_values(all=headers()).to("bare")
    driver = TopologyDriver(topology)

    driver.input_topic("orders").pipe_input("a", {"user": "bob"}, headers=TRACE)

    (out,) = driver.output_topic("written").read_records()
    assert out.headers == (("retry", None), ("trace", b"bob"), ("raw", b"\x00"), ("none", None))
    (out,) = driver.output_topic("fewer").read_records()
    assert out.headers == (("retry", None), ("none", None))
    assert driver.output_topic("bare").read_key_values() == [("a", {"all": []})]


def test_a_timestamp_is_written() -> None:
    topology = Topology("shop")
    later = orders(topology).with_time(row_time() + col("n"))
    later.map_values(at=row_time()).to("out")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("orders").pipe_input

    pipe("a", {"n": 5}, timestamp_ms=10)
    assert driver.output_topic("out").read_records() == [("a", {"at": 15}, 15)]
    with pytest.raises(QueryError, match="cannot process") as error:
        pipe("a", {"n": -5}, timestamp_ms=1)
    assert "the new timestamp is -4" in str(error.value.detail)
    with pytest.raises(QueryError):
        pipe("a", {"n": None}, timestamp_ms=1)


def test_a_source_can_read_timestamps_from_a_column() -> None:
    topology = Topology("shop")
    value = "at TIMESTAMP, n BIGINT"
    topology.stream("orders", key="id STRING", value=value, timestamp="at").to("out")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("orders").pipe_input

    pipe("a", {"at": dt.datetime(1970, 1, 1, 0, 1, tzinfo=dt.UTC)}, timestamp_ms=5)
    pipe("b", {"at": None}, timestamp_ms=6)
    pipe("c", None, timestamp_ms=7)

    times = [
        (record.key, record.timestamp_ms) for record in driver.output_topic("out").read_records()
    ]
    assert times == [("a", 60_000), ("c", 7)]
    assert driver.skipped == 1


def test_an_invalid_timestamp_fails_or_is_skipped_or_replaced_by_partition_time() -> None:
    topology = Topology("shop")
    for policy in ("fail", "skip", "partition_time"):
        topology.stream(
            policy,
            key="id STRING",
            value="n BIGINT",
            timestamp="n",
            invalid_timestamp=policy,
        ).to(f"{policy}-out")
    driver = TopologyDriver(topology)

    def times(policy: str, *numbers: int | None) -> list[int]:
        for number in numbers:
            driver.input_topic(policy).pipe_input("k", {"n": number}, timestamp_ms=3)
        found = driver.output_topic(f"{policy}-out").read_records()
        return [record.timestamp_ms for record in found]

    assert times("skip", 7, -1, 5) == [7, 5]
    assert times("partition_time", None, 7, -1, 5, None) == [3, 7, 7, 5, 7]
    with pytest.raises(QueryError) as error:
        times("fail", 7, -1)
    assert error.value.detail == "its timestamp is -1"


def test_the_wall_clock_is_that_of_the_driver() -> None:
    topology = Topology("shop")
    topology.stream("orders", value="n BIGINT", timestamp=wall_clock()).to("out")
    driver = TopologyDriver(topology, wall_clock_ms=50)

    driver.input_topic("orders").pipe_input(None, {"n": 1}, timestamp_ms=3)
    driver.advance_wall_clock_time(dt.timedelta(seconds=1))
    driver.input_topic("orders").pipe_input(None, {"n": 1}, timestamp_ms=3)

    found = driver.output_topic("out").read_records()
    assert [record.timestamp_ms for record in found] == [50, 1050]


def test_a_record_can_choose_its_partition() -> None:
    topology = Topology("shop")
    orders(topology).to("out", partitioner=col("n") % 4)
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("orders").pipe_input

    for number in (6, None, 3):
        pipe("a", {"n": number})
    chosen = [record.partition for record in driver.output_topic("out").read_records()]
    assert chosen == [2, None, 3]
    with pytest.raises(QueryError) as error:
        pipe("a", {"n": -1})
    assert error.value.detail == "the partition is -1"


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**63 - 1])
def test_a_partition_of_more_than_31_bits_is_refused(number: int) -> None:
    topology = Topology("shop")
    source = topology.stream("orders", value="n BIGINT")
    source.to("out", partitioner=col("n"))
    source.repartition(partitioner=col("n")).to("shuffled", partitions=4)
    driver = TopologyDriver(topology, processing_exception_handler="log_and_continue")
    driver.input_topic("orders").pipe_input(None, {"n": number})

    assert not driver.output_topic("out").read_records()
    # Among the tasks a number counts by what is left of it.
    assert driver.output_topic("shuffled").read_key_values() == [(None, {"n": number})]
