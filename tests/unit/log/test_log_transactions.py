from typing import Final

import pytest

from duolog.core.errors import KafkaError
from duolog.core.settings import Value
from duolog.log import GroupCommit, LogManager, PartitionLog
from duolog.log.aborted_index import AbortedTransaction
from duolog.log.transactions import OpenTransaction
from duolog.record import Record, encode_batch, read_header
from duolog.record.control import Marker, decode_marker
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

DAY_MS: Final = 86_400_000
SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 2000,
    "log.index.interval.bytes": 200,
    "log.retention.ms": 10_000,
    "log.recovery.point.bytes": 10**9,
}


def batch_of(
    producer_id: int = -1,
    sequence: int = 0,
    *,
    epoch: int = 0,
    count: int = 1,
    transactional: bool = True,
    value_bytes: int = 20,
) -> memoryview:
    records = [Record(0, 1000, b"key", bytes(value_bytes))] * count
    if producer_id < 0:
        return memoryview(encode_batch(records))
    return memoryview(
        encode_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def open_log(disk: CrashDisk) -> tuple[LogManager, PartitionLog]:
    manager = LogManager(disk, "/data", FakeClock(), SETTINGS)
    if manager.topic("orders") is None:
        manager.create_topic("orders", 1)
    return manager, manager.log("orders", 0)


@pytest.fixture
def disk() -> CrashDisk:
    return CrashDisk()


@pytest.fixture
def log(disk: CrashDisk) -> PartitionLog:
    return open_log(disk)[1]


def settle(log: PartitionLog) -> None:
    """Do what a group commit ends with."""
    log.write_staged()
    for work in log.take_unsynced():
        work.file.sync()
    log.high_watermark = log.log_end_offset


def end(log: PartitionLog, producer_id: int, *, commit: bool, epoch: int = 0) -> int:
    appended = log.append_marker(
        producer_id, epoch, commit=commit, coordinator_epoch=0, now_ms=2000
    )
    return appended.base_offset


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


def test_sequences_go_on_behind_a_marker_of_the_same_epoch(log: PartitionLog) -> None:
    log.append(batch_of(1, count=5))
    end(log, 1, commit=True)

    assert code_of(log, batch_of(1, 7)) == 45
    assert log.append(batch_of(1, 5)).base_offset == 6
    assert log.transaction_start(1) == 6


def test_a_control_batch_of_a_client_is_refused(log: PartitionLog) -> None:
    record = Record(0, 1000, b"\0\0\0\1", b"\0\0\0\0\0\0")
    batch = encode_batch(
        [record], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True, control=True
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


def test_an_aborted_transaction_is_told_where_its_records_are_read(log: PartitionLog) -> None:
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


def test_a_committed_transaction_is_not_told(log: PartitionLog) -> None:
    log.append(batch_of(1))
    end(log, 1, commit=True)
    settle(log)

    assert log.aborted_transactions(0, 2) == []


def test_the_marker_may_lie_some_segments_later(log: PartitionLog) -> None:
    log.append(batch_of(1))
    log.append(batch_of(2))
    for _ in range(5):
        log.append(batch_of(value_bytes=900))
    end(log, 2, commit=False)
    end(log, 1, commit=False)
    settle(log)

    found = log.read(0, 10**6, up_to_offset=log.last_stable_offset)
    told = log.aborted_in(found, log.last_stable_offset)

    assert found.size_bytes < log.size_bytes, "it ends with its segment"
    assert told == [AbortedTransaction(2, 1), AbortedTransaction(1, 0)]


def test_a_slice_is_told_of_its_own_transactions_and_not_of_all_that_follow(
    log: PartitionLog,
) -> None:
    for producer_id in range(100):
        log.append(batch_of(producer_id, value_bytes=200))
        end(log, producer_id, commit=False)
    settle(log)

    found = log.read(20, 1000, up_to_offset=log.last_stable_offset)
    told = log.aborted_in(found, log.last_stable_offset)

    assert [item.producer_id for item in told][:3] == [10, 11, 12]
    assert len(told) < 10


# What is kept.


def crashed(disk: CrashDisk) -> PartitionLog:
    return open_log(disk.kill())[1]


def test_a_start_finds_open_transactions_and_aborted_ones(disk: CrashDisk) -> None:
    _, log = open_log(disk)
    log.append(batch_of(1, epoch=2))
    log.append(batch_of(2))
    end(log, 2, commit=False)
    settle(log)

    found = crashed(disk)

    assert found.open_transactions() == [OpenTransaction(1, 2, 0)]
    assert found.last_stable_offset == 0
    assert found.aborted_transactions(0, 3) == [AbortedTransaction(2, 1)]


def test_a_recovery_point_keeps_them_without_reading_the_log_again(disk: CrashDisk) -> None:
    _, log = open_log(disk)
    log.append(batch_of(1, epoch=2))
    log.append(batch_of(2))
    log.append_marker(2, 0, commit=False, coordinator_epoch=9, now_ms=777)
    settle(log)
    point = log.take_recovery_point(bytes_min=0)
    assert point is not None
    point.write()

    found = crashed(disk)

    assert found.open_transactions() == [OpenTransaction(1, 2, 0)]
    assert found.aborted_transactions(0, 3) == [AbortedTransaction(2, 1)]
    assert found.active_producers() == log.active_producers()
    with pytest.raises(KafkaError):
        found.append_marker(2, 0, commit=True, coordinator_epoch=8, now_ms=0)


def test_a_stop_in_order_keeps_the_index_of_every_segment(disk: CrashDisk) -> None:
    manager, log = open_log(disk)
    for producer_id in range(40):
        log.append(batch_of(producer_id, value_bytes=500))
        end(log, producer_id, commit=producer_id % 2 == 0)
    settle(log)
    expected = log.aborted_transactions(0, 80)
    manager.close()

    _, found = open_log(disk)

    assert len(expected) == 20
    assert found.aborted_transactions(0, 80) == expected
    assert any(name.endswith(".txnindex") for name in disk.list(log.directory))


def test_a_damaged_index_is_built_again(disk: CrashDisk) -> None:
    manager, log = open_log(disk)
    log.append(batch_of(1))
    for _ in range(6):
        log.append(batch_of(value_bytes=900))
    end(log, 1, commit=False)
    for producer_id in range(2, 30):
        log.append(batch_of(producer_id, value_bytes=900))
        end(log, producer_id, commit=producer_id % 3 == 0)
    settle(log)
    up_to = log.log_end_offset
    expected = log.aborted_transactions(0, up_to)
    manager.close()
    for name in disk.list(log.directory):
        if name.endswith(".txnindex"):
            disk.open(f"{log.directory}/{name}").append([b"damage"])

    _, found = open_log(disk)

    assert len(expected) == 20
    assert found.aborted_transactions(0, up_to) == expected


def test_a_marker_that_a_crash_took_leaves_no_entry_behind(disk: CrashDisk) -> None:
    """The file of the index may be ahead of the log: a point was begun and not finished."""
    _, log = open_log(disk)
    log.append(batch_of(1))
    settle(log)
    point = log.take_recovery_point(bytes_min=0)
    assert point is not None
    point.write()
    end(log, 1, commit=False)
    log.write_staged()
    point = log.take_recovery_point(bytes_min=0)
    assert point is not None
    segment_file = disk.open(f"{log.directory}/{0:020d}.log")
    torn = segment_file.size_bytes - 5
    for tail in point.index_tails:
        disk.open(tail.path, create=True).append([tail.data])
    segment_file.truncate(torn)

    found = crashed(disk)

    assert found.open_transactions() == [OpenTransaction(1, 0, 0)]
    assert found.log_end_offset == 1
    end(found, 1, commit=True)
    settle(found)
    assert found.aborted_transactions(0, 2) == []
    assert not any(name.endswith(".txnindex") for name in disk.list(log.directory))


# What goes.


def test_a_producer_in_a_transaction_does_not_expire(log: PartitionLog) -> None:
    log.append(batch_of(1))
    log.append(batch_of(2, transactional=False))
    settle(log)
    for day in range(1, 9):
        log.delete_old_segments(day * DAY_MS)

    assert [producer.producer_id for producer in log.active_producers()] == [1]
    end(log, 1, commit=True)
    for day in range(9, 18):
        log.delete_old_segments(day * DAY_MS)
    assert log.active_producers() == []


def test_a_segment_that_is_deleted_takes_its_index_with_it(disk: CrashDisk) -> None:
    _, log = open_log(disk)
    for producer_id in range(10):
        log.append(batch_of(producer_id, value_bytes=900))
        end(log, producer_id, commit=False)
    settle(log)
    point = log.take_recovery_point(bytes_min=0)
    assert point is not None
    point.write()
    before = log.aborted_transactions(0, 20)

    log.advance_log_start(11)

    stems = {name.partition(".")[0] for name in disk.list(log.directory) if name.endswith(".log")}
    indexes = [name for name in disk.list(log.directory) if name.endswith(".txnindex")]
    assert {name.partition(".")[0] for name in indexes} <= stems
    assert log.aborted_transactions(11, 20) == before[5:]
    assert crashed(disk).aborted_transactions(11, 20) == before[5:]


def written_in_segments(disk: CrashDisk) -> tuple[PartitionLog, GroupCommit, memoryview]:
    """A batch of producer 1 in the first of several segments, all durable."""
    manager, log = open_log(disk)
    commit = manager.group_commit("fsync", lambda: None, threaded=False)
    first = batch_of(1, transactional=False)
    log.append(first)
    for _ in range(6):
        log.append(batch_of(value_bytes=900))
    log.write_staged()
    commit.request([log])
    commit.run_pending()
    log.high_watermark = log.log_end_offset
    return log, commit, first


def test_a_recovery_point_before_a_deletion_keeps_what_is_known_of_producers(
    disk: CrashDisk,
) -> None:
    log, commit, first = written_in_segments(disk)
    assert log.uncovered_below(log.log_end_offset)
    commit.request_points([log])
    commit.run_pending()
    assert not log.uncovered_below(log.log_end_offset)

    log.advance_log_start(5)

    assert crashed(disk).append(memoryview(bytearray(first))).duplicate


def test_without_one_a_crash_forgets_them(disk: CrashDisk) -> None:
    """Why `uncovered_below` is asked before segments go."""
    log, _, first = written_in_segments(disk)

    log.advance_log_start(5)

    assert not crashed(disk).append(memoryview(bytearray(first))).duplicate


def test_a_log_without_producers_needs_no_recovery_point_for_a_deletion(log: PartitionLog) -> None:
    for _ in range(6):
        log.append(batch_of(value_bytes=900))
    settle(log)

    assert not log.uncovered_below(log.log_end_offset)


def test_what_is_known_of_producers_is_told(log: PartitionLog) -> None:
    log.append(batch_of(1, count=3))
    log.append(batch_of(2, epoch=5, transactional=False))
    log.append_marker(3, 1, commit=True, coordinator_epoch=4, now_ms=50)

    told = {producer.producer_id: tuple(producer)[1:] for producer in log.active_producers()}

    assert told == {1: (0, 2, 1000, -1, 0), 2: (5, 0, 1000, -1, -1), 3: (1, -1, 50, 4, -1)}
