"""Timeouts, expiry and restarts of transactions, over a broker with its logs."""

from pathlib import Path
from time import monotonic

import pytest

from duolog.broker.event_loop import time_slices
from duolog.coordinator.transactions.states import TransactionState
from duolog.core.clock import Clock
from duolog.record.records import BatchProducer
from unit.broker.conftest import OpenHarness
from unit.broker.transactional_producer import (
    END,
    TransactionalProducer,
    committed,
    coordinate,
)

NOT_COORDINATOR, OLD_EPOCH = 16, 47

# Time


def test_a_transaction_that_takes_too_long_is_aborted(open_harness: OpenHarness) -> None:
    harness = coordinate(
        open_harness(transaction_abort_timed_out_transaction_cleanup_interval_ms="1")
    )
    harness.topic("t")
    producer = TransactionalProducer(harness)
    producer.init(timeout_ms=1)
    producer.write(b"a")

    while producer.record.state is not TransactionState.COMPLETE_ABORT:
        harness.turn()

    assert committed(harness) == []
    assert producer.write(b"b").error_code == OLD_EPOCH
    assert producer.end(commit=True).error_code == 48  # Its epoch and a retry look the same.
    assert producer.init().error_code == 0
    assert producer.me.epoch == 2


def test_a_wall_clock_that_goes_back_keeps_no_transaction_open(open_harness: OpenHarness) -> None:
    harness = coordinate(
        open_harness(transaction_abort_timed_out_transaction_cleanup_interval_ms="1")
    )
    harness.topic("t")
    producer = TransactionalProducer(harness)
    producer.init(timeout_ms=1)
    producer.write(b"a")

    harness.broker.clock = SetBack(harness.broker.clock)
    for _ in range(100):
        harness.turn()

    assert producer.record.state is TransactionState.COMPLETE_ABORT


class Ahead:
    """A clock two minutes ahead, so that earlier transactions time out at once, on a slow machine too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def monotonic(self) -> float:
        return self._clock.monotonic() + 120

    def now_ms(self) -> int:
        return self._clock.now_ms() + 120_000


class SetBack:
    """A clock whose wall time an operator has set back by a day."""

    def __init__(self, clock: Clock) -> None:
        self.monotonic = clock.monotonic
        self._clock = clock

    def now_ms(self) -> int:
        return self._clock.now_ms() - 86_400_000


def test_transactions_that_take_too_long_are_aborted_in_turns(
    open_harness: OpenHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = coordinate(
        open_harness(transaction_abort_timed_out_transaction_cleanup_interval_ms="200")
    )
    harness.topic("t")
    producers = [TransactionalProducer(harness, f"tx{index}") for index in range(5)]
    for producer in producers:
        producer.init(timeout_ms=60_000)
        producer.write(b"a")
    monkeypatch.setattr(time_slices, "SLICE_S", 0.0)
    harness.broker.clock = Ahead(harness.broker.clock)
    seen = set()

    while left := [p for p in producers if p.record.state is TransactionState.ONGOING]:
        seen.add(len(left))
        harness.turn()

    assert len(seen) > 1


def test_an_unused_id_is_forgotten(open_harness: OpenHarness) -> None:
    harness = coordinate(
        open_harness(
            transactional_id_expiration_ms="1",
            transaction_remove_expired_transaction_cleanup_interval_ms="1",
        )
    )
    producer = TransactionalProducer(harness)
    producer.init()

    while producer.describe().error_code != 105:
        harness.turn()

    assert producer.end(commit=True).error_code == 49


# Restarts


def test_a_restart_continues_the_transaction(open_harness: OpenHarness) -> None:
    harness = coordinate(open_harness())
    harness.topic("t")
    producer = TransactionalProducer(harness)
    producer.init()
    producer.write(b"a")
    harness.stop()

    harness = coordinate(open_harness())
    again = TransactionalProducer(harness)
    again.me, again.sequences = producer.me, producer.sequences

    assert again.record.state is TransactionState.ONGOING
    assert again.write(b"b").error_code == 0
    assert again.end(commit=True).error_code == 0
    assert committed(harness) == [b"a", b"b"]


def test_a_broker_stopped_while_ending_a_transaction_completes_it_after_restart(
    open_harness: OpenHarness,
) -> None:
    harness = coordinate(open_harness(durability="fsync"))
    harness.topic("t")
    producer = TransactionalProducer(harness)
    producer.init()
    producer.write(b"a")
    producer.client.send(
        END,
        5,
        transactional_id="tx",
        producer_id=producer.me.producer_id,
        producer_epoch=producer.me.epoch,
        committed=True,
    )
    while producer.record.state is TransactionState.ONGOING:
        harness.turn()
    harness.stop()

    harness = coordinate(open_harness())
    for _ in range(5):
        harness.turn()

    assert committed(harness) == [b"a"]
    again = TransactionalProducer(harness)
    assert again.record.state is TransactionState.COMPLETE_COMMIT
    assert again.init().error_code == 0


def test_a_transaction_is_not_ended_while_one_of_its_partitions_is_refused(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    harness = coordinate(open_harness())
    harness.topic("t", partitions=2)
    producer = TransactionalProducer(harness)
    producer.init()
    assert producer.write(b"a").error_code == 0
    assert producer.write(b"b", partition=1).error_code == 0
    harness.stop()
    topic = harness.broker.topics.find("t")
    segment = next(tmp_path.glob(f"data/topics/{topic.id}/1/*.log"))
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    harness = coordinate(open_harness())
    assert harness.broker.topics.find("t").partitions[1].refused
    again = TransactionalProducer(harness)
    again.me = producer.me
    assert again.end(commit=True).error_code == NOT_COORDINATOR
    assert again.record.state is TransactionState.PREPARE_COMMIT
    assert committed(harness) == [b"a"]
    harness.stop()
    segment.write_bytes(whole)

    harness = coordinate(open_harness())
    for _ in range(5):
        harness.turn()
    assert committed(harness) == [b"a"]
    assert committed(harness, partition=1) == [b"b"]


def test_a_retry_is_known_again_after_a_restart(open_harness: OpenHarness) -> None:
    harness = coordinate(open_harness())
    producer = TransactionalProducer(harness)
    producer.init()
    before = producer.me
    producer.init(expected=before)
    harness.stop()

    again = TransactionalProducer(coordinate(open_harness()))

    assert again.init(expected=before).error_code == 0
    assert again.me == producer.me


def test_a_transaction_that_ends_while_others_are_aborted_is_looked_at_again(
    open_harness: OpenHarness,
) -> None:
    """Its successor used to be aborted in its place, although it was not late."""
    harness = coordinate(open_harness())
    harness.topic("t")
    producers = [TransactionalProducer(harness, f"tx{index}") for index in range(2)]
    for producer in producers:
        producer.init(timeout_ms=60_000)
        producer.write(b"late")
    harness.broker.clock = Ahead(harness.broker.clock)
    service = harness.broker.transactions
    aborts = service._timers._abort_each([producer.transactional_id for producer in producers])  # noqa: SLF001

    next(aborts)
    assert producers[1].end(commit=True).error_code == 0
    producers[1].write(b"new")
    next(aborts)
    harness.turn()

    assert producers[1].record.state is TransactionState.ONGOING
    assert producers[1].end(commit=True).error_code == 0
    assert committed(harness) == [b"late", b"new"]


def test_a_start_ends_an_orphaned_transaction_as_this_coordinator(
    open_harness: OpenHarness,
) -> None:
    """With epoch 0, an earlier coordinator could still write its marker after this one."""
    harness = coordinate(open_harness())
    harness.topic("t")
    log = harness.broker.log("t", 0)
    batch = harness.batch(b"a", producer=BatchProducer(99, 0, 0, transactional=True))
    log.append(memoryview(bytearray(batch)))
    log.write_staged()
    harness.stop()

    harness = coordinate(open_harness())
    log = harness.broker.log("t", 0)
    until = monotonic() + 60
    while log.open_transactions():
        assert monotonic() < until
        harness.turn()

    (producer,) = log.active_producers()
    assert producer.coordinator_epoch == log.leader_epoch > 0


def test_markers_carry_the_epoch_of_their_coordinator(open_harness: OpenHarness) -> None:
    coordinate(open_harness()).stop()
    harness = coordinate(open_harness())
    harness.topic("t")
    producer = TransactionalProducer(harness)
    producer.init()
    producer.write(b"a")
    producer.end(commit=True)

    log = harness.broker.log("t", 0)
    (found,) = log.active_producers()
    assert found.coordinator_epoch == log.leader_epoch > 0
