"""Count consecutive records that differ in the size of their values, but else as in `alike.py`.

The lengths lead from record to record, with a step of Python for each. The bytes before the
payloads are then joined to rows of one width, of which a slice with a step takes one byte each:

    last byte of the record before | length | attributes | times | key length | key | value length | frame

A row is accepted if the bytes that decide are equal to those of the first record, its numbers have
the same widths, and its value ends one byte before the record does: that byte is a zero, the number
of headers.
"""  # noqa: E501 - a picture

from typing import Final, NamedTuple

from duolog.broker.schema_checks.alike import Layout

_ROWS_FIRST: Final = 32
_ROWS_MAX: Final = 4096
_ROWS_GROWTH: Final = 8
_FRAME_BYTES_MAX: Final = 17
"""A value whose length takes two bytes is longer."""
_HEAD_BYTES_MAX: Final = 128
_LOW: Final = bytes(range(128))
_HIGH: Final = bytes(range(128, 256))
_POSITIVE: Final = bytes(range(1, 128))
_EVEN_LOW: Final = bytes(range(0, 128, 2))
_EVEN_HIGH: Final = bytes(range(128, 256, 2))
"""Lengths are zigzag-encoded: an odd one is negative."""


class _Column(NamedTuple):
    """A place in all rows, and the bytes that may be there."""

    offset: int
    allowed: bytes


def count_similar(plain: bytes, layout: Layout, most: int) -> tuple[int, int]:
    """Return how many records after a first one are similar to it, and where the last one ends."""
    position = layout.end
    if not _is_plain(plain, layout):
        return 0, position
    columns = _columns(plain, layout)
    found, rows = 0, _ROWS_FIRST
    while found < most:
        rows = min(rows, most - found)
        starts = _starts(plain, position, rows)
        similar = _similar_rows(plain, layout, columns, starts)
        found += similar
        position = starts[similar]
        if similar < rows:
            break
        rows = min(rows * _ROWS_GROWTH, _ROWS_MAX)
    return found, position


def _is_plain(plain: bytes, layout: Layout) -> bool:
    """Return whether records like the first one can be compared in rows."""
    length, _, value, headers = layout.same
    width = layout.value_at - value.start
    return bool(
        width == length.stop - length.start <= 2
        and headers.start == layout.end - 1
        and value.stop - layout.value_at <= _FRAME_BYTES_MAX
        and value.stop - layout.start <= _HEAD_BYTES_MAX
    )


def _columns(plain: bytes, layout: Layout) -> list[_Column]:
    """Return what rows must have; offsets count from the byte before a record."""
    length, key, value, _ = layout.same
    before = layout.start - 1
    if layout.value_at - value.start == 1:
        frame_bytes = value.stop - layout.value_at
        numbers = [
            _Column(length.start - before, _EVEN_LOW),
            _Column(value.start - before, _EVEN_LOW[frame_bytes:]),
        ]
    else:
        numbers = [
            _Column(part.start + place - before, allowed)
            for part in (length, value)
            for place, allowed in ((0, _EVEN_HIGH), (1, _POSITIVE))
        ]
    widths = [
        _Column(place - before, _HIGH if plain[place] > 0x7F else _LOW)
        for place in range(layout.numbers.start, layout.numbers.stop)
    ]
    equal = [
        _Column(place - before, plain[place : place + 1])
        for part in (key, slice(layout.value_at, value.stop))
        for place in range(part.start, part.stop)
    ]
    return numbers + widths + equal


def _starts(plain: bytes, position: int, most: int) -> list[int]:
    """Return where records begin, and where the last of them ends; their lengths may be wrong."""
    starts = [position]
    size = len(plain)
    try:
        for _ in range(most):
            length = plain[position]
            position += 1
            if length > 0x7F:
                length += (plain[position] << 7) - 0x80
                position += 1
            position += length >> 1
            if position > size:
                break
            starts.append(position)
    except IndexError:
        pass
    return starts


def _similar_rows(plain: bytes, layout: Layout, columns: list[_Column], starts: list[int]) -> int:
    """Return how many of the records that begin at `starts` are similar, before one is not."""
    width = layout.same[2].stop - layout.start + 1
    rows = len(starts) - 1
    while rows and starts[rows - 1] + width - 1 > len(plain):
        rows -= 1
    joined = b"".join([plain[start - 1 : start - 1 + width] for start in starts[:rows]])
    for offset, allowed in columns:
        rows = _leading(joined[offset : rows * width : width], allowed)
    if not rows:
        return 0
    last = starts[rows]
    rows = _leading(joined[width : rows * width : width] + plain[last - 1 : last], b"\0")
    return _leading_sizes(plain, layout, joined[: rows * width], width)


def _leading(column: bytes, allowed: bytes) -> int:
    """Return how many bytes of a column are allowed, before one that is not."""
    if not column.translate(None, allowed):
        return len(column)
    return len(column) - len(column.lstrip(allowed))


def _leading_sizes(plain: bytes, layout: Layout, joined: bytes, width: int) -> int:
    """Return how many rows have a value that is as much shorter than its record as the first."""
    length, _, value, _ = layout.same
    before = layout.start - 1
    lengths = joined[length.start - before :: width]
    values = joined[value.start - before :: width]
    less = _number(plain, length) - _number(plain, slice(value.start, layout.value_at))
    if layout.value_at - value.start == 1:
        expected = lengths.translate(bytes((byte - less) & 0xFF for byte in range(256)))
        return len(values) if values == expected else _common(values, expected)
    more, rest = divmod(less, 0x80)
    expected = lengths.translate(bytes(((byte & 0x7F) - rest) % 0x80 | 0x80 for byte in range(256)))
    if values != expected:
        return _common(values, expected)
    borrowed = lengths.translate(bytes((byte & 0x7F) < rest for byte in range(256)))
    highs = joined[length.start + 1 - before :: width]
    found = joined[value.start + 1 - before :: width]
    wanted = [high - one - more for high, one in zip(highs, borrowed, strict=True)]
    return len(found) if list(found) == wanted else _common(list(found), wanted)


def _number(plain: bytes, at: slice) -> int:
    """Return a number of one or two bytes, as it is encoded."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(plain[at]))


def _common(one: bytes | list[int], other: bytes | list[int]) -> int:
    """Return how many elements are equal, before two that are not."""
    return next(place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
