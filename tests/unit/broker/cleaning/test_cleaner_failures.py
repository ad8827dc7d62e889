"""The cleaner skips a log that fails, and stops if a sync fails."""

import errno
import logging
from typing import Any

import pytest

from duolog.log import LogManager, PartitionLog
from duolog.log.compaction_run import CompactionRun
from duolog.log.errors import CorruptLog
from duolog.record import Record, encode_batch
from duolog.record.batch import HEADER_BYTES, seal_batch
from duolog.record.records import write_varint
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from property.cleaned_log import CONFIGS
from property.driven_cleaner import DrivenCleaner


class CleanerHarness:
    """Two compacted logs with much to clean."""

    def __init__(self, poison: str = "") -> None:
        self.disk = CrashDisk()
        self.clock = FakeClock()
        self.manager = LogManager(self.disk, "/data", self.clock, {})
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        for name in ("a", "b"):
            self.manager.topics.create(name, 1, CONFIGS)
            if name == poison:
                self.write(name, key_of_impossible_length())
            for _ in range(30):
                self.write(name, encode_batch([Record(0, 1, b"k", b"v" * 200)]))
            self.log(name).roll()
        self.driven = DrivenCleaner(
            self.disk, self.clock, self.commit, [self.log("a"), self.log("b")]
        )

    def log(self, name: str) -> PartitionLog:
        return self.manager.log(name, 0)

    def write(self, name: str, batch: bytearray) -> None:
        log = self.log(name)
        log.append(memoryview(batch))
        log.write_staged()
        self.commit.request([log])
        self.commit.run_pending()
        log.high_watermark = log.log_end_offset

    def run_round(self, times: int = 6) -> None:
        for _ in range(times):
            self.driven.run_round()


def key_of_impossible_length() -> bytearray:
    batch = encode_batch([Record(0, 1, b"k", b"v" * 20)])[:HEADER_BYTES]
    body = bytearray(3)
    write_varint(body, 2**63 - 1)
    write_varint(batch, len(body) + 20)
    batch += body + bytes(20)
    seal_batch(batch)
    return batch


@pytest.mark.parametrize("poison", ["a", "b"])
def test_a_log_that_fails_to_compact_twice_is_skipped(
    poison: str, caplog: pytest.LogCaptureFixture
) -> None:
    harness = CleanerHarness(poison)

    harness.run_round()

    whole = "b" if poison == "a" else "a"
    assert harness.log(whole).checkpoint.clean_offset > 0
    assert [str(name) for name in harness.driven.cleaner.uncleanable] == [f"{poison}-0"]
    errors = [row for row in caplog.records if row.levelno == logging.ERROR]
    assert [row.message for row in errors] == [
        "log is not compacted any more, until the broker starts again"
    ]
    assert harness.commit.failed is None
    jobs = [job.directory for job in harness.driven.jobs]
    assert jobs.count(harness.log(poison).directory) == 2


def test_a_log_whose_compaction_ends_the_process_is_left_alone_too() -> None:
    harness = CleanerHarness()
    run = harness.driven.cleaner._process.run  # noqa: SLF001

    def dying(job: Any) -> None:
        run(job)
        if job.directory == harness.log("a").directory:
            harness.driven.steps.clear()
            harness.driven.cleaner._on_death()  # noqa: SLF001

    harness.driven.cleaner._process.run = dying  # type: ignore[method-assign]  # noqa: SLF001

    harness.run_round()

    assert [str(name) for name in harness.driven.cleaner.uncleanable] == ["a-0"]
    assert harness.log("b").checkpoint.clean_offset > 0


@pytest.mark.parametrize("step", ["prepare", "promise", "end", "finish"])
def test_a_sync_that_fails_in_a_run_is_final(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = CleanerHarness()
    real = getattr(CompactionRun, step)

    def failing(self: CompactionRun, *args: Any) -> Any:
        harness.disk.fail("sync", OSError(errno.EIO, "the disk is broken"))
        harness.disk.fail("sync_dir", OSError(errno.EIO, "the disk is broken"))
        return real(self, *args)

    monkeypatch.setattr(CompactionRun, step, failing)
    harness.run_round(1)
    harness.disk.heal()
    before = harness.disk.operations
    harness.run_round()

    assert harness.commit.failed is not None, "a disk that forgot what it said is used on"
    assert harness.disk.operations == before
    monkeypatch.undo()
    for seed in range(6):
        again = LogManager(harness.disk.crash(seed), "/data", FakeClock(), {}).log("a", 0)
        last = again.read_bytes(29, 1000, up_to_offset=30)
        assert int.from_bytes(last[:8], "big") == 29


def test_a_log_whose_job_cannot_be_made_does_not_stop_the_cleaner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = CleanerHarness()
    real = PartitionLog.compaction_job

    def failing(self: PartitionLog, *args: Any, **more: Any) -> Any:
        if self is harness.log("a"):
            raise CorruptLog("the index of aborted transactions cannot be read")
        return real(self, *args, **more)

    monkeypatch.setattr(PartitionLog, "compaction_job", failing)
    harness.run_round()

    assert [str(name) for name in harness.driven.cleaner.uncleanable] == ["a-0"]
    assert harness.log("b").checkpoint.clean_offset > 0


def test_an_unexpected_error_does_not_stop_the_cleaner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = CleanerHarness()

    def fail_unexpectedly(*_: Any) -> Any:
        raise AssertionError("unexpected")

    with monkeypatch.context() as patch:
        patch.setattr(CompactionRun, "promise", fail_unexpectedly)
        for _ in range(2):
            with pytest.raises(AssertionError):
                harness.run_round(1)
            harness.driven.steps.clear()
    harness.run_round()

    assert (
        harness.log("a").checkpoint.clean_offset > 0 or harness.log("b").checkpoint.clean_offset > 0
    )
