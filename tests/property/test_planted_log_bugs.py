"""A test of the tests: each bug that is planted here must break a promise in some life of a log.

| planted bug                             | what a start finds                                 |
|-----------------------------------------|----------------------------------------------------|
| a commit syncs no segment               | acknowledged records are gone                      |
| a commit syncs no directory             | acknowledged records are in a file without a name  |
| the journal is not synced               | acknowledged records of many partitions are gone   |
| the journal goes before its segments    | the same                                           |
| the journal is not replayed             | the same                                           |
| recovery checks no checksum             | torn batches are served                            |
| recovery cuts no torn tail              | new batches are written after a torn one           |
| recovered data is not synced            | what was served is gone after the next loss        |
| a recovery point syncs nothing          | it speaks of records that are gone                 |
| the log start is not kept               | deleted records come back                          |
| producers are not rebuilt               | a repeated batch is written twice                  |

That a recovery point replaces the old one in one step costs no record, only a long start: see
`tests/unit/log/checkpoints/test_recovery_point.py`.
"""

# ruff: noqa: SLF001 - bugs are planted inside.

from collections.abc import Callable
from typing import Any, Final

import pytest

from duolog.core.errors import DuologError
from duolog.log import group_commit, journal
from duolog.log.checkpoints import recovery_point
from duolog.log.partition import compactable_log
from duolog.log.recovery import recovery
from duolog.log.segments import batch_scan
from property.test_log_recovery import busy_life, run_lives

LIVES: Final = 80

Plant = Callable[[pytest.MonkeyPatch], None]


class Anything:
    """Equal to every checksum."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class LyingFile:
    """A file that says that it is synced, and is not."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def sync(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class LyingDisk:
    """A disk that never makes a file name durable."""

    def __init__(self, disk: Any) -> None:
        self._disk = disk

    def sync_dir(self, path: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._disk, name)


def do_nothing(*_: object, **__: object) -> None:
    pass


def commit_syncs_no_segment(patch: pytest.MonkeyPatch) -> None:
    commit = group_commit.GroupCommit._commit

    def without(self: group_commit.GroupCommit, work: Any) -> None:
        commit(self, [item._replace(file=LyingFile(item.file)) for item in work])

    patch.setattr(group_commit.GroupCommit, "_commit", without)


def commit_syncs_no_directory(patch: pytest.MonkeyPatch) -> None:
    commit = group_commit.GroupCommit._commit

    def without(self: group_commit.GroupCommit, work: Any) -> None:
        commit(self, [item._replace(disk=LyingDisk(item.disk)) for item in work])

    patch.setattr(group_commit.GroupCommit, "_commit", without)


def journal_is_not_synced(patch: pytest.MonkeyPatch) -> None:
    begin = journal.Journal._begin_file

    def lying(self: Any) -> None:
        begin(self)
        self._file = LyingFile(self._file)

    patch.setattr(journal.Journal, "_begin_file", lying)


def journal_goes_before_its_segments(patch: pytest.MonkeyPatch) -> None:
    frame = journal.Journal.commit

    def lying(self: Any, work: Any) -> None:
        frame(self, work)
        self._waiting = {path: LyingFile(file) for path, file in self._waiting.items()}

    patch.setattr(journal.Journal, "commit", lying)


def journal_is_not_replayed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal, "whole_frames", lambda _content: iter(()))


def recovery_checks_no_checksum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_scan, "crc32c", lambda _data: Anything())


def recovery_cuts_no_torn_tail(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_truncate", do_nothing)


def recovered_data_is_not_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_sync_scanned", do_nothing)


def recovery_point_syncs_nothing(patch: pytest.MonkeyPatch) -> None:
    write = recovery_point.RecoveryPointWrite.write

    def without(self: recovery_point.RecoveryPointWrite) -> None:
        object.__setattr__(self, "files", ())
        write(self)

    commit = group_commit.GroupCommit._serve

    def points_first(self: Any, requests: Any) -> None:
        # Behind a commit its segments are synced anyway: the point alone must see to it.
        for request in requests:
            for point in request.points:
                point.write()
        commit(self, [request._replace(points=()) for request in requests])

    patch.setattr(recovery_point.RecoveryPointWrite, "write", without)
    patch.setattr(group_commit.GroupCommit, "_serve", points_first)


def log_start_is_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compactable_log, "write_log_start", do_nothing)


def producers_are_not_rebuilt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_note", do_nothing)


PLANTS: Final[tuple[Plant, ...]] = (
    commit_syncs_no_segment,
    commit_syncs_no_directory,
    journal_is_not_synced,
    journal_goes_before_its_segments,
    journal_is_not_replayed,
    recovery_checks_no_checksum,
    recovery_cuts_no_torn_tail,
    recovered_data_is_not_synced,
    recovery_point_syncs_nothing,
    log_start_is_not_kept,
    producers_are_not_rebuilt,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_breaks_a_promise(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)

    for seed in range(LIVES):
        killed = seed % 3 == 0
        try:
            cut = 40 + 23 * seed % 900
            run_lives([busy_life(cut, seed, killed=killed), busy_life(300, seed)])
        except (AssertionError, DuologError):
            return

    pytest.fail("no life found it")
