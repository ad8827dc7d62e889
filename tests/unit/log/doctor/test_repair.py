"""Repairs: what other files determine is rebuilt, and no record batch changes."""

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch

import pytest

from duolog.log.checkpoints.recovery_point import POINT_FILE_NAME, read_recovery_point
from duolog.log.doctor import Severity, examine, repair
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import read_file
from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.producers.producer_state import ProducerStates
from duolog.testing.disk import CrashDisk
from unit.log.doctor.small_directory import (
    DATA,
    SmallDirectory,
    files_of,
    served,
    small_directory,
)

Damage = Callable[[CrashDisk, str], None]


def cut(disk: CrashDisk, path: str) -> None:
    disk.open(path).truncate(disk.size(path) - 1)


def remove(disk: CrashDisk, path: str) -> None:
    disk.remove(path)


def flip(disk: CrashDisk, path: str) -> None:
    file = disk.open(path)
    position = disk.size(path) - 3
    file.pwrite(position, bytes([file.pread(position, 1)[0] ^ 64]))


REPAIRABLE: list[tuple[str, Damage]] = [
    ("/0/00000000000000000000.index", flip),
    ("/0/00000000000000000000.index", remove),
    ("/0/00000000000000000000.timeindex", flip),
    ("/1/00000000000000000000.timeindex", remove),
    ("/1/*.txnindex", flip),
    ("/1/*.txnindex", remove),
    ("/0/recovery-point", flip),
    ("/1/recovery-point", cut),
    ("/2/recovery-point", flip),
    ("/0/leader-epoch-checkpoint", flip),
    ("/2/leader-epoch-checkpoint", cut),
    ("/leader-epoch", flip),
    ("/leader-epoch", remove),
    ("/clean-shutdown", flip),
    ("/last-start", cut),
    ("/producer-ids", flip),
    ("/name=orders", remove),
]


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize(("ending", "damage"), REPAIRABLE)
def test_a_damaged_file_is_rebuilt(ending: str, damage: Damage, stopped: bool) -> None:  # noqa: FBT001
    disk = small_directory(stopped=stopped)
    paths = [path for path in files_of(disk) if fnmatch(path, f"*{ending}")]
    if not paths:
        assert not stopped
        pytest.skip("not there after a kill")
    state = served(disk)
    logs = {path: read_file(disk, path) for path in files_of(disk) if path.endswith(".log")}
    damage(disk, paths[0])
    report = examine(disk, DATA)
    assert {one.severity for one in report.findings} == {Severity.REBUILDABLE}

    repaired = [f"{DATA}/{one.place.path}" for one in repair(disk, report)]

    # A start relies on more indexes with the new recovery point: those that are missing are made.
    also_built = [path for path in repaired if "index" in path and "recovery-point" in ending]
    assert [path for path in repaired if path not in also_built] == paths[:1]
    assert list(examine(disk, DATA).findings) == []
    assert logs == {path: read_file(disk, path) for path in files_of(disk) if path.endswith(".log")}
    again = served(disk)
    if ending == "/producer-ids":  # The broker begins above all ids that were ever given.
        assert again["kept"].pop("producer-ids") is None
        del state["kept"]["producer-ids"]
    assert again == state


def test_nothing_is_repaired_next_to_damaged_record_batches() -> None:
    disk = small_directory()
    index = next(path for path in files_of(disk) if path.endswith("/0/00000000000000000000.index"))
    flip(disk, index)
    segment = index.replace(".index", ".log")
    disk.open(segment).pwrite(200, b"damage")

    report = examine(disk, DATA)

    assert {one.severity for one in report.findings} == {Severity.DAMAGE, Severity.REBUILDABLE}
    assert [one.repair for one in report.findings] == [None] * len(report.findings)
    before = {path: read_file(disk, path) for path in files_of(disk)}
    assert list(repair(disk, report)) == []
    assert before == {path: read_file(disk, path) for path in files_of(disk)}


def test_a_report_changes_nothing_before_its_repairs_are_applied() -> None:
    disk = small_directory()
    flip(disk, f"{DATA}/clean-shutdown")
    before = {path: read_file(disk, path) for path in files_of(disk)}

    report = examine(disk, DATA)

    assert report.findings[0].repair is not None
    assert before == {path: read_file(disk, path) for path in files_of(disk)}


def test_a_recovery_point_is_rebuilt_with_the_leader_epochs_before_it() -> None:
    disk = CrashDisk()
    directory = SmallDirectory(disk)
    directory.write(6)
    directory.set_points()
    directory.stop()
    directory.start()
    directory.write(9)  # Several segments of the next epoch, and no recovery point.
    directory.stop()
    path = next(path for path in files_of(disk) if path.endswith("/0/recovery-point"))
    flip(disk, path)

    list(repair(disk, examine(disk, DATA)))

    assert examine(disk, DATA).findings == ()
    last = max(p for p in files_of(disk) if "/0/" in p and p.endswith(".log"))
    point = read_recovery_point(disk, path.rpartition("/")[0])
    assert point is not None
    assert point.segment == point.next_offset == int(last.rpartition("/")[2][:20])


def test_entries_that_the_log_does_not_have_are_found() -> None:
    disk = small_directory()
    path = next(path for path in files_of(disk) if fnmatch(path, "*/0/*.txnindex"))
    index = AbortedIndex.decode(read_file(disk, path) or b"", 0)
    assert index is not None
    first = index.entries[0]
    index = AbortedIndex()
    index.add(first)
    index.add(first._replace(marker_offset=first.marker_offset + 1))
    disk.open(path).truncate(0)
    disk.open(path).append([index.encode()])

    (finding,) = examine(disk, DATA).findings

    assert finding.problem == f"no transaction was aborted at offset {first.marker_offset + 1}"


def test_a_time_index_without_its_last_entry_is_found() -> None:
    disk = small_directory()
    path = next(p for p in files_of(disk) if p.endswith("/0/00000000000000000000.timeindex"))
    disk.open(path).truncate(disk.size(path) - 12)

    (finding,) = examine(disk, DATA).findings

    assert finding.problem == "time index does not reach the newest timestamp"


def test_a_snapshot_that_differs_from_the_log_is_rebuilt() -> None:
    disk = small_directory()
    directory = next(p for p in files_of(disk) if p.endswith("/0/recovery-point"))[:-15]
    point = read_recovery_point(disk, directory)
    assert point is not None
    changes: list[tuple[Callable[[ProducerStates], object], str]] = [
        (lambda states: states.note_epoch(99, 0), "the snapshot of producer 99 differs"),
        (lambda states: states.note_epoch(7, 3), "the snapshot of producer 7 differs"),
        (lambda states: states.transactions.open.clear(), "the snapshot of producer 7 differs"),
    ]
    for change, problem in changes:
        states = ProducerStates.decode(point.producers)
        assert states is not None
        change(states)
        changed = replace(point, producers=states.encode())
        write_checked(disk, directory, POINT_FILE_NAME, changed.encode())

        report = examine(disk, DATA)
        (finding,) = report.findings

        assert finding.problem.startswith(problem)
        list(repair(disk, report))
        assert read_recovery_point(disk, directory) == point
