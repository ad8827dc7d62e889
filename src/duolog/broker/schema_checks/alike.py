"""Count consecutive records that differ only in times, offsets and payloads.

    |length|attributes|times|key length|key        |value length|frame|payload|0|
    |length|attributes|times|key length|key        |value length|frame|payload|0|
    └──────────── one stride ──────────────────────────────────────────────────┘

In such records each byte that decides where a part is, or which schema it has, is at the same place
of its record. One slice with a step takes that byte of many records, so comparing them all costs no
step of Python per record.
"""

from typing import Final, NamedTuple

_ROWS_FIRST: Final = 64
_ROWS_GROWTH: Final = 8
_HIGH_BITS: Final = bytes(byte >> 7 for byte in range(256))


class Layout(NamedTuple):
    """The places of a record that other records must share. All are positions in the batch."""

    start: int
    end: int
    value_at: int
    same: tuple[slice, slice, slice, slice]
    """Bytes that must be equal: the length; the length of the key, and its frame; the same of the
    value; the number of headers."""
    numbers: slice
    """Varints of any value and the same widths."""


class _Marks(NamedTuple):
    """The places from the start of a record, with what other records must have there."""

    same: list[tuple[int, bytes]]
    """Bytes."""
    widths: list[tuple[int, int]]
    """Highest bits: all bytes of a varint but the last one have it."""


def count_alike(plain: bytes, layout: Layout, most: int) -> int:
    """Return how many records after the one at `layout.start` are like it, at most `most`."""
    stride = layout.end - layout.start
    most = min(most, (len(plain) - layout.end) // stride)
    if most <= 0:
        return 0
    marks = _Marks(
        [
            (place - layout.start, plain[place : place + 1])
            for part in layout.same
            for place in range(part.start, part.stop)
        ],
        [
            (place - layout.start, plain[place] >> 7)
            for place in range(layout.numbers.start, layout.numbers.stop)
        ],
    )
    found = 0
    rows = _ROWS_FIRST
    while found < most:
        rows = min(rows, most - found)
        start = layout.end + found * stride
        alike = _alike_rows(plain, start, stride, rows, marks)
        found += alike
        if alike < rows:
            break
        rows *= _ROWS_GROWTH
    return found


def _alike_rows(plain: bytes, start: int, stride: int, rows: int, marks: _Marks) -> int:
    """Return how many of the rows that begin at `start` have these marks."""
    end = start + rows * stride
    for offset, byte in marks.same:
        column = plain[start + offset : end : stride]
        if column != byte * rows:
            rows -= len(column.lstrip(byte))
            if not rows:
                return 0
            end = start + rows * stride
    for offset, high in marks.widths:
        column = plain[start + offset : end : stride]
        if high or not column.isascii():
            bits = column.translate(_HIGH_BITS)
            rows -= len(bits.lstrip(b"\1" if high else b"\0"))
            end = start + rows * stride
    return rows
