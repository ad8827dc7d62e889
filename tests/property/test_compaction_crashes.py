"""The power may be cut at any step of a compaction: a start finds the log before a swap or after it.

A test of the tests follows: each bug that is planted here must be found by some of the crashes.

| planted bug                                | what a start finds                              |
|--------------------------------------------|-------------------------------------------------|
| the promise is not durable before names go | segments of which only some names have changed  |
| a start does not complete a swap           | the same                                        |
| the promise goes before the names are kept | the same                                        |
| cleaned bytes are not synced               | records that were kept are gone                 |
| holes are not announced                    | records that were kept are cut off              |
| holes are announced after the run          | the same                                        |
| a swap is not promised                     | segments of which only some names have changed  |
| segments are taken that are not saved      | the same, or the cleaner finds it itself        |
"""

# ruff: noqa: SLF001 - bugs are planted inside.

import contextlib
from collections.abc import Callable
from typing import Any, Final

import pytest

from duolog.broker.cleaning import cleaner
from duolog.core.errors import DuologError
from duolog.log import compaction_run
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint
from duolog.log.compaction import cleaned_segment
from duolog.log.errors import LogDirOffline
from duolog.log.files.checked_file import encode_checked
from duolog.log.recovery import recovery
from duolog.log.segments import segment_swap
from duolog.record import Record, crc_matches
from duolog.record.compression import Compression
from duolog.testing.disk import CrashDisk, PowerLost
from property.cleaned_log import CleanedLog, Step, last_of_each_key


def filled_log() -> CleanedLog:
    """Return a log of some small segments, with transactions and holes of an earlier run."""
    log = CleanedLog()
    for turn in range(3):
        steps = [
            Step(
                (
                    *((b"key%d" % (i % 5), b"%d" % i * 30) for i in range(turn, turn + 6)),
                    (b"once-%d-%d" % (turn, codec), b"one"),
                ),
                Compression(codec),
                4 if codec == 1 else -1,
            )
            for codec in (0, 1, 3, 0)
        ]
        log.write([*steps, Step((), producer=4, end="abort" if turn == 1 else "commit")])
        if turn == 0:
            log.compact()
    return log


def kept(log: CleanedLog) -> dict[int, Record]:
    """Return what may never be lost: the last committed record of each key."""
    committed = {o: r for o, r in log.written.items() if o not in log.aborted}
    return last_of_each_key(committed, log.log.log_end_offset)


def crash_at(cut: int, seed: int, *, lose_point: bool = False) -> None:
    """Compact until the power is cut after `cut` changes; then start, check, compact, check."""
    log = filled_log()
    expected, end = kept(log), log.log.log_end_offset
    directory = log.log.directory
    log.disk.power_off_after(operations=cut)
    with contextlib.suppress(PowerLost, LogDirOffline):
        log.compact()
    log.disk = log.disk.crash(seed)
    if lose_point:
        # Then everything is read from the log's start, holes and all.
        log.disk.remove(f"{directory}/recovery-point")
    for again in (False, True):
        log.start()
        check(log, expected, end)
        if not again:
            log.compact()
            check(log, expected, end)
            log.disk = log.disk.crash(seed + 1)


def check(log: CleanedLog, expected: dict[int, Record], end: int) -> None:
    assert log.log.log_end_offset == end
    found = log.records()
    assert found.items() <= log.written.items()
    assert expected.items() <= found.items(), "a record that was to be kept is lost"
    last = -1
    for header, batch in log.batches():
        assert crc_matches(batch)
        assert header.base_offset > last, "a segment is there twice"
        last = header.last_offset
    names = log.disk.list(log.log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    for segment in log.log._segments:
        for offset in range(segment.base_offset, end):
            place = segment.locate(offset)
            assert place is None or place.last_offset >= offset, "an index is of another file"


def changes_of_a_compaction() -> int:
    log = filled_log()
    before = log.disk.operations
    log.compact()
    return log.disk.operations - before


def test_the_power_may_go_after_any_change_of_a_compaction() -> None:
    for cut in range(changes_of_a_compaction() + 1):
        crash_at(cut, 7 * cut)


def test_a_log_with_holes_is_read_from_its_start_without_a_recovery_point() -> None:
    for cut in range(0, changes_of_a_compaction() + 1, 3):
        crash_at(cut, cut, lose_point=True)


def test_a_killed_broker_completes_what_it_has_promised() -> None:
    for cut in range(0, changes_of_a_compaction() + 1, 2):
        log = filled_log()
        expected, end = kept(log), log.log.log_end_offset
        log.disk.power_off_after(operations=cut)
        with contextlib.suppress(PowerLost, LogDirOffline):
            log.compact()
        log.disk = log.disk.kill()
        log.start()
        check(log, expected, end)


def do_nothing(*_: object, **__: object) -> None:
    pass


def promise_is_not_durable(patch: pytest.MonkeyPatch) -> None:
    def unsynced(disk: CrashDisk, directory: str, name: str, content: bytes) -> None:
        disk.open(f"{directory}/{name}", create=True).append([encode_checked(name, content)])

    patch.setattr(segment_swap, "write_checked", unsynced)


def swap_is_not_completed(patch: pytest.MonkeyPatch) -> None:
    def drop(disk: CrashDisk, directory: str) -> bool:
        segment_swap._remove(disk, f"{directory}/{segment_swap.SWAP_FILE_NAME}")
        segment_swap.drop_cleaned(disk, directory)
        return False

    patch.setattr(recovery, "recover_swap", drop)


def promise_goes_too_early(patch: pytest.MonkeyPatch) -> None:
    def early(disk: CrashDisk, directory: str) -> None:
        segment_swap._remove(disk, f"{directory}/{segment_swap.SWAP_FILE_NAME}")

    patch.setattr(compaction_run, "end_swap", early)


def swap_is_not_promised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compaction_run, "promise_swap", do_nothing)


def holes_are_announced_after_the_run(patch: pytest.MonkeyPatch) -> None:
    def silent(self: Any) -> CleanerCheckpoint:
        return CleanerCheckpoint(self.log.checkpoint.clean_offset, self.found.end_offset)

    patch.setattr(compaction_run.CompactionRun, "prepare", silent)


def unsaved_segments_are_taken(patch: pytest.MonkeyPatch) -> None:
    def at_once(self: Any, partition: Any) -> None:
        found = self._cleanable(partition)
        self._run = cleaner._Run(partition, found)
        self._saved(partition, [found])

    patch.setattr(cleaner.Cleaner, "_save", at_once)


def cleaned_bytes_are_not_synced(patch: pytest.MonkeyPatch) -> None:
    create = cleaned_segment.CleanedSegment._create

    def unsynced(self: Any, suffix: str) -> Any:
        file = create(self, suffix)
        patch.setattr(file, "sync", do_nothing)
        return file

    patch.setattr(cleaned_segment.CleanedSegment, "_create", unsynced)


def holes_are_not_announced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compaction_run, "write_checkpoint", do_nothing)


PLANTS: Final[tuple[Callable[[pytest.MonkeyPatch], None], ...]] = (
    promise_is_not_durable,
    swap_is_not_completed,
    promise_goes_too_early,
    cleaned_bytes_are_not_synced,
    holes_are_not_announced,
    holes_are_announced_after_the_run,
    swap_is_not_promised,
    unsaved_segments_are_taken,
)


LONG: Final = (
    promise_goes_too_early,
    swap_is_not_completed,
    holes_are_not_announced,
    holes_are_announced_after_the_run,
)
"""Plants that few crashes find: hundreds of crashes are tried first."""


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(plant, id=plant.__name__, marks=[pytest.mark.deep] * (plant in LONG))
        for plant in PLANTS
    ],
)
def test_a_planted_bug_loses_something_in_some_crash(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = changes_of_a_compaction()
    plant(monkeypatch)

    for seed in range(12):
        for cut in range(last, -1, -1):
            try:
                crash_at(cut, 31 * cut + seed, lose_point=seed % 2 == 1)
            except (AssertionError, DuologError, OSError):
                return

    pytest.fail("no crash found it")
