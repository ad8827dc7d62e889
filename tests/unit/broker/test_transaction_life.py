"""Timeouts, expiry and restarts of transactions, over a broker with its logs."""

import pytest

from duolog.broker import turns
from duolog.broker.turns import run_in_turns
from duolog.coordinator.transactions.states import TransactionState
from unit.broker.conftest import OpenDesk
from unit.broker.transactional_producer import (
    END,
    TransactionalProducer,
    committed,
    coordinate,
)

OLD_EPOCH = 47

# Time


def test_a_transaction_that_takes_too_long_is_aborted(open_desk: OpenDesk) -> None:
    desk = coordinate(open_desk(transaction_abort_timed_out_transaction_cleanup_interval_ms="1"))
    desk.topic("t")
    producer = TransactionalProducer(desk)
    producer.init(timeout_ms=1)
    producer.write(b"a")

    while producer.record.state is not TransactionState.COMPLETE_ABORT:
        desk.turn()

    assert committed(desk) == []
    assert producer.write(b"b").error_code == OLD_EPOCH
    assert producer.end(commit=True).error_code == 48  # Its epoch and a retry look the same.
    assert producer.init().error_code == 0
    assert producer.me.epoch == 2


def test_transactions_that_take_too_long_are_aborted_in_turns(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = coordinate(open_desk(transaction_abort_timed_out_transaction_cleanup_interval_ms="200"))
    desk.topic("t")
    producers = [TransactionalProducer(desk, f"tx{index}") for index in range(5)]
    for producer in producers:
        producer.init(timeout_ms=1)
        producer.write(b"a")
    monkeypatch.setattr(run_in_turns, "__defaults__", (0.0,))
    monkeypatch.setattr(turns, "SHORT_TURN_S", 0.0)
    seen = set()

    while left := [p for p in producers if p.record.state is TransactionState.ONGOING]:
        seen.add(len(left))
        desk.turn()

    assert len(seen) > 1


def test_an_id_that_nobody_uses_is_forgotten(open_desk: OpenDesk) -> None:
    desk = coordinate(
        open_desk(
            transactional_id_expiration_ms="1",
            transaction_remove_expired_transaction_cleanup_interval_ms="1",
        )
    )
    producer = TransactionalProducer(desk)
    producer.init()

    while producer.describe().error_code != 105:
        desk.turn()

    assert producer.end(commit=True).error_code == 49


# Restarts


def test_a_restart_goes_on_with_the_transaction(open_desk: OpenDesk) -> None:
    desk = coordinate(open_desk())
    desk.topic("t")
    producer = TransactionalProducer(desk)
    producer.init()
    producer.write(b"a")
    desk.stop()

    desk = coordinate(open_desk())
    again = TransactionalProducer(desk)
    again.me, again.sequences = producer.me, producer.sequences

    assert again.record.state is TransactionState.ONGOING
    assert again.write(b"b").error_code == 0
    assert again.end(commit=True).error_code == 0
    assert committed(desk) == [b"a", b"b"]


def test_a_broker_that_is_stopped_in_an_end_goes_on_with_it(open_desk: OpenDesk) -> None:
    desk = coordinate(open_desk(durability="fsync"))
    desk.topic("t")
    producer = TransactionalProducer(desk)
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
    desk.turn()
    desk.stop()

    desk = coordinate(open_desk())
    for _ in range(5):
        desk.turn()

    assert committed(desk) == [b"a"]
    again = TransactionalProducer(desk)
    assert again.record.state is TransactionState.COMPLETE_COMMIT
    assert again.init().error_code == 0


def test_a_retry_is_known_again_after_a_restart(open_desk: OpenDesk) -> None:
    desk = coordinate(open_desk())
    producer = TransactionalProducer(desk)
    producer.init()
    before = producer.me
    producer.init(expected=before)
    desk.stop()

    again = TransactionalProducer(coordinate(open_desk()))

    assert again.init(expected=before).error_code == 0
    assert again.me == producer.me
