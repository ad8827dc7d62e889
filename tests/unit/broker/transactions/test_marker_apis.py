"""DescribeProducers and WriteTxnMarkers."""

from typing import Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from unit.broker.transaction_harness import Transactional

WRITE_TXN_MARKERS = 27
DESCRIBE_PRODUCERS = 61


@pytest.fixture
def orders(harness: Any) -> Transactional:
    return Transactional(harness)


def described(orders: Transactional, *indexes: int, topic: str = "orders") -> Any:
    answer = orders.client.ask(
        DESCRIBE_PRODUCERS, 0, topics=[{"name": topic, "partition_indexes": indexes}]
    )
    return answer.topics[0].partitions


def test_producers_are_told_with_their_open_transactions(orders: Transactional) -> None:
    orders.write(7, b"a", b"b")
    orders.write(8, b"c")
    orders.end(8, commit=True, epoch=1)

    (partition,) = described(orders, 0)

    told = [
        (p.producer_id, p.producer_epoch, p.last_sequence, p.coordinator_epoch,
         p.current_txn_start_offset)
        for p in partition.active_producers
    ]  # fmt: skip
    assert told == [(7, 0, 1, -1, 0), (8, 1, -1, 0, -1)]
    assert partition.active_producers[0].last_timestamp > 0


def test_a_partition_that_is_not_there_is_told_so(orders: Transactional) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [p.error_code for p in described(orders, 0, 5)] == [0, unknown]
    assert described(orders, 0, topic="gone")[0].error_code == unknown
    assert described(orders, 0, topic="a/b")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def marker(
    producer_id: int, *partitions: int, commit: bool = False, epoch: int = 0, **more: int
) -> dict[str, Any]:
    return {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": commit,
        "coordinator_epoch": 0,
        "topics": [{"name": "orders", "partition_indexes": partitions}],
        **more,
    }


def written(orders: Transactional, *markers: dict[str, Any], version: int = 2) -> Any:
    answer = orders.client.ask(WRITE_TXN_MARKERS, version, markers=markers)
    return {
        (item.producer_id, topic.name, partition.partition_index): partition.error_code
        for item in answer.markers
        for topic in item.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_that_hangs_is_aborted(orders: Transactional, version: int) -> None:
    orders.write(7, b"a")

    codes = written(orders, marker(7, 0), version=version)

    assert codes == {(7, "orders", 0): 0}
    assert orders.log.last_stable_offset == 2
    assert [tuple(a) for a in orders.log.aborted_transactions(0, 2)] == [(7, 0)]


def test_several_markers_have_their_own_errors(orders: Transactional) -> None:
    orders.write(7, b"a")
    orders.write(8, b"b")

    codes = written(orders, marker(7, 0, 9, commit=True), marker(8, 0, epoch=-1))

    assert codes == {
        (7, "orders", 0): ErrorCode.NONE,
        (7, "orders", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (8, "orders", 0): ErrorCode.INVALID_PRODUCER_EPOCH,
    }
    assert [t.producer_id for t in orders.log.open_transactions()] == [8]


def test_an_earlier_coordinator_is_fenced(orders: Transactional) -> None:
    later = {**marker(7, 0), "coordinator_epoch": 3}

    assert written(orders, later) == {(7, "orders", 0): ErrorCode.NONE}
    assert written(orders, marker(7, 0)) == {
        (7, "orders", 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED
    }


def test_a_marker_of_transaction_version_2_has_a_new_epoch(orders: Transactional) -> None:
    orders.write(7, b"a")

    same = written(orders, marker(7, 0, transaction_version=2))
    bumped = written(orders, marker(7, 0, epoch=1, transaction_version=2))

    assert same == {(7, "orders", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    assert bumped == {(7, "orders", 0): ErrorCode.NONE}


def test_a_request_without_markers_is_answered(orders: Transactional) -> None:
    assert written(orders) == {}
