from collections.abc import Callable
from typing import Final

import pytest

from duolog.core.errors import KafkaError
from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.errors import CorruptLog, LogDirOffline, OffsetOutOfRange
from duolog.record import Record, encode_batch, whole_batches
from duolog.record.batch import HEADER, read_header, seal_batch
from duolog.record.compression import Compression
from duolog.record.errors import InvalidRecord
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 2000,
    "log.index.interval.bytes": 200,
    "log.retention.ms": 10_000,
}


def batch_of(
    count: int = 1,
    *,
    timestamp_ms: int = 1000,
    value_bytes: int = 20,
    producer_id: int = -1,
    epoch: int = 0,
    sequence: int = 0,
) -> memoryview:
    records = [Record(0, timestamp_ms + i, b"key", bytes(value_bytes)) for i in range(count)]
    return memoryview(
        encode_batch(
            records,
            producer=BatchProducer(
                producer_id, epoch if producer_id >= 0 else -1, sequence if producer_id >= 0 else -1
            ),
        )
    )


def open_manager(disk: CrashDisk, **settings: Value) -> LogManager:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return LogManager(disk, "/data", FakeClock(), {**SETTINGS, **named})


@pytest.fixture
def disk() -> CrashDisk:
    return CrashDisk()


@pytest.fixture
def manager(disk: CrashDisk) -> LogManager:
    manager = open_manager(disk)
    manager.topics.create("orders", 2)
    return manager


@pytest.fixture
def log(manager: LogManager) -> PartitionLog:
    return manager.log("orders", 0)


def append_all(log: PartitionLog, *batches: memoryview) -> list[int]:
    offsets = [log.append(batch).base_offset for batch in batches]
    log.write_staged()
    log.high_watermark = log.log_end_offset
    return offsets


def offsets_read(log: PartitionLog, start: int, max_bytes: int = 10**6) -> list[int]:
    data = log.read_bytes(start, max_bytes, up_to_offset=log.high_watermark)
    return [header.base_offset for header, _ in whole_batches(data)]


# Appending.


def test_offsets_and_leader_epoch_are_written_into_the_batch(log: PartitionLog) -> None:
    first, second = batch_of(3), batch_of(2)

    assert append_all(log, first, second) == [0, 3]
    headers = [header for header, _ in whole_batches(log.read_bytes(0, 10**6, up_to_offset=5))]

    assert [(h.base_offset, h.last_offset) for h in headers] == [(0, 2), (3, 4)]
    assert [h.partition_leader_epoch for h in headers] == [log.leader_epoch] * 2
    assert log.log_end_offset == 5


def _flip(batch: memoryview) -> memoryview:
    batch[-1] ^= 1
    return batch


def _short(batch: memoryview) -> memoryview:
    return batch[:-1]


def _stub(batch: memoryview) -> memoryview:
    return batch[:20]


def _old(batch: memoryview) -> memoryview:
    batch[16] = 1
    return batch


def _attributes(bits: int) -> Callable[[memoryview], memoryview]:
    def damage(batch: memoryview) -> memoryview:
        return _resealed(batch, 22, bits.to_bytes(1, "big"))

    return damage


def _count(batch: memoryview) -> memoryview:
    return _resealed(batch, 57, (5).to_bytes(4, "big"))


def _empty(batch: memoryview) -> memoryview:
    return _resealed(_resealed(batch, 57, bytes(4)), 23, b"\xff" * 4)


def _resealed(batch: memoryview, position: int, data: bytes) -> memoryview:
    from crc32c import crc32c  # noqa: PLC0415

    batch[position : position + len(data)] = data
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    return batch


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (_flip, 2),
        (_short, 87),
        (_stub, 2),
        (_old, 87),
        (_attributes(0x20), 87),
        (_attributes(0x08), 32),
        (_attributes(0x05), 87),
        (_count, 87),
        (_empty, 87),
    ],
)
def test_a_bad_batch_is_refused_with_kafkas_code_and_nothing_is_written(
    log: PartitionLog, damage: Callable[[memoryview], memoryview], code: int
) -> None:
    with pytest.raises(KafkaError) as caught:
        log.append(damage(batch_of()))

    assert caught.value.code == code
    assert append_all(log, batch_of()) == [0]


def test_a_batch_above_max_message_bytes_is_too_large(manager: LogManager) -> None:
    manager.topics.create("small", 1, {"max.message.bytes": "100"})

    with pytest.raises(KafkaError) as caught:
        manager.log("small", 0).append(batch_of(value_bytes=200))

    assert caught.value.code == 10


def test_the_brokers_own_time_is_taken_where_the_topic_says_so(manager: LogManager) -> None:
    manager.topics.create("stamped", 1, {"message.timestamp.type": "LogAppendTime"})

    appended = manager.log("stamped", 0).append(_attributes(0x08)(batch_of()))

    assert appended.base_offset == 0


def test_a_repeated_batch_gets_its_first_offset_and_is_not_written(log: PartitionLog) -> None:
    append_all(log, batch_of(2, producer_id=9, sequence=0))
    append_all(log, batch_of(2))

    again = log.append(batch_of(2, producer_id=9, sequence=0))

    assert (again.base_offset, again.last_offset, again.duplicate) == (0, 1, True)
    assert log.log_end_offset == 4


@pytest.mark.parametrize(("epoch", "sequence", "code"), [(1, 5, 45), (0, 2, 47)])
def test_sequences_and_epochs_are_checked(
    log: PartitionLog, epoch: int, sequence: int, code: int
) -> None:
    append_all(log, batch_of(2, producer_id=9, epoch=1))

    with pytest.raises(KafkaError) as caught:
        log.append(batch_of(1, producer_id=9, epoch=epoch, sequence=sequence))

    assert caught.value.code == code


def test_a_segment_is_rolled_by_size(disk: CrashDisk, log: PartitionLog) -> None:
    append_all(log, *[batch_of(value_bytes=500) for _ in range(7)])

    segments = [name for name in disk.list(log.directory) if name.endswith(".log")]

    assert segments == [f"{base:020d}.log" for base in (0, 3, 6)]
    assert max(disk.size(f"{log.directory}/{name}") for name in segments) <= 2000


def test_a_segment_is_rolled_by_age_of_its_records(disk: CrashDisk, manager: LogManager) -> None:
    manager.topics.create("aged", 1, {"segment.ms": "1000"})
    log = manager.log("aged", 0)

    append_all(log, *[batch_of(timestamp_ms=t) for t in (5000, 6000, 6001, 7001, 7002)])

    segments = [name[:20] for name in disk.list(log.directory) if name.endswith(".log")]
    assert [int(name) for name in segments] == [0, 2, 4]


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(log: PartitionLog) -> None:
    append_all(log, batch_of(), batch_of(value_bytes=5000), batch_of())

    assert offsets_read(log, 0) == [0]
    assert offsets_read(log, 1) == [1]
    assert offsets_read(log, 2) == [2]


# Reading.


def test_a_read_begins_with_the_batch_that_holds_the_offset(log: PartitionLog) -> None:
    append_all(log, batch_of(3), batch_of(3))

    assert offsets_read(log, 2) == [0, 3]
    assert log.read(2, 10**6, up_to_offset=6).first_offset == 0
    assert offsets_read(log, 4) == [3]


def test_the_first_batch_comes_whole_even_if_it_is_too_large(log: PartitionLog) -> None:
    append_all(log, batch_of(value_bytes=300), batch_of())

    assert offsets_read(log, 0, max_bytes=10) == [0]
    assert offsets_read(log, 0, max_bytes=0) == [0]


def test_a_read_stops_at_whole_batches_within_its_limit(log: PartitionLog) -> None:
    size = len(batch_of())
    append_all(log, *[batch_of() for _ in range(15)])

    for count in range(1, 15):
        assert len(offsets_read(log, 0, max_bytes=size * (count + 1) - 1)) == count


def test_nothing_above_the_bound_is_read_and_nothing_staged(log: PartitionLog) -> None:
    append_all(log, batch_of(2), batch_of(2), batch_of(2))
    log.append(batch_of())

    assert [h.base_offset for h, _ in whole_batches(log.read_bytes(0, 999, up_to_offset=4))] == [
        0,
        2,
    ]
    assert log.read(6, 999, up_to_offset=7).size_bytes == 0
    assert log.read(4, 999, up_to_offset=4).file is None


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_outside_the_log_is_out_of_range(log: PartitionLog, offset: int) -> None:
    append_all(log, batch_of(2))

    with pytest.raises(OffsetOutOfRange) as caught:
        log.read(offset, 100, up_to_offset=2)
    assert caught.value.code == 1


def test_every_offset_is_found_across_segments(log: PartitionLog) -> None:
    append_all(log, *[batch_of(1 + n % 3, value_bytes=90) for n in range(60)])

    for offset in range(log.log_end_offset):
        batch = log.read_bytes(offset, 1, up_to_offset=log.log_end_offset)
        header, _ = next(whole_batches(batch))
        assert header.base_offset <= offset <= header.last_offset


def test_a_record_is_found_by_its_time(log: PartitionLog) -> None:
    append_all(log, *[batch_of(2, timestamp_ms=1000 + 10 * n) for n in range(60)])

    for wanted, timestamp, offset in ((0, 1000, 0), (1001, 1001, 1), (1002, 1010, 2)):
        found = log.offset_for_timestamp(wanted)
        assert found is not None
        assert (found.timestamp_ms, found.offset) == (timestamp, offset)
    last = log.offset_for_timestamp(1591)
    assert last is not None
    assert last.offset == 119
    assert log.offset_for_timestamp(1592) is None


def test_a_record_before_the_log_start_is_not_found_by_its_time(log: PartitionLog) -> None:
    """The batch of the record is still there, with records after the log start."""
    append_all(log, batch_of(4, timestamp_ms=1000))
    log.high_watermark = 4
    log.advance_log_start(2)

    found = log.offset_for_timestamp(0)

    assert found is not None
    assert (found.offset, found.timestamp_ms) == (2, 1002)


def test_times_out_of_order_give_the_first_record_that_is_late_enough(log: PartitionLog) -> None:
    append_all(log, *[batch_of(timestamp_ms=t) for t in (50, 10, 70, 20, 70, 90, 30)])

    found = log.offset_for_timestamp(60)
    newest = log.max_timestamp()

    assert found is not None
    assert found.offset == 2
    assert newest is not None
    assert (newest.timestamp_ms, newest.offset) == (90, 5)


def test_an_empty_log_has_no_times(log: PartitionLog) -> None:
    assert log.max_timestamp() is None
    assert log.offset_for_timestamp(0) is None


def test_bytes_that_were_changed_on_disk_are_not_served_as_an_endless_or_torn_batch(
    disk: CrashDisk, log: PartitionLog
) -> None:
    append_all(log, *[batch_of() for _ in range(10)])
    path = f"{log.directory}/{0:020d}.log"
    disk.open(path).pwrite(8, b"\xff\xff\xff\xf4")  # The length -12: a batch of no bytes.

    with pytest.raises(CorruptLog):
        log.read(1, 100, up_to_offset=10)


# Retention.


def test_old_segments_are_deleted_and_the_log_starts_later(log: PartitionLog) -> None:
    append_all(log, *[batch_of(timestamp_ms=1000 * n, value_bytes=500) for n in range(9)])

    deleted = log.delete_old_segments(now_ms=15_001)

    assert deleted == 2
    assert log.log_start_offset == 6
    with pytest.raises(OffsetOutOfRange):
        log.read(5, 100, up_to_offset=9)
    assert offsets_read(log, 6) == [6, 7, 8]


def test_retention_may_take_the_active_segment_too(log: PartitionLog) -> None:
    append_all(log, batch_of(timestamp_ms=1))

    assert log.delete_old_segments(now_ms=10**9) == 1
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    assert append_all(log, batch_of()) == [1]


def test_retention_never_takes_what_is_above_the_high_watermark(log: PartitionLog) -> None:
    append_all(log, *[batch_of(timestamp_ms=1, value_bytes=500) for _ in range(9)])
    log.high_watermark = 4

    assert log.delete_old_segments(now_ms=10**9) == 1
    assert log.log_start_offset == 3


def test_a_record_of_just_the_retention_time_stays(manager: LogManager) -> None:
    manager.topics.create("aged", 1, {"retention.ms": "1000"})
    log = manager.log("aged", 0)
    append_all(log, batch_of(timestamp_ms=1))

    assert log.delete_old_segments(now_ms=1001) == 0
    assert log.delete_old_segments(now_ms=1002) == 1


def test_retention_by_size_leaves_at_least_that_size(manager: LogManager) -> None:
    manager.topics.create("sized", 1, {"retention.bytes": "4000", "retention.ms": "-1"})
    log = manager.log("sized", 0)
    append_all(log, *[batch_of(value_bytes=500) for _ in range(12)])

    log.delete_old_segments(now_ms=10**12)

    assert 4000 <= log.size_bytes < 6000


def test_a_compacted_topic_loses_nothing_by_age(manager: LogManager) -> None:
    manager.topics.create("table", 1, {"cleanup.policy": "compact"})
    log = manager.log("table", 0)
    append_all(log, batch_of(timestamp_ms=1))

    assert log.delete_old_segments(now_ms=10**12) == 0


def test_a_slice_stays_readable_after_its_segment_was_deleted(log: PartitionLog) -> None:
    append_all(log, *[batch_of(value_bytes=500) for _ in range(7)])
    held = log.read(0, 10**6, up_to_offset=7)

    log.advance_log_start(6)

    assert held.file is not None
    data = held.file.pread(held.position, held.size_bytes)
    assert [header.base_offset for header, _ in whole_batches(data)] == [0, 1, 2]


def test_the_log_start_may_lie_inside_a_batch_but_not_above_the_high_watermark(
    disk: CrashDisk, manager: LogManager, log: PartitionLog
) -> None:
    append_all(log, batch_of(4), batch_of(4))

    log.advance_log_start(2)
    with pytest.raises(OffsetOutOfRange):
        log.advance_log_start(9)

    manager.close()
    again = open_manager(disk).log("orders", 0)
    assert again.log_start_offset == 2
    assert offsets_read(again, 2) == [0, 4]


# A disk that fails.


def test_a_failed_write_takes_the_directory_offline_but_reads_continue(
    disk: CrashDisk, manager: LogManager, log: PartitionLog
) -> None:
    append_all(log, batch_of())
    disk.fail("append", OSError(28, "No space left on device"))
    log.append(batch_of())

    with pytest.raises(LogDirOffline) as caught:
        log.write_staged()
    disk.heal()

    assert caught.value.code == 56
    assert offsets_read(log, 0) == [0]
    other = manager.log("orders", 1)
    other.append(batch_of())
    with pytest.raises(LogDirOffline):
        other.write_staged()
    with pytest.raises(LogDirOffline):
        manager.topics.create("more", 1)


def test_files_taken_for_a_sync_are_not_taken_again(log: PartitionLog) -> None:
    spans = []
    for _ in range(3):
        append_all(log, batch_of())
        spans += [(work.start, work.end) for work in log.take_unsynced()]

    size = len(batch_of())
    assert spans == [(0, size), (size, 2 * size), (2 * size, 3 * size)]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_batch_that_claims_more_records_than_its_bytes_hold_is_refused(
    codec: Compression,
) -> None:
    batch = encode_batch([Record(0, 1, b"k", b"v" * 30)], compression=codec)
    claimed = 8 if codec is Compression.NONE else 2**31 - 1
    header = read_header(batch)._replace(records_count=claimed, last_offset_delta=claimed - 1)
    HEADER.pack_into(batch, 0, *header)
    seal_batch(batch)
    manager = open_manager(CrashDisk())
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)

    with pytest.raises(InvalidRecord, match="cannot hold"):
        log.append(memoryview(batch))

    assert log.log_end_offset == 0
