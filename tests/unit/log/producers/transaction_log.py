"""A log with transactions in memory, and what tests do to it."""

from typing import Final

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

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
            producer=BatchProducer(producer_id, epoch, sequence, transactional=transactional),
        )
    )


def open_log(disk: CrashDisk) -> tuple[LogManager, PartitionLog]:
    manager = LogManager(disk, "/data", FakeClock(), SETTINGS)
    if manager.topics.get("orders") is None:
        manager.topics.create("orders", 1)
    return manager, manager.log("orders", 0)


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
