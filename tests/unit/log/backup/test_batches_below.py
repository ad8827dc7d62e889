"""Only whole record batches below a cut are read from a segment."""

import pytest

from duolog.log.backup import batches_below
from duolog.log.backup.batches_below import BatchesBelow
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import DiskFile
from duolog.record import Record, encode_batch
from duolog.record.batch import patch_batch
from duolog.testing.disk import CrashDisk


def batch_at(base_offset: int, records: int = 1, size_bytes: int = 20) -> bytes:
    batch = bytearray(encode_batch([Record(0, 1, b"k", bytes(size_bytes))] * records))
    patch_batch(batch, base_offset, 0)
    return bytes(batch)


def file_of(*content: bytes) -> DiskFile:
    file = CrashDisk().open("/segment", create=True)
    file.append(content)
    return file


def below(file: DiskFile, cut: int, holes_below: int = 0) -> BatchesBelow:
    return BatchesBelow(file, "t/0", position=0, next_offset=0, cut=cut, holes_below=holes_below)


def test_batches_up_to_the_cut_are_read() -> None:
    batches = [batch_at(0, 2), batch_at(2), batch_at(3)]
    reader = below(file_of(*batches), 3)

    assert b"".join(reader) == batches[0] + batches[1]
    assert (reader.next_offset, reader.position) == (3, len(batches[0] + batches[1]))


def test_a_hole_at_the_cut_ends_the_copy() -> None:
    reader = below(file_of(batch_at(0), batch_at(5)), 5, holes_below=6)

    assert b"".join(reader) == batch_at(0)
    assert reader.next_offset == 1


def test_batches_after_a_hole_of_compaction_are_read() -> None:
    batches = [batch_at(0), batch_at(5)]

    assert b"".join(below(file_of(*batches), 6, holes_below=6)) == b"".join(batches)


@pytest.mark.parametrize("holes_below", [0, 5])
def test_a_hole_that_no_compaction_explains_is_damage(holes_below: int) -> None:
    with pytest.raises(BackupRefused, match="damaged"):
        list(below(file_of(batch_at(0), batch_at(5)), 6, holes_below))


@pytest.mark.parametrize("size_bytes", [100, 5000])
def test_a_batch_larger_than_a_chunk_is_read(
    size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_below, "_CHUNK_BYTES", 300)
    batches = [batch_at(number, 1, size_bytes) for number in range(7)]

    assert b"".join(below(file_of(*batches), 7)) == b"".join(batches)


@pytest.mark.parametrize("position", [8, 16, 21, 70])
def test_a_changed_byte_is_damage(position: int) -> None:
    second = bytearray(batch_at(1))
    second[position] ^= 0x40

    with pytest.raises(BackupRefused, match="damaged"):
        list(below(file_of(batch_at(0), bytes(second), batch_at(2)), 3))


def test_a_batch_that_is_cut_off_below_the_cut_is_damage() -> None:
    with pytest.raises(BackupRefused, match="damaged"):
        list(below(file_of(batch_at(0), batch_at(1)[:-1]), 2))


def test_a_batch_across_the_cut_is_damage() -> None:
    with pytest.raises(BackupRefused, match="damaged"):
        list(below(file_of(batch_at(0, 3)), 2))
