import pytest

from duolog.log.checkpoints import recovery_point
from duolog.log.checkpoints.recovery_point import (
    RecoveryPoint,
    RecoveryPointWrite,
    read_recovery_point,
)
from duolog.log.files.checked_file import encode_checked
from duolog.log.files.disk import Disk, make_durable_dir
from duolog.testing.disk import CrashDisk, PowerLost

OLD = RecoveryPoint(0, 700, 9)
NEW = RecoveryPoint(100, 1900, 130, b"producers" * 200)


def write_of(disk: Disk, point: RecoveryPoint) -> RecoveryPointWrite:
    return RecoveryPointWrite(disk, "/data/t/0", (), (), b"0\n0\n", point)


def points_after_a_crash_at(change: int) -> list[RecoveryPoint | None]:
    """Return what is found with each of some seeds; none where the write was done by then."""
    disk = CrashDisk()
    make_durable_dir(disk, "/data/t/0")
    write_of(disk, OLD).write()
    disk.power_off_after(operations=change)
    try:
        write_of(disk, NEW).write()
    except PowerLost:
        return [read_recovery_point(disk.crash(seed), "/data/t/0") for seed in range(20)]
    return []


def test_a_crash_leaves_the_old_recovery_point_or_the_new_one() -> None:
    found: list[RecoveryPoint | None] = []
    change = 0
    while points := points_after_a_crash_at(change):
        found += points
        change += 1

    assert change > 8
    assert all(point in (OLD, NEW) for point in found)
    assert OLD in found
    assert NEW in found


def test_a_recovery_point_that_is_written_in_place_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test of the test above."""

    def write_in_place(disk: Disk, directory: str, name: str, content: bytes) -> None:
        file = disk.open(f"{directory}/{name}", create=True)
        file.truncate(0)
        file.append([encode_checked(name, content)])
        file.sync()
        disk.sync_dir(directory)

    monkeypatch.setattr(recovery_point, "write_checked", write_in_place)

    with pytest.raises(AssertionError):
        test_a_crash_leaves_the_old_recovery_point_or_the_new_one()
