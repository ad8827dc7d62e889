"""A small data directory with one of everything, and the state that a broker serves from it."""

from typing import Any, Final

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.files.disk import Disk
from duolog.record import Record, encode_batch, whole_batches
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

DATA: Final = "/data"
SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 500,
    "log.index.interval.bytes": 150,
    "log.recovery.point.bytes": 10**9,
}
TOPIC: Final = "orders"
PARTITIONS: Final = 3


class SmallDirectory:
    """Fills a data directory: plain, idempotent and transactional batches in small segments."""

    def __init__(self, disk: CrashDisk) -> None:
        self.disk = disk
        self._sequences = dict.fromkeys(range(PARTITIONS), 0)
        self._turn = 0
        self.start()

    def start(self) -> None:
        self.manager = LogManager(self.disk, DATA, FakeClock(), SETTINGS)
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        if self.manager.topics.get(TOPIC) is None:
            self.manager.topics.create(TOPIC, PARTITIONS, {"index.interval.bytes": "150"})
        self.logs = [self.manager.log(TOPIC, partition) for partition in range(PARTITIONS)]

    def write(self, turns: int) -> None:
        """Append to each partition, a batch a turn: every third transaction is aborted."""
        for _ in range(turns):
            self._turn += 1
            for partition, log in enumerate(self.logs):
                self._append(partition, log)
                if self._turn % 2 == 0:
                    log.append_marker(
                        7, 0, commit=self._turn % 6 != 0, coordinator_epoch=0, now_ms=self._turn
                    )
        self.settle()

    def _append(self, partition: int, log: PartitionLog) -> None:
        records = 1 + (self._turn + partition) % 3
        sequence = self._sequences[partition]
        producer = BatchProducer(7, 0, sequence, transactional=True)
        if self._turn % 5 == 0:
            producer = BatchProducer(-1, -1, -1)
        else:
            self._sequences[partition] += records
        stamped = [
            Record(0, 1000 + 7 * self._turn + i, b"key", bytes(range(10 * partition)))
            for i in range(records)
        ]
        log.append(memoryview(encode_batch(stamped, producer=producer)))

    def settle(self) -> None:
        for log in self.logs:
            log.write_staged()
        ticket = self.commit.request(self.logs)
        self.commit.run_pending()
        assert self.commit.completed_ticket >= ticket
        for log in self.logs:
            log.high_watermark = log.log_end_offset

    def set_points(self) -> None:
        self.commit.request_points(self.logs)
        self.commit.run_pending()

    def stop(self) -> None:
        self.commit.close()
        self.manager.close()


def small_directory(*, stopped: bool = True) -> CrashDisk:
    """Return a disk with the directory; after a kill without `stopped`."""
    disk = CrashDisk()
    directory = SmallDirectory(disk)
    directory.write(6)
    directory.set_points()
    directory.stop()
    directory.start()
    directory.write(5)
    directory.set_points()
    directory.logs[2].advance_log_start(9)
    directory.manager.write_meta("producer-ids", b"1000")
    directory.manager.write_meta("dynamic-configs", b'{"4": {"0": {"log.retention.ms": "1"}}}')
    directory.write(2)
    if not stopped:
        return disk.kill()
    directory.stop()
    return disk


def served(disk: Disk) -> dict[str, Any]:
    """Return all that a broker would serve from a directory, which is not changed.

    Leader epochs in batches are left out.
    """
    manager = LogManager(OverlayDisk(disk), DATA, FakeClock(), SETTINGS)
    state: dict[str, Any] = {
        "cluster": manager.cluster_id,
        "kept": {name: manager.read_meta(name) for name in ("producer-ids", "dynamic-configs")},
        "refused": sorted(manager.logs.refused),
    }
    for entry in manager.topics.entries():
        for partition in range(entry.partitions):
            if (entry.name, partition) not in manager.logs.refused:
                log = manager.log(entry.name, partition)
                state[f"{entry.name}-{partition}"] = _served_log(log), dict(entry.configs)
    manager.logs.release()
    return state


def _served_log(log: PartitionLog) -> tuple[object, ...]:
    start, end = log.log_start_offset, log.log_end_offset
    batches, offset = [], start
    while offset < end:
        for header, batch in whole_batches(log.read_bytes(offset, 10**6, up_to_offset=end)):
            batches.append((header.base_offset, bytes(batch[:12]), bytes(batch[16:])))
            offset = header.next_offset
    aborted = [
        [tuple(one) for one in log.aborted_transactions(first, end)] for first in range(start, end)
    ]
    times = [log.offset_for_timestamp(stamp) for stamp in range(1000, 1130, 3)]
    producers = [
        (one.producer_id, one.producer_epoch, one.last_sequence, one.transaction_start)
        for one in log.active_producers()
    ]
    return start, end, batches, aborted, times, producers


def files_of(disk: Disk, directory: str = DATA) -> list[str]:
    """Return the paths of all files below a directory."""
    found = []
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        try:
            disk.open(path)
        except IsADirectoryError:
            found += files_of(disk, path)
        else:
            found.append(path)
    return found


def flipped(disk: Disk, path: str, bit: int) -> OverlayDisk:
    """Return the disk with one bit of a file flipped."""
    overlay = OverlayDisk(disk)
    file = overlay.open(path)
    position, mask = bit // 8, 1 << bit % 8
    file.pwrite(position, bytes([file.pread(position, 1)[0] ^ mask]))
    return overlay
