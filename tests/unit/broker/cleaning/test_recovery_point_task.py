"""A start after a crash reads no more than it should, however many partitions there are."""

from collections.abc import Callable

from duolog.broker.cleaning.recovery_point_task import RecoveryPoints
from duolog.core.clock import SystemClock
from duolog.log.log_manager import LogManager
from duolog.record.records import Record, encode_batch
from duolog.testing.disk import CrashDisk

PARTITIONS = 10


class Timers:
    """Holds what is planned until the test calls it."""

    def __init__(self) -> None:
        self.planned: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.planned.append((seconds, call))

    def run_one(self) -> float:
        seconds, call = self.planned.pop(0)
        call()
        return seconds


def written(disk: CrashDisk) -> LogManager:
    manager = LogManager(disk, "/data", SystemClock(), {"durability": "os"})
    manager.topics.create("many", PARTITIONS)
    for partition in range(PARTITIONS):
        log = manager.log("many", partition)
        log.append(memoryview(encode_batch([Record(0, 1, None, bytes(1000))])))
        log.write_staged()
    return manager


def test_points_are_set_until_the_sum_is_in_bounds_and_hold_after_a_crash() -> None:
    disk = CrashDisk()
    manager = written(disk)
    commit = manager.group_commit("os", lambda: None, threaded=False)
    timers = Timers()
    points = RecoveryPoints(timers, manager, commit, 4000)  # type: ignore[arg-type]
    points.start()

    waits = [timers.run_one() for _ in range(4)]
    commit.run_pending()

    assert waits == [1.0, 0.1, 0.1, 1.0]
    assert sum(log.unsaved_bytes for log in manager.logs) <= 4000
    after = LogManager(disk.crash(seed=1), "/data", SystemClock(), {})
    saved = [log for log in after.logs if log.log_end_offset == 1]
    assert len(saved) >= PARTITIONS - 4000 // 1000
    assert [log.unsaved_bytes for log in saved].count(0) >= PARTITIONS - 4000 // 1000


def test_nothing_is_planned_once_the_log_directory_is_offline() -> None:
    disk = CrashDisk()
    manager = written(disk)
    commit = manager.group_commit("os", lambda: None, threaded=False)
    timers = Timers()
    RecoveryPoints(timers, manager, commit, 1).start()  # type: ignore[arg-type]
    manager.health.fail(OSError("gone"), "testing")

    timers.run_one()

    assert timers.planned == []
