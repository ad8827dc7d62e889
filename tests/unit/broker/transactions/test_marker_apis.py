"""DescribeProducers and WriteTxnMarkers."""

from time import monotonic
from typing import Any

import pytest

from duolog.broker.groups.offsets_topic import OFFSETS_TOPIC
from duolog.broker.transactions.markers import EndedTransaction, append_marker, write_markers
from duolog.core.ids import TopicPartition
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


def test_producers_are_described_with_their_open_transactions(orders: Transactional) -> None:
    orders.write(7, b"a", b"b")
    orders.write(8, b"c")
    orders.end(8, commit=True, epoch=1)

    (partition,) = described(orders, 0)

    reported = [
        (
            p.producer_id,
            p.producer_epoch,
            p.last_sequence,
            p.coordinator_epoch,
            p.current_txn_start_offset,
        )
        for p in partition.active_producers
    ]
    assert reported == [(7, 0, 1, -1, 0), (8, 1, -1, 0, -1)]
    assert partition.active_producers[0].last_timestamp > 0


def test_a_missing_partition_is_reported(orders: Transactional) -> None:
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


def test_offsets_of_a_transaction_count_when_its_marker_is_on_the_disk(
    orders: Transactional, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before that, a crash removes the marker, and with it offsets that a client may have read."""
    harness = orders.harness
    harness.topic(OFFSETS_TOPIC)
    log = harness.broker.log(OFFSETS_TOPIC, 0)
    ended: list[bool] = []

    def complete(*_: object) -> None:
        ended.append(log.high_watermark == log.log_end_offset > 0)

    monkeypatch.setattr(harness.broker.groups, "complete_transaction", complete)
    ending = EndedTransaction(7, 0, commit=True, coordinator_epoch=0)
    append_marker(harness.broker, OFFSETS_TOPIC, 0, ending, lambda _: None)
    at_once = list(ended)
    until = monotonic() + 60
    while not ended:
        assert monotonic() < until
        harness.turn()

    assert (at_once, ended) == ([], [True])


def test_an_end_is_complete_when_its_markers_are_on_the_disk(orders: Transactional) -> None:
    harness = orders.harness
    done: list[bool] = []
    orders.coordinator.add(7, "orders")
    orders.write(7, b"a")
    log = orders.log
    steps = write_markers(
        harness.broker,
        EndedTransaction(7, 0, commit=True, coordinator_epoch=0),
        [TopicPartition("orders", 0)],
        lambda _: done.append(log.high_watermark == log.log_end_offset),
    )
    for _ in steps:
        pass
    at_once = list(done)
    until = monotonic() + 60
    while not done:
        assert monotonic() < until
        harness.turn()

    assert (at_once, done) == ([], [True])
