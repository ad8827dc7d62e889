"""A start recovers transactions and producers, and deleted segments take their indexes with them."""

from typing import Final

import pytest

from duolog.core.errors import KafkaError
from duolog.log import GroupCommit, PartitionLog
from duolog.log.producers.aborted_index import AbortedTransaction
from duolog.log.producers.transactions import OpenTransaction
from duolog.testing.disk import CrashDisk
from unit.log.producers.transaction_log import batch_of, end, open_log, settle

DAY_MS: Final = 86_400_000


@pytest.fixture
def disk() -> CrashDisk:
    return CrashDisk()


@pytest.fixture
def log(disk: CrashDisk) -> PartitionLog:
    return open_log(disk)[1]


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
    assert list(found.active_producers()) == list(log.active_producers())
    with pytest.raises(KafkaError):
        found.append_marker(2, 0, commit=True, coordinator_epoch=8, now_ms=0)


def test_a_crash_keeps_the_epoch_of_the_coordinator(disk: CrashDisk) -> None:
    _, log = open_log(disk)
    log.append(batch_of(2))
    log.append_marker(2, 0, commit=True, coordinator_epoch=9, now_ms=777)
    settle(log)

    found = crashed(disk)

    assert [producer.coordinator_epoch for producer in found.active_producers()] == [9]
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


def test_a_marker_lost_in_a_crash_leaves_no_entry(disk: CrashDisk) -> None:
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
    assert list(log.active_producers()) == []


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
    """The reason to check `uncovered_below` before segments are deleted."""
    log, _, first = written_in_segments(disk)

    log.advance_log_start(5)

    assert not crashed(disk).append(memoryview(bytearray(first))).duplicate


def test_a_log_without_producers_needs_no_recovery_point_for_a_deletion(log: PartitionLog) -> None:
    for _ in range(6):
        log.append(batch_of(value_bytes=900))
    settle(log)

    assert not log.uncovered_below(log.log_end_offset)


def test_producer_state_is_described(log: PartitionLog) -> None:
    log.append(batch_of(1, count=3))
    log.append(batch_of(2, epoch=5, transactional=False))
    log.append_marker(3, 1, commit=True, coordinator_epoch=4, now_ms=50)

    reported = {producer.producer_id: tuple(producer)[1:] for producer in log.active_producers()}

    assert reported == {1: (0, 2, 1000, -1, 0), 2: (5, 0, 1000, -1, -1), 3: (1, -1, 50, 4, -1)}
