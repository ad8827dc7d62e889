"""Whole batches are found before and after damage, and offsets that are missing are named."""

from duolog.log.doctor.batch_walk import BatchWalk, Gap, Whole
from duolog.record import Record, encode_batch
from duolog.record.batch import patch_batch
from duolog.testing.disk import CrashDisk


def batch(base_offset: int, records: int = 2, value: bytes = b"value") -> bytes:
    encoded = encode_batch([Record(0, 1000, b"key", value)] * records)
    patch_batch(encoded, base_offset, 0)
    return bytes(encoded)


def walked(
    content: bytes, *, holes_below: int = 0, bound: int | None = None, first: int = 0
) -> list[int | tuple[int, int | None]]:
    """Return the base offset of each whole batch, and the missing offsets of each gap."""
    disk = CrashDisk()
    file = disk.open("/log", create=True)
    file.append([content])
    found: list[int | tuple[int, int | None]] = []
    end = 0
    for item in BatchWalk(file, first, holes_below=holes_below, bound=bound):
        assert item.position == end
        match item:
            case Whole():
                found.append(item.header.base_offset)
                end += item.header.size_bytes
            case Gap():
                found.append((item.first_offset, item.next_offset))
                end = item.end
    assert end == len(content)
    return found


def damaged(content: bytes, position: int) -> bytes:
    changed = bytearray(content)
    changed[position] ^= 0x10
    return bytes(changed)


FOUR = [batch(0), batch(2, 3), batch(5, 1), batch(6)]


def test_whole_batches() -> None:
    assert walked(b"".join(FOUR)) == [0, 2, 5, 6]


def test_a_changed_byte_costs_its_batch_alone() -> None:
    start = len(FOUR[0])
    for position in range(len(FOUR[1])):
        if 12 <= position < 16:  # The leader epoch, which the checksum does not cover.
            continue
        found = walked(damaged(b"".join(FOUR), start + position))

        assert found == [0, (2, 5), 5, 6], position


def test_a_wrong_base_offset_is_known_by_the_next_batch() -> None:
    for wrong in (3, 4, 5, 100, 2**40):
        moved = bytearray(FOUR[1])
        patch_batch(moved, wrong, 0)

        assert walked(b"".join([FOUR[0], moved, *FOUR[2:]])) == [0, (2, 5), 5, 6], wrong


def test_a_wrong_base_offset_of_the_last_batch_is_known_by_the_next_segment() -> None:
    moved = bytearray(FOUR[3])
    patch_batch(moved, 7, 0)

    assert walked(b"".join([*FOUR[:3], moved]), bound=8) == [0, 2, 5, (6, 8)]


def test_a_missing_batch_is_a_gap_without_bytes() -> None:
    assert walked(b"".join([FOUR[0], *FOUR[2:]])) == [0, (2, 5), 5, 6]


def test_holes_of_compaction_are_no_gaps() -> None:
    content = b"".join([FOUR[0], *FOUR[2:]])

    assert walked(content, holes_below=6) == [0, 5, 6]
    assert walked(content, holes_below=5) == [0, (2, 5), 5, 6]


def test_a_cut_batch_ends_the_log() -> None:
    content = b"".join(FOUR)
    start = len(content) - len(FOUR[3])
    for size in range(start + 1, len(content)):
        assert walked(content[:size]) == [0, 2, 5, (6, None)]
        assert walked(content[:size], bound=8) == [0, 2, 5, (6, 8)]


def test_bytes_of_a_batch_within_a_record_are_not_taken_for_one() -> None:
    outer = batch(2, 1, value=batch(3))
    content = b"".join([batch(0), outer, batch(3), batch(5)])

    assert walked(damaged(content, len(batch(0)) + 50)) == [0, (2, 3), 3, 5]


def test_a_damaged_length_is_passed_by_a_search() -> None:
    start = len(FOUR[0])
    for position in range(8, 12):
        found = walked(damaged(b"".join(FOUR), start + position))

        assert found == [0, (2, 5), 5, 6]


def test_a_segment_without_any_batch_is_one_gap() -> None:
    assert walked(bytes(5000), first=40, bound=50) == [(40, 50)]
    assert walked(b"\x02" * 5000, first=40) == [(40, None)]
