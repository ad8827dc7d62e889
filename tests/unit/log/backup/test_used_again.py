"""A later backup uses copies of files that have not changed, and of nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.log import LogManager
from duolog.log.backup import writing
from duolog.log.backup.copies import Identity
from duolog.log.backup.packs import list_packs, pack_path
from duolog.log.backup.repository import Repository, Session, create_repository
from duolog.log.backup.restoring import restore, verify
from duolog.log.backup.stopped_broker import rehearsed
from duolog.log.backup.writing import FileSource, Writing
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.files.disk import RealDisk
from duolog.record import Record, encode_batch
from duolog.record.batch import patch_batch
from duolog.testing import FakeClock

TOPIC = "orders"


class Place:
    """A data directory and its backups on a real disk."""

    def __init__(self, root: Path) -> None:
        self.data, self.backups = root / "data", root / "backups"
        self.written_bytes = self.reused_bytes = 0

    def write(self, records: int, *, segment_bytes: int = 10**9) -> None:
        """Start a broker's logs, append, and stop."""
        settings = {"log.segment.bytes": segment_bytes}
        manager = LogManager(RealDisk(), str(self.data), FakeClock(), settings)
        if manager.topics.get(TOPIC) is None:
            manager.topics.create(TOPIC, 1)
        log = manager.log(TOPIC, 0)
        for _ in range(records):
            batch = encode_batch([Record(0, 1000, b"k", bytes(1000))])
            log.append(memoryview(batch))
        log.write_staged()
        manager.close()

    def back_up(self, *files: Path, keep: int | None = None) -> None:
        logs = rehearsed(RealDisk(), str(self.data))
        disk = RealDisk()
        session = Session(create_repository(disk, str(self.backups), logs.cut.cluster_id))
        copying = Writing(session, lambda _: None)
        sources = {path.name: FileSource(str(path), Identity.of(str(path))) for path in files}
        session.complete(copying.run(logs, sources, {}, created_ms=1, broker=""))
        if keep is not None:
            session.keep(keep)
        session.close()
        self.written_bytes, self.reused_bytes = session.written_bytes, copying.reused_bytes

    def restored(self, target: Path) -> bytes:
        """Restore the last backup; return the bytes of the log."""
        repository = Repository(RealDisk(), str(self.backups))
        assert list(verify(repository)) == []
        restore(repository, repository.read(), RealDisk(), str(target))
        return b"".join(path.read_bytes() for path in sorted(target.rglob("*.log")))

    @property
    def log(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.data.rglob("*.log")))

    @property
    def packs(self) -> list[int]:
        return list_packs(RealDisk(), str(self.backups))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    found.write(10)
    yield found
    assert found.restored(tmp_path / "restored") == found.log


def test_nothing_is_written_if_nothing_has_changed(place: Place) -> None:
    place.back_up()

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (0, len(place.log))


def test_the_beginning_of_a_grown_segment_is_used(place: Place) -> None:
    place.back_up()
    before = len(place.log)
    place.write(1)

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (len(place.log) - before, before)


def test_a_segment_with_many_pieces_is_copied_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hourly backups would name one more piece of each active segment every time."""
    monkeypatch.setattr(writing, "_PIECES_MAX", 2)
    reused = []
    for _ in range(4):
        place.back_up()
        reused.append(place.reused_bytes > 0)
        place.write(1)

    assert reused == [False, True, False, True]
    place.back_up()


def test_a_segment_that_was_rolled_back_and_has_grown_is_copied_again(place: Place) -> None:
    """As after a restore of an older backup whose files got the inodes of the lost ones."""
    place.back_up()
    (segment,) = place.data.rglob("*.log")
    last = bytearray(encode_batch([Record(0, 1000, b"k", b"x" * 1000)]))
    patch_batch(last, 9, 0)
    with segment.open("r+b") as file:
        file.seek(-len(last), os.SEEK_END)
        file.write(last)
    place.write(1)

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (len(place.log), 0)


def test_a_file_with_another_inode_is_copied_again(place: Place) -> None:
    place.back_up()
    (segment,) = place.data.rglob("*.log")
    content = segment.read_bytes()
    segment.rename(segment.with_suffix(".old"))  # The new one cannot get its inode.
    segment.write_bytes(content)

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (len(place.log), 0)
    segment.with_suffix(".old").unlink()


def test_a_file_that_was_changed_in_place_is_copied_again(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "application.json"
    file.write_text("one")
    place.back_up(file)
    file.write_text("two!")

    place.back_up(file)

    assert place.written_bytes == 4
    assert place.reused_bytes == len(place.log)


def test_a_pack_of_which_little_is_used_is_copied_again_and_removed(
    place: Place, tmp_path: Path
) -> None:
    file = tmp_path / "state"
    file.write_bytes(bytes(len(place.log) * 3))
    place.back_up(file)
    place.back_up(keep=1)  # Most of the pack is not used any more.
    assert place.packs == [1]

    place.back_up(keep=1)

    assert place.written_bytes == len(place.log)
    assert place.packs == [2]


def _note_holes(place: Place, below: int) -> None:
    (segment,) = place.data.rglob("*.log")
    write_checkpoint(RealDisk(), str(segment.parent), CleanerCheckpoint(below, below))


def test_a_compacted_segment_that_has_not_changed_is_used(place: Place) -> None:
    _note_holes(place, 5)
    place.back_up()

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (0, len(place.log))


def test_growth_proves_nothing_where_logs_are_compacted(place: Place) -> None:
    place.back_up()
    _note_holes(place, 5)
    place.write(1)

    place.back_up()

    assert (place.written_bytes, place.reused_bytes) == (len(place.log), 0)


def test_a_file_that_a_start_would_change_is_not_recognized(place: Place) -> None:
    (segment,) = place.data.rglob("*.log")
    (place.data / "clean-shutdown").unlink()
    (place.data / "last-start").unlink()
    whole = segment.read_bytes()
    with segment.open("ab") as file:
        file.write(whole[:50])  # A torn write, which a start cuts off.

    (partition,) = rehearsed(RealDisk(), str(place.data)).partitions

    assert partition.segments[0].identity is None
    place.back_up()
    segment.write_bytes(whole)


def test_packs_of_kept_backups_stay(place: Place) -> None:
    place.back_up()
    place.write(1)
    place.back_up()
    place.write(1)

    place.back_up(keep=2)

    repository = Repository(RealDisk(), str(place.backups))
    assert repository.numbers() == [2, 3]
    assert list(verify(repository)) == []
    assert place.packs == [1, 2, 3]


def test_copies_in_a_pack_that_is_gone_are_not_used(place: Place) -> None:
    place.back_up()
    Path(pack_path(str(place.backups), 1)).unlink()
    (place.backups / "backup-000001").unlink()

    place.back_up()

    assert place.written_bytes == len(place.log)
