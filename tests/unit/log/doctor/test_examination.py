"""Damage of every kind is found, or a broker serves the same as without it."""

from random import Random
from typing import Any

import pytest

from duolog.log.doctor import Severity, examine
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.errors import CorruptLog, DataDirRefused
from duolog.log.files.disk import Disk, read_file
from duolog.log.segments.segment import Segment
from duolog.record import whole_batches
from duolog.testing.disk import CrashDisk
from unit.log.doctor.flipped_bits import (
    PARTS,
    STATES,
    Flipped,
    bits_of,
    directory,
    flip,
    flip_bits,
    problems,
)
from unit.log.doctor.small_directory import DATA, TOPIC, files_of, flipped, served

SAMPLE = 40


@pytest.fixture(scope="module", params=STATES)
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def disk(state: str) -> CrashDisk:
    return directory(state)[0]


@pytest.fixture(scope="module")
def expected(state: str) -> dict[str, Any]:
    """The state that a broker serves from the whole directory."""
    return directory(state)[1]


def unnoticed(damaged: Disk, expected: dict[str, Any]) -> bool:
    """Return whether damage has consequences that the doctor does not report."""
    return not problems(damaged) and served(damaged) != expected


def test_nothing_is_found_in_a_whole_directory(disk: CrashDisk) -> None:
    report = examine(disk, DATA)

    assert report.healthy
    assert report.topics == 1
    assert report.counts.partitions == 3
    assert report.counts.segments == len([p for p in files_of(disk) if p.endswith(".log")])
    assert report.counts.batches > 50


def test_a_flipped_bit_is_found_or_changes_nothing_that_is_served(state: str) -> None:
    bits, result = bits_of(directory(state)[0]), Flipped()

    flip(state, Random(11).sample(bits, SAMPLE), result)  # noqa: S311 - chance

    assert result.unnoticed == []
    assert result.counts["found"] > SAMPLE // 2


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_each_flipped_bit_is_found_or_changes_nothing_that_is_served(part: int) -> None:
    assert flip_bits(part).unnoticed == []


def tails(disk: CrashDisk) -> list[tuple[str, int]]:
    """Return each size that the last segment of each partition, or another file, can be cut to."""
    last: dict[str, str] = {}
    for path in files_of(disk):
        directory, _, name = path.rpartition("/")
        last[directory if name.endswith(".log") else path] = path
    return [(path, size) for path in last.values() for size in range(disk.size(path))]


def test_a_file_that_is_cut_anywhere_is_found_or_changes_nothing(
    disk: CrashDisk, expected: dict[str, Any]
) -> None:
    random = Random(5)  # noqa: S311 - chance
    for path, size in random.sample(tails(disk), SAMPLE):
        cut = OverlayDisk(disk)
        cut.open(path).truncate(size)

        if examine(cut, DATA).healthy and served(cut) != expected:
            # Without a clean stop, only records that were synced after the last noted end may go.
            assert ".log" in path
            assert read_file(disk, f"{DATA}/clean-shutdown") is None


def test_a_last_write_that_a_kill_cut_off_is_a_note() -> None:
    disk = directory("killed")[0]
    last = max(path for path in files_of(disk) if "/1/" in path and path.endswith(".log"))
    cut = OverlayDisk(disk)
    cut.open(last).truncate(disk.size(last) - 1)

    (finding,) = examine(cut, DATA).findings

    assert finding.severity is Severity.NOTE
    assert "interrupted a write; the next start cuts the last" in finding.problem


def test_a_zero_filled_tail_is_found_or_cut_by_the_next_start(
    disk: CrashDisk, expected: dict[str, Any]
) -> None:
    for path in files_of(disk):
        filled = OverlayDisk(disk)
        file = filled.open(path)
        file.append([bytes(700)])

        # After a power failure zeros are the trace of a write that was not acknowledged.
        noted = [one.problem for one in examine(filled, DATA).findings if "cuts" in one.problem]
        assert noted or not unnoticed(filled, expected), path


def test_a_missing_file_is_found_or_changes_nothing(
    disk: CrashDisk, expected: dict[str, Any]
) -> None:
    allowed = {"clean-shutdown", "dynamic-configs", "producer-ids", "log-start-offset"}
    for path in files_of(disk):
        if path.rpartition("/")[2] in allowed:  # Nothing on disk says that there was one.
            continue
        without = OverlayDisk(disk)
        without.remove(path)

        found = problems(without)

        last_of_killed = ".log" in path and read_file(disk, f"{DATA}/clean-shutdown") is None
        assert found or last_of_killed or served(without) == expected, path


def test_foreign_files_are_notes(disk: CrashDisk) -> None:
    overlay = OverlayDisk(disk)
    topic = next(name for name in disk.list(f"{DATA}/topics") if len(name) == 36)
    places = (DATA, f"{DATA}/topics", f"{DATA}/topics/{topic}", f"{DATA}/topics/{topic}/0")
    for place in places:
        overlay.open(f"{place}/notes.txt", create=True).append([b"mine"])

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


def test_a_leader_epoch_that_goes_back_is_found() -> None:
    disk = directory("killed")[0]
    last = max(path for path in files_of(disk) if "/0/" in path and path.endswith(".log"))
    *_, (header, _batch) = whole_batches(read_file(disk, last) or b"")
    changed = OverlayDisk(disk)
    changed.open(last).pwrite(disk.size(last) - header.size_bytes + 12, bytes(4))

    (finding,) = examine(changed, DATA).findings

    assert finding.problem == "leader epoch 0 follows 1"
    assert finding.place.offset == header.base_offset


def test_a_log_that_ends_before_a_noted_end_is_found() -> None:
    disk = directory("stopped")[0]
    last = max(path for path in files_of(disk) if "/1/" in path and path.endswith(".log"))
    *_, (header, _batch) = whole_batches(read_file(disk, last) or b"")
    cut = OverlayDisk(disk)
    cut.open(last).truncate(disk.size(last) - header.size_bytes)

    (finding,) = examine(cut, DATA).findings

    assert finding.severity is Severity.DAMAGE
    assert f"ended at {header.next_offset} when the broker stopped" in finding.problem


def test_a_base_offset_that_no_index_can_hold_damages_its_partition_alone() -> None:
    disk = directory("stopped")[0]
    first = next(path for path in files_of(disk) if path.endswith("/0/00000000000000000000.log"))
    (_, batch), (header, _batch) = list(whole_batches(read_file(disk, first) or b""))[:2]
    changed = OverlayDisk(disk)
    changed.open(first).pwrite(len(batch), (2**33).to_bytes(8))
    segment = Segment(changed, first.rpartition("/")[0], 0, disk.size(first))

    with pytest.raises(CorruptLog, match=f"no record batch at position {len(batch)}"):
        list(segment.places(0))
    (finding, *_) = examine(changed, DATA).findings
    assert finding.place.offset == header.base_offset


def test_a_missing_first_segment_is_damage_next_to_a_damaged_index() -> None:
    disk = directory("killed")[0]
    paths = [path for path in files_of(disk) if "/0/" in path]
    first, second = sorted(path for path in paths if path.endswith(".log"))[:2]
    without = OverlayDisk(disk)
    without.remove(first)
    without.open(second.replace(".log", ".timeindex")).pwrite(0, bytes(8))

    found = [one for one in examine(without, DATA).findings if one.severity is Severity.DAMAGE]

    base_offset = int(second.rpartition("/")[2][:20])
    missing = f"offsets 0 to {base_offset - 1} are missing before this segment"
    assert [one.problem for one in found] == [missing]


@pytest.mark.parametrize("delta", [-1, -(2**31)])
def test_a_negative_offset_delta_damages_its_partition_alone(delta: int) -> None:
    disk = directory("stopped")[0]
    first = next(path for path in files_of(disk) if path.endswith("/0/00000000000000000000.log"))
    changed = OverlayDisk(disk)
    changed.open(first).pwrite(23, delta.to_bytes(4, signed=True))
    changed.remove(first.replace(".log", ".index"))
    segment = Segment(changed, first.rpartition("/")[0], 0, disk.size(first))

    with pytest.raises(CorruptLog, match="no record batch at position 0"):
        list(segment.places(0))
    assert any(one.severity is Severity.DAMAGE for one in examine(changed, DATA).findings)
