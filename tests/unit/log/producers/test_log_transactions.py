import pytest

from duolog.core.errors import KafkaError
from duolog.log import PartitionLog
from duolog.log.producers.aborted_index import AbortedTransaction
from duolog.log.producers.transactions import OpenTransaction
from duolog.record import Record, encode_batch, read_header
from duolog.record.control import Marker, decode_marker
from duolog.record.records import BatchProducer
from duolog.testing.disk import CrashDisk
from unit.log.producers.transaction_log import batch_of, end, open_log, settle


@pytest.fixture
def disk() -> CrashDisk:
    return CrashDisk()


@pytest.fixture
def log(disk: CrashDisk) -> PartitionLog:
    return open_log(disk)[1]


def code_of(log: PartitionLog, batch: memoryview) -> int:
    with pytest.raises(KafkaError) as caught:
        log.append(batch)
    return caught.value.code


# The last stable offset.


def test_without_transactions_the_last_stable_offset_is_the_high_watermark(
    log: PartitionLog,
) -> None:
    log.append(batch_of())
    assert log.last_stable_offset == 0

    settle(log)

    assert log.last_stable_offset == 1


def test_an_open_transaction_holds_the_last_stable_offset_at_its_first_record(
    log: PartitionLog,
) -> None:
    log.append(batch_of(count=3))
    log.append(batch_of(1))
    log.append(batch_of(1, 1))
    log.append(batch_of())
    settle(log)

    assert log.last_stable_offset == 3
    assert log.open_transactions() == [OpenTransaction(1, 0, 3)]
    assert log.transaction_start(1) == 3


def test_a_marker_counts_only_when_it_is_durable(log: PartitionLog) -> None:
    log.append(batch_of(1))
    settle(log)

    marker_offset = end(log, 1, commit=True)

    assert marker_offset == 1
    assert log.open_transactions() == []
    assert log.last_stable_offset == 0
    settle(log)
    assert log.last_stable_offset == 2


def test_a_marker_at_the_high_watermark_does_not_count(log: PartitionLog) -> None:
    """With an earlier marker below the high watermark, the one at it was taken for durable, too."""
    for producer_id in (1, 2):
        log.append(batch_of(producer_id))
    end(log, 1, commit=True)
    marker_offset = end(log, 2, commit=True)
    log.write_staged()

    log.high_watermark = marker_offset

    assert log.last_stable_offset == 1
    settle(log)
    assert log.last_stable_offset == log.log_end_offset


def test_the_earliest_of_several_transactions_counts(log: PartitionLog) -> None:
    for producer_id in (1, 2, 3):
        log.append(batch_of(producer_id))
    end(log, 2, commit=True)
    settle(log)
    assert log.last_stable_offset == 0

    end(log, 1, commit=False)
    settle(log)

    assert log.last_stable_offset == 2
    end(log, 3, commit=True)
    settle(log)
    assert log.last_stable_offset == log.log_end_offset


def test_the_log_start_is_never_above_the_last_stable_offset(log: PartitionLog) -> None:
    """DeleteRecords may delete records of an open transaction, as in Kafka."""
    log.append(batch_of(1))
    log.append(batch_of())
    settle(log)

    log.advance_log_start(2)

    assert log.last_stable_offset == 2
    assert log.transaction_start(1) == 0


# Markers.


def test_a_marker_is_a_control_batch_of_the_producer(log: PartitionLog) -> None:
    log.append(batch_of(7, epoch=3))
    end(log, 7, commit=False, epoch=3)
    settle(log)

    batch = log.read_bytes(1, 1000, up_to_offset=2)

    header = read_header(batch)
    assert (header.base_offset, header.producer_id, header.producer_epoch) == (1, 7, 3)
    assert header.partition_leader_epoch == log.leader_epoch
    assert header.control
    assert decode_marker(batch) == Marker(commit=False, coordinator_epoch=0)


def test_a_marker_without_a_transaction_is_written_and_changes_nothing_else(
    log: PartitionLog,
) -> None:
    end(log, 1, commit=False)
    settle(log)

    assert log.log_end_offset == 1
    assert log.last_stable_offset == 1
    assert log.aborted_transactions(0, 1) == []


def test_a_marker_of_an_older_epoch_is_refused(log: PartitionLog) -> None:
    log.append(batch_of(1, epoch=4))

    with pytest.raises(KafkaError) as caught:
        end(log, 1, commit=True, epoch=3)

    assert caught.value.code == 47
    assert log.transaction_start(1) == 0
    assert log.log_end_offset == 1


def test_a_marker_of_an_earlier_coordinator_is_refused(log: PartitionLog) -> None:
    log.append_marker(1, 0, commit=True, coordinator_epoch=5, now_ms=0)
    log.append(batch_of(1))

    with pytest.raises(KafkaError) as caught:
        log.append_marker(1, 0, commit=True, coordinator_epoch=4, now_ms=0)

    assert caught.value.code == 52
    assert log.transaction_start(1) == 1


def test_a_marker_with_a_new_epoch_fences_the_old_one(log: PartitionLog) -> None:
    log.append(batch_of(1, count=5))
    end(log, 1, commit=False, epoch=1)

    assert code_of(log, batch_of(1, 5)) == 47
    assert code_of(log, batch_of(1, 5, epoch=1)) == 45
    assert log.append(batch_of(1, 0, epoch=1)).base_offset == 6


def test_sequences_continue_after_a_marker_of_the_same_epoch(log: PartitionLog) -> None:
    log.append(batch_of(1, count=5))
    end(log, 1, commit=True)

    assert code_of(log, batch_of(1, 7)) == 45
    assert log.append(batch_of(1, 5)).base_offset == 6
    assert log.transaction_start(1) == 6


def test_a_control_batch_of_a_client_is_refused(log: PartitionLog) -> None:
    record = Record(0, 1000, b"\0\0\0\1", b"\0\0\0\0\0\0")
    batch = encode_batch(
        [record], producer=BatchProducer(1, 0, 0, transactional=True), control=True
    )

    assert code_of(log, memoryview(batch)) == 87


def test_a_batch_outside_of_its_producers_open_transaction_is_refused(log: PartitionLog) -> None:
    log.append(batch_of(1))

    assert code_of(log, batch_of(1, 1, transactional=False)) == 48
    assert log.append(batch_of(2, transactional=False)).base_offset == 1
    end(log, 1, commit=True)
    assert log.append(batch_of(1, 1, transactional=False)).base_offset == 3


def test_a_duplicate_opens_no_transaction(log: PartitionLog) -> None:
    log.append(batch_of(1))
    end(log, 1, commit=True)

    assert log.append(batch_of(1)).duplicate
    assert log.open_transactions() == []


def test_a_batch_without_a_sequence_belongs_to_the_transaction(log: PartitionLog) -> None:
    """The broker's own: offsets that a transaction commits."""
    for _ in range(2):
        appended = log.append_unsequenced(bytearray(batch_of(1, -1)))
    settle(log)

    assert appended.base_offset == 1
    assert log.open_transactions() == [OpenTransaction(1, 0, 0)]
    assert log.last_stable_offset == 0


def test_a_batch_without_a_sequence_of_an_older_epoch_is_refused(log: PartitionLog) -> None:
    end(log, 1, commit=False, epoch=2)

    with pytest.raises(KafkaError) as caught:
        log.append_unsequenced(bytearray(batch_of(1, -1, epoch=1)))

    assert caught.value.code == 47


# Aborted transactions.


def test_an_aborted_transaction_is_reported_when_its_records_are_read(log: PartitionLog) -> None:
    log.append(batch_of(count=10))
    log.append(batch_of(1, count=5))
    end(log, 1, commit=False)
    log.append(batch_of(count=10))
    settle(log)

    aborted = [AbortedTransaction(1, 10)]
    assert log.aborted_transactions(0, 26) == aborted
    assert log.aborted_transactions(12, 13) == aborted
    assert log.aborted_transactions(15, 16) == aborted, "the marker is part of it"
    assert log.aborted_transactions(0, 10) == []
    assert log.aborted_transactions(16, 26) == []


def test_a_committed_transaction_is_not_listed_as_aborted(log: PartitionLog) -> None:
    log.append(batch_of(1))
    end(log, 1, commit=True)
    settle(log)

    assert log.aborted_transactions(0, 2) == []


def test_the_marker_may_be_in_a_later_segment(log: PartitionLog) -> None:
    log.append(batch_of(1))
    log.append(batch_of(2))
    for _ in range(5):
        log.append(batch_of(value_bytes=900))
    end(log, 2, commit=False)
    end(log, 1, commit=False)
    settle(log)

    found = log.read(0, 10**6, up_to_offset=log.last_stable_offset)
    reported = log.aborted_in(found, log.last_stable_offset)

    assert found.size_bytes < log.size_bytes, "it ends with its segment"
    assert reported == [AbortedTransaction(2, 1), AbortedTransaction(1, 0)]


def test_a_slice_gets_only_its_own_aborted_transactions(
    log: PartitionLog,
) -> None:
    for producer_id in range(100):
        log.append(batch_of(producer_id, value_bytes=200))
        end(log, producer_id, commit=False)
    settle(log)

    found = log.read(20, 1000, up_to_offset=log.last_stable_offset)
    reported = log.aborted_in(found, log.last_stable_offset)

    assert [item.producer_id for item in reported][:3] == [10, 11, 12]
    assert len(reported) < 10
