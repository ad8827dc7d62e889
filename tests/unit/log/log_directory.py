"""A data directory that tests open, fill, kill and open again."""

from typing import Final

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 1500,
    "log.index.interval.bytes": 200,
}


def open_manager(disk: CrashDisk, **settings: Value) -> LogManager:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return LogManager(disk, "/data", FakeClock(), {**SETTINGS, **named})


def fill(log: PartitionLog, batches: int, *, producer_id: int = -1) -> None:
    for number in range(batches):
        batch = encode_batch(
            [Record(0, 1000 + number, b"k", bytes(100))],
            producer=BatchProducer(
                producer_id, 0 if producer_id >= 0 else -1, number if producer_id >= 0 else -1
            ),
        )
        log.append(memoryview(batch))
    log.write_staged()
    log.high_watermark = log.log_end_offset


def killed(disk: CrashDisk) -> CrashDisk:
    """Return the disk after the process was killed: all is written, nothing is closed."""
    for name in disk.list("/data/topics"):
        for partition in disk.list(f"/data/topics/{name}"):
            directory = f"/data/topics/{name}/{partition}"
            for file in disk.list(directory):
                disk.open(f"{directory}/{file}").sync()
            if partition.isdigit():
                disk.sync_dir(directory)
        disk.sync_dir(f"/data/topics/{name}")
    return disk.crash(0)
