"""After a crash, and after the start that recovers from it, the doctor finds nothing."""

import pytest

from duolog.log import LogManager
from duolog.log.checkpoints.log_start import read_log_start
from duolog.log.doctor import salvage
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.files.disk import Disk, read_file
from duolog.record import whole_batches
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from property.doctor_crashes import crashed_disks, findings_after_crashes, problems
from unit.log.doctor.small_directory import files_of

SEEDS = 10_000
SAMPLE = 90
SALVAGED = 30
PART = 500


def found_with(seeds: range) -> list[tuple[int, str, list[str]]]:
    return [
        (seed, when, found)
        for seed in seeds
        for when, found in findings_after_crashes(seed)
        if found
    ]


def test_the_doctor_finds_nothing_after_a_crash_and_its_recovery() -> None:
    assert found_with(range(SAMPLE)) == []


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_the_doctor_finds_nothing_after_ten_thousand_crashes(first: int) -> None:
    assert found_with(range(first, first + PART)) == []


def whole_batches_on(disk: Disk) -> dict[tuple[str, int], bytes]:
    """Return all batches that are not deleted, by partition directory and base offset."""
    found = {}
    for path in files_of(disk):
        if path.endswith(".log"):
            directory = path.rpartition("/")[0]
            for header, batch in whole_batches(read_file(disk, path) or b""):
                if header.next_offset > read_log_start(disk, directory):
                    found[directory, header.base_offset] = bytes(batch)
    return found


@pytest.mark.parametrize("seed", range(SALVAGED))
def test_salvage_after_a_crash_keeps_what_a_start_would_serve(seed: int) -> None:
    for _, disk in crashed_disks(seed):
        if problems(disk) or not disk.list("/data/topics"):
            continue
        started, out = OverlayDisk(disk), CrashDisk()
        LogManager(started, "/data", FakeClock(), {}).logs.release()

        salvage(disk, "/data", out, "/data")

        kept = whole_batches_on(started)
        again = OverlayDisk(out)
        manager = LogManager(again, "/data", FakeClock(), {})
        assert manager.logs.refused == {}
        assert kept.items() <= whole_batches_on(again).items()
        manager.logs.release()
