"""The end of a transaction is cut at every operation of the disk: all of it is there, or nothing.

A transaction over three partitions and a group runs to its end once, and the operations of the disk
are counted. Then it runs again for each of them, with the power cut there: before PREPARE, after
it, between the markers, before COMPLETE. What the next start finds is brought to its end, and no
transaction is left open.
"""

import logging
from collections.abc import Callable

import pytest

from duolog.coordinator.transactions.transitions import Producer
from fault.crash_broker import PARTITIONS, TIMEOUT_MS, CrashBroker, opened
from unit.broker.transactional_producer import TransactionalProducer

GROUP = "g"


def begin(broker: CrashBroker, *, bumping: bool) -> TransactionalProducer:
    """Commit one transaction, and begin another over everything."""
    producer = TransactionalProducer(broker, bumping=bumping)
    producer.init(timeout_ms=TIMEOUT_MS)
    for number in (b"first", b"second"):
        if not bumping:
            producer.add(*range(PARTITIONS))
            producer.add_offsets(GROUP)
        for partition in range(PARTITIONS):
            assert producer.write(number, partition=partition).error_code == 0
        assert producer.commit_offset(GROUP, len(number)) == 0
        if number == b"first":
            assert producer.end(commit=True).error_code == 0
    return producer


def answered(broker: CrashBroker, producer: TransactionalProducer, *, commit: bool) -> bool:
    """Request the end; return True if an answer confirms it."""
    me = producer.me
    version = 5 if producer.bumping else 4
    producer.client.send(
        26,
        version,
        transactional_id=producer.transactional_id,
        producer_id=me.producer_id,
        producer_epoch=me.epoch,
        committed=commit,
    )
    for _ in range(30):
        broker.turn()
    answer = producer.client._take()  # noqa: SLF001
    return answer is not None and answer.error_code == 0


def operations_of(*, bumping: bool, commit: bool) -> int:
    broker = opened()
    producer = begin(broker, bumping=bumping)
    before = broker.disk.operations
    assert answered(broker, producer, commit=commit)
    broker.settle()
    broker.leave()
    return broker.disk.operations - before


def check(broker: CrashBroker, *, commit: bool, acknowledged: bool, where: object) -> int:
    """Check what is there after the start; return how many of the two transactions are."""
    records = broker.broker.transactions.records().values()
    assert not any(record.state.prepared for record in records), where
    broker.pass_timeouts()
    assert broker.hanging() == [], where
    visible = broker.visible()
    offsets = broker.offsets(GROUP)
    done = [[b"first", b"second"]] * PARTITIONS, [len(b"second")]
    undone = [[b"first"]] * PARTITIONS, [len(b"first")]
    assert (visible, offsets) in ((done, undone) if commit else (undone,)), where
    if commit and acknowledged:
        assert (visible, offsets) == done, where
    return 2 if (visible, offsets) == done else 1


@pytest.mark.parametrize("seeded", [True, False], ids=["power", "kill"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("bumping", [True, False], ids=["v2", "v0"])
def test_a_cut_at_any_operation_leaves_all_or_nothing(
    *, bumping: bool, commit: bool, seeded: bool
) -> None:
    found = set()
    count = operations_of(bumping=bumping, commit=commit)
    assert count >= 6, "PREPARE, four markers and COMPLETE"
    for cut in range(count + 1):
        broker = opened()
        producer = begin(broker, bumping=bumping)
        broker.disk.power_off_after(operations=cut)
        acknowledged = answered(broker, producer, commit=commit)

        again = broker.crashed(cut if seeded else None)

        found.add(check(again, commit=commit, acknowledged=acknowledged, where=cut))
        new = TransactionalProducer(again, bumping=bumping)
        new.me = Producer(-1, -1)
        assert new.init(timeout_ms=TIMEOUT_MS).error_code == 0
        again.leave()
    assert found == ({1, 2} if commit else {1})


@pytest.mark.parametrize("bumping", [True, False], ids=["v2", "v0"])
def test_a_retry_after_a_crash_gets_the_requested_end_of_the_transaction(*, bumping: bool) -> None:
    """The client does not know whether its EndTxn arrived, and sends it again until it gets an answer."""
    for cut in range(operations_of(bumping=bumping, commit=True) + 1):
        broker = opened()
        producer = begin(broker, bumping=bumping)
        before = producer.me
        broker.disk.power_off_after(operations=cut)
        answered(broker, producer, commit=True)
        again = broker.crashed(cut)

        retry = TransactionalProducer(again, bumping=bumping)
        retry.me = before
        code = retry_until_definite(lambda retry=retry: retry.end(commit=True).error_code)  # type: ignore[misc]

        assert code == 0, cut
        assert again.visible() == [[b"first", b"second"]] * PARTITIONS, cut
        assert again.offsets(GROUP) == [len(b"second")], cut
        assert again.hanging() == []
        assert retry.write(b"third").error_code == 0 or not bumping
        again.leave()


def retry_until_definite(ask: Callable[[], int]) -> int:
    for _ in range(10):
        code = ask()
        if code not in (14, 51):
            break
    return code


def begun(cut: int | None) -> tuple[CrashBroker, TransactionalProducer, int]:
    """Let a producer start with a batch, with the power cut; count the operations of the disk."""
    broker = opened()
    producer = TransactionalProducer(broker)
    producer.init(timeout_ms=TIMEOUT_MS)
    producer.write(b"first")
    producer.end(commit=True)
    before = broker.disk.operations
    if cut is not None:
        broker.disk.power_off_after(operations=cut)
    producer.write(b"second")
    return broker, producer, broker.disk.operations - before


@pytest.mark.parametrize("retried", [True, False])
def test_a_batch_without_the_record_of_its_transaction_does_not_hang_and_is_not_lost(
    caplog: pytest.LogCaptureFixture, *, retried: bool
) -> None:
    """Both are written in one round, to two files: a crash may keep only one of them.

    A living producer sends the batch again and learns that it is already written: then it must be in
    the transaction. The start used to abort the transaction, and the retry was lost.
    """
    caplog.set_level(logging.INFO, logger="duolog.broker.transactions.transaction_recovery")
    broker, producer, count = begun(None)
    broker.leave()
    for cut in range(count + 1):
        for seed in range(10):
            broker, producer, _ = begun(cut)
            again = broker.crashed(seed)
            if retried:
                producer.harness, producer.client = again, again.client()
                producer.sequences.clear()
                assert producer.write(b"second").error_code == 0, (cut, seed)
                assert producer.end(commit=True).error_code == 0, (cut, seed)

            again.pass_timeouts()

            assert again.hanging() == [], (cut, seed)
            expected = [b"first", b"second"] if retried else [b"first"]
            assert again.committed(0) == expected, (cut, seed)
            again.leave()
    assert "left a partition out" in caplog.text, "no crash kept a batch without its record"
