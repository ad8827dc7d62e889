"""Translate offsets of a source partition to offsets of its copy.

    source   0 1 2 . 4 5 . 7         (. an offset without a committed record)
    copy     0 1 2   3 4   M 6       (M the marker of a transaction)
    runs     (0, 0, 3) (4, 3, 2) (7, 6, 1)

Offsets differ after the first gap of the source (compaction, markers, aborted records) and after
the first transaction of the copy. Every copied record is in exactly one run, so that a translation
is exact. This is where it differs from MirrorMaker 2, which stores only some pairs of offsets and
translates to an earlier record.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

_LONG: Final = "q"


class OffsetMap:
    """Runs of consecutive offsets: first source offset, first copied offset, count."""

    def __init__(self) -> None:
        self._sources = array(_LONG)
        self._copies = array(_LONG)
        self._counts = array(_LONG)

    @property
    def runs(self) -> int:
        """The number of runs, which is the size of the map."""
        return len(self._sources)

    def add(self, first_copy: int, runs: Sequence[int]) -> None:
        """Add the records of one transaction.

        Args:
            first_copy: offset of the first copied record; the others follow without gaps.
            runs: alternately the first source offset of a run and its count, see `runs_of`.
        """
        for source, count in zip(runs[::2], runs[1::2], strict=True):
            self._add_run(source, first_copy, count)
            first_copy += count

    def translate(self, offset: int) -> int | None:
        """Return the copied offset of the first record at or after `offset`; None if none exists.

        Example:
            >>> offsets = OffsetMap()
            >>> offsets.add(100, [0, 3, 7, 2])
            >>> [offsets.translate(offset) for offset in (0, 2, 3, 7, 8, 9)]
            [100, 102, 103, 103, 104, None]
        """
        at = bisect_right(self._sources, offset) - 1
        if at >= 0 and offset < self._sources[at] + self._counts[at]:
            return self._copies[at] + offset - self._sources[at]
        return self._copies[at + 1] if at + 1 < len(self._copies) else None

    def _add_run(self, source: int, copy: int, count: int) -> None:
        if self._sources:
            after = self._sources[-1] + self._counts[-1]
            assert source >= after, "the runs of a partition are in the order of its offsets"
            if source == after and copy == self._copies[-1] + self._counts[-1]:
                self._counts[-1] += count
                return
        self._sources.append(source)
        self._copies.append(copy)
        self._counts.append(count)


def runs_of(offsets: Iterable[int]) -> list[int]:
    """Return ascending offsets as runs: alternately a first offset and a count.

    Example:
        >>> runs_of([0, 1, 2, 7, 8])
        [0, 3, 7, 2]
    """
    runs: list[int] = []
    for offset in offsets:
        extend_runs(runs, offset)
    return runs


def extend_runs(runs: list[int], offset: int) -> None:
    """Add the next offset to `runs`."""
    if runs and offset == runs[-2] + runs[-1]:
        runs[-1] += 1
    else:
        runs += (offset, 1)
