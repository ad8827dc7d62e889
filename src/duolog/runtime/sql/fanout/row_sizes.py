"""Approximate memory of result rows."""

import sys
from collections.abc import Iterable, Mapping

_ROW_BYTES = 64


def size_of(rows: Iterable[tuple[object, ...]]) -> int:
    """Return the approximate size of rows in bytes.

    Example:
        >>> size_of([("a" * 1000, 1)]) - size_of([("", 1)])
        1000
    """
    return sum(_ROW_BYTES + sum(map(_size, row)) for row in rows)


def _size(value: object) -> int:
    size = sys.getsizeof(value)
    if isinstance(value, Mapping):
        return size + sum(_size(key) + _size(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return size + sum(map(_size, value))
    return size
