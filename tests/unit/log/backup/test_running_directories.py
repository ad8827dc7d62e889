"""The files of a running broker at a cut: compaction and deletion meanwhile take nothing away."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.log import LogManager
from duolog.log.backup.cut import Cut, TopicCut
from duolog.log.backup.log_source import (
    STAGING,
    LogSource,
    Moved,
    lock_staging,
    staged,
    unstage,
)
from duolog.log.backup.manifest import Manifest
from duolog.log.backup.repository import Session, create_repository
from duolog.log.backup.writing import Writing
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import RealDisk
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock

TOPIC = "orders"
BATCH = len(encode_batch([Record(0, 1000, b"k", bytes(100))]))


class Running:
    """An open data directory with one log of small segments."""

    def __init__(self, root: Path) -> None:
        self.disk, self.root, self.data = RealDisk(), root, root / "data"
        settings = {"log.segment.bytes": 4 * BATCH}
        self.manager = LogManager(self.disk, str(self.data), FakeClock(), settings)
        self.entry = self.manager.topics.create(TOPIC, 1)
        self.log = self.manager.log(TOPIC, 0)
        self.directory = self.data / "topics" / str(self.entry.id) / "0"

    def write(self, batches: int) -> None:
        for _ in range(batches):
            self.log.append(memoryview(encode_batch([Record(0, 1000, b"k", bytes(100))])))
            self.log.write_staged()
        self.log.high_watermark = self.log.log_end_offset

    def cut(self) -> Cut:
        ends = {0: self.log.high_watermark}
        return Cut("cluster", 0, 0, 1, (TopicCut(self.entry, ends),))

    def stage(self, cut: Cut | None = None) -> LogSource:
        return staged(self.disk, str(self.data), cut or self.cut())

    def back_up(self, logs: LogSource) -> Manifest:
        session = Session(create_repository(self.disk, str(self.root / "backups"), "cluster"))
        try:
            manifest = Writing(session, lambda _: None).run(logs, {}, {}, created_ms=1, broker="")
            session.complete(manifest)
        finally:
            session.close()
        return manifest

    @property
    def segments(self) -> list[int]:
        return sorted(int(path.stem) for path in self.directory.glob("*.log"))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    found = Running(tmp_path)
    found.write(10)
    yield found
    unstage(str(found.data))
    found.manager.logs.release()


def end_of(manifest: Manifest) -> int:
    return list(manifest.partitions[0].segments.values())[-1].next_offset


def test_only_records_below_the_cut_are_copied(running: Running) -> None:
    cut = running.cut()
    running.write(10)

    manifest = running.back_up(running.stage(cut))

    assert end_of(manifest) == 10
    assert list(manifest.partitions[0].segments) == [0, 4, 8]
    assert manifest.size_bytes == 10 * BATCH


def test_a_batch_that_is_being_written_is_not_copied(running: Running) -> None:
    cut = running.cut()
    last = running.directory / f"{running.segments[-1]:020d}.log"
    with last.open("ab") as file:
        file.write(bytes(encode_batch([Record(0, 1, b"k", b"v")]))[:40])

    assert end_of(running.back_up(running.stage(cut))) == 10


def test_segments_that_are_deleted_after_the_cut_are_copied(running: Running) -> None:
    logs = running.stage()
    running.log.advance_log_start(8)
    assert running.segments == [8]

    assert running.back_up(logs).size_bytes == 10 * BATCH


def test_a_log_of_which_all_is_deleted_before_the_names_ends_at_the_cut(running: Running) -> None:
    cut = running.cut()
    running.write(10)
    running.log.advance_log_start(16)

    manifest = running.back_up(running.stage(cut))

    (partition,) = manifest.partitions
    assert (partition.log_start, list(partition.segments)) == (10, [10])


def test_a_topic_that_is_deleted_before_the_names_is_left_out(running: Running) -> None:
    cut = running.cut()
    running.manager.topics.delete(TOPIC)

    logs = running.stage(cut)

    assert logs.gone == [TOPIC]
    assert running.back_up(logs).cut.topics == ()


def test_a_topic_that_is_deleted_while_it_gets_names_is_left_out(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, calls = os.link, []

    def deleting(source: str, target: str) -> None:
        calls.append(source)
        if len(calls) == 2:
            running.manager.topics.delete(TOPIC)
        link(source, target)

    monkeypatch.setattr(os, "link", deleting)

    logs = running.stage()

    assert (logs.gone, list(logs.partitions)) == ([TOPIC], [])


@pytest.mark.parametrize("clean_offset", [0, 11])
def test_a_compaction_beyond_the_cut_needs_another_cut(running: Running, clean_offset: int) -> None:
    """A run replaces segments before it notes how far it has come: `clean_offset` is then 0."""
    cut = running.cut()
    running.write(10)
    write_checkpoint(running.disk, str(running.directory), CleanerCheckpoint(clean_offset, 11))

    with pytest.raises(Moved, match="compacted beyond"):
        running.stage(cut)


def test_a_compaction_below_the_cut_does_not(running: Running) -> None:
    write_checkpoint(running.disk, str(running.directory), CleanerCheckpoint(8, 8))

    assert end_of(running.back_up(running.stage())) == 10


def test_segments_that_change_while_they_get_names_are_looked_at_again(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, calls = os.link, []

    def deleting(source: str, target: str) -> None:
        calls.append(source)
        if len(calls) == 2:
            running.log.advance_log_start(8)
        link(source, target)

    monkeypatch.setattr(os, "link", deleting)

    logs = running.stage()

    assert [one.base_offset for one in logs.partitions[0].segments] == [8]
    assert len(calls) == 3


def test_a_log_without_any_file_is_noticed(running: Running) -> None:
    for path in running.directory.iterdir():
        path.unlink()

    with pytest.raises(BackupRefused, match="lost acknowledged records"):
        running.back_up(running.stage())


@pytest.mark.parametrize("base_offset", [0, 4])
def test_a_lost_segment_is_noticed(running: Running, base_offset: int) -> None:
    (running.directory / f"{base_offset:020d}.log").unlink()

    with pytest.raises(BackupRefused, match="lost acknowledged records"):
        running.back_up(running.stage())


def test_a_log_that_ends_before_the_cut_is_noticed(running: Running) -> None:
    last = running.directory / f"{8:020d}.log"
    os.truncate(last, BATCH)

    with pytest.raises(BackupRefused, match="lost acknowledged records"):
        running.back_up(running.stage())


def test_a_copy_that_is_longer_than_the_cut_is_not_used(running: Running) -> None:
    ends = {0: 9}
    earlier = Cut("cluster", 0, 0, 1, (TopicCut(running.entry, ends),))
    running.back_up(running.stage())

    manifest = running.back_up(running.stage(earlier))

    assert end_of(manifest) == 9
    assert manifest.size_bytes == 9 * BATCH


def test_names_are_removed_and_the_log_stays(running: Running) -> None:
    running.stage()
    before = running.segments

    unstage(str(running.data))

    assert not any((running.data / STAGING).rglob("*.log"))
    assert running.segments == before


def test_files_are_read_in_place_where_no_second_names_exist(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)

    assert end_of(running.back_up(running.stage())) == 10


@pytest.mark.parametrize("gone", [True, False])
def test_a_segment_that_is_replaced_where_no_second_names_exist_is_not_copied(
    running: Running, monkeypatch: pytest.MonkeyPatch, *, gone: bool
) -> None:
    """It may have been compacted with records after the cut in mind."""

    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    logs = running.stage()
    segment = running.directory / f"{4:020d}.log"
    if gone:
        segment.unlink()
    else:
        cleaned = segment.with_suffix(".log.cleaned")
        cleaned.write_bytes(segment.read_bytes())
        cleaned.rename(segment)

    with pytest.raises(BackupRefused, match="was replaced or deleted meanwhile"):
        running.back_up(logs)


def test_two_backups_of_one_directory_do_not_run_at_once(running: Running) -> None:
    lock = lock_staging(running.disk, str(running.data))

    with pytest.raises(BackupRefused, match="another backup of"):
        lock_staging(running.disk, str(running.data))

    lock.release()
    lock_staging(running.disk, str(running.data)).release()
