import errno
from pathlib import Path

import pytest

from duolog.testing.local_broker.faults import FillableDisk, ShiftedClock


def test_a_full_disk_refuses_writes_and_keeps_what_is_there(tmp_path: Path) -> None:
    disk = FillableDisk()
    file = disk.open(str(tmp_path / "segment"), create=True)
    file.append([b"before"])

    disk.full = True
    with pytest.raises(OSError, match="No space") as caught:
        file.append([b"refused"])
    with pytest.raises(OSError, match="No space"):
        file.pwrite(0, b"refused")
    disk.full = False
    file.append([b", after"])

    assert caught.value.errno == errno.ENOSPC
    assert file.pread(0, 100) == b"before, after"
    file.close()


def test_the_wall_clock_moves_alone_unless_timers_are_asked_for() -> None:
    clock = ShiftedClock()
    wall, monotonic = clock.now_ms(), clock.monotonic()

    clock.advance(3_600_000, timers=False)
    wall_moved, monotonic_stayed = clock.now_ms() - wall, clock.monotonic() - monotonic
    clock.advance(3_600_000, timers=True)
    monotonic_moved = clock.monotonic() - monotonic

    assert wall_moved >= 3_600_000
    assert monotonic_stayed < 3600
    assert monotonic_moved >= 3600


def test_the_wall_clock_goes_back_and_the_monotonic_one_does_not() -> None:
    clock = ShiftedClock()
    clock.advance(3_600_000, timers=True)
    wall, monotonic = clock.now_ms(), clock.monotonic()

    clock.advance(-3_600_000, timers=False)

    assert clock.now_ms() < wall
    assert clock.monotonic() >= monotonic
