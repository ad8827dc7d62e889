"""Damage of every kind is found, or a broker serves the same as without it."""

from random import Random
from typing import Any

import pytest

from duolog.log.doctor import Report, Severity, examine
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.errors import DataDirRefused
from duolog.log.files.disk import Disk, read_file
from duolog.testing.disk import CrashDisk
from unit.log.doctor.small_directory import (
    DATA,
    TOPIC,
    files_of,
    flipped,
    served,
    small_directory,
)

SAMPLE = 40
DEEP_PARTS = 40


@pytest.fixture(scope="module", params=["stopped", "killed", "moved"])
def disk(request: pytest.FixtureRequest) -> CrashDisk:
    """A directory after a clean stop, after a kill, and copied to another machine after a kill."""
    made = small_directory(stopped=request.param == "stopped")
    made.boots += request.param == "moved"
    return made


@pytest.fixture(scope="module")
def state(disk: CrashDisk) -> dict[str, Any]:
    return served(disk)


def found_in(disk: Disk) -> str:
    """Return the findings that are not notes, as a text."""
    try:
        return wrong(examine(disk, DATA))
    except DataDirRefused as refused:
        return refused.message


def wrong(report: Report) -> str:
    return "\n".join(
        f"{one.severity} {one.place.path} {one.place.partition} {one.place.offset} {one.problem}"
        for one in report.findings
        if one.severity is not Severity.NOTE
    )


def unnoticed(damaged: Disk, state: dict[str, Any]) -> bool:
    """Return whether damage has consequences that the doctor does not report."""
    return not found_in(damaged) and served(damaged) != state


def unnoticed_bits(
    disk: CrashDisk, state: dict[str, Any], part: int, parts: int, random: Random | None
) -> list[tuple[str, int]]:
    bits = [(path, bit) for path in files_of(disk) for bit in range(8 * disk.size(path))]
    chosen = random.sample(bits, SAMPLE) if random else bits[part::parts]
    return [(path, bit) for path, bit in chosen if unnoticed(flipped(disk, path, bit), state)]


def test_nothing_is_found_in_a_whole_directory(disk: CrashDisk) -> None:
    report = examine(disk, DATA)

    assert report.healthy
    assert report.topics == 1
    assert report.counts.partitions == 3
    assert report.counts.segments == len([p for p in files_of(disk) if p.endswith(".log")])
    assert report.counts.batches > 70


def test_a_flipped_bit_is_found_or_changes_nothing_that_is_served(
    disk: CrashDisk, state: dict[str, Any]
) -> None:
    assert unnoticed_bits(disk, state, 0, 1, Random(11)) == []  # noqa: S311 - chance


@pytest.mark.deep
@pytest.mark.parametrize("part", range(DEEP_PARTS))
def test_each_flipped_bit_is_found_or_changes_nothing_that_is_served(
    disk: CrashDisk, state: dict[str, Any], part: int
) -> None:
    assert unnoticed_bits(disk, state, part, DEEP_PARTS, None) == []


def tails(disk: CrashDisk) -> list[tuple[str, int]]:
    """Return each size that the last segment of each partition, or another file, can be cut to."""
    last: dict[str, str] = {}
    for path in files_of(disk):
        directory, _, name = path.rpartition("/")
        last[directory if name.endswith(".log") else path] = path
    return [(path, size) for path in last.values() for size in range(disk.size(path))]


def test_a_file_that_is_cut_anywhere_is_found_or_changes_nothing(
    disk: CrashDisk, state: dict[str, Any]
) -> None:
    random = Random(5)  # noqa: S311 - chance
    for path, size in random.sample(tails(disk), SAMPLE):
        cut = OverlayDisk(disk)
        cut.open(path).truncate(size)

        if examine(cut, DATA).healthy and served(cut) != state:
            # Without a clean stop, only records that were synced after the last noted end may go.
            assert ".log" in path
            assert read_file(disk, f"{DATA}/clean-shutdown") is None


def test_a_zero_filled_tail_is_found_or_cut_by_the_next_start(
    disk: CrashDisk, state: dict[str, Any]
) -> None:
    for path in files_of(disk):
        filled = OverlayDisk(disk)
        file = filled.open(path)
        file.append([bytes(700)])

        # After a power failure zeros are the trace of a write that nobody was promised.
        noted = [one.problem for one in examine(filled, DATA).findings if "cuts" in one.problem]
        assert noted or not unnoticed(filled, state), path


def test_a_missing_file_is_found_or_changes_nothing(disk: CrashDisk, state: dict[str, Any]) -> None:
    allowed = {"clean-shutdown", "dynamic-configs", "producer-ids", "log-start-offset"}
    for path in files_of(disk):
        if path.rpartition("/")[2] in allowed:  # Nothing on disk says that there was one.
            continue
        without = OverlayDisk(disk)
        without.remove(path)

        found = found_in(without)

        last_of_killed = ".log" in path and read_file(disk, f"{DATA}/clean-shutdown") is None
        assert found or last_of_killed or served(without) == state, path


def test_foreign_files_are_notes(disk: CrashDisk) -> None:
    overlay = OverlayDisk(disk)
    topic = next(name for name in disk.list(f"{DATA}/topics") if len(name) == 36)
    places = (DATA, f"{DATA}/topics", f"{DATA}/topics/{topic}", f"{DATA}/topics/{topic}/0")
    for directory in places:
        overlay.open(f"{directory}/notes.txt", create=True).append([b"mine"])

    report = examine(overlay, DATA)

    assert report.healthy
    noted = [one.place.path for one in report.findings if "notes.txt" in one.place.path]
    assert len(noted) == len(places)


def test_the_place_and_the_offsets_of_damage_are_named(disk: CrashDisk) -> None:
    path = next(path for path in files_of(disk) if "/1/" in path and path.endswith("0.log"))

    report = examine(flipped(disk, path, 8 * 100), DATA)

    (finding,) = [one for one in report.findings if one.severity is Severity.DAMAGE]
    assert finding.place.topic == TOPIC
    assert finding.place.partition == 1
    assert finding.place.offset == 0
    assert finding.place.position == 0
    assert path.endswith(finding.place.path)
    assert "wrong checksum; offsets 0 to 2 in" in finding.problem


def test_the_directory_is_not_changed(disk: CrashDisk) -> None:
    before = {path: read_file(disk, path) for path in files_of(disk)}
    operations = disk.operations

    examine(disk, DATA)

    assert disk.operations == operations
    assert {path: read_file(disk, path) for path in files_of(disk)} == before


def test_another_directory_is_refused() -> None:
    disk = CrashDisk()
    disk.make_dir("/other")

    with pytest.raises(DataDirRefused, match="not a data directory"):
        examine(disk, "/other")
