"""Pairs the branches of two combinations so that each pair is compatible.

A largest matching is found by paths that alternate between pairs and other compatible branches
(Kuhn 1955). Branches are compared only when a path needs it, first with a branch of the same text:
after the usual change of one branch, n branches take about 2 n comparisons instead of n².
"""

from collections import deque
from collections.abc import Generator, Hashable, Iterator, Sequence
from typing import TypeAlias

from duolog.schemas.json_schema.compatibility.steps import (
    Context,
    Differences,
    Pair,
    Schema,
)

Matched: TypeAlias = list[tuple[int, int, Differences]]


class Matching:
    """The search for pairs.

    Args:
        context: the comparison.
        old: the branches of the writer.
        new: the branches of the reader.
        texts: for each branch of both, a value that is equal for equal texts.
    """

    def __init__(
        self,
        context: Context,
        old: Sequence[Schema],
        new: Sequence[Schema],
        texts: tuple[Sequence[Hashable], Sequence[Hashable]],
    ) -> None:
        self._context = context
        self._old, self._new = old, new
        # Rows are the branches of the smaller combination, columns those of the other one.
        self._swapped = len(new) < len(old)
        row_texts, column_texts = reversed(texts) if self._swapped else texts
        self._same = {text: column for column, text in enumerate(column_texts)}
        self._row_texts, self._columns = row_texts, len(column_texts)
        self._partner: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._below: dict[tuple[int, int], Differences] = {}

    def run(self) -> Generator[Pair, Differences, Matched]:
        """Return pairs of positions with their differences, as many as possible.

        If only incompatible differences are wanted, the search ends at the first branch of the
        smaller combination that cannot have a partner.
        """
        for row in range(len(self._row_texts)):
            found = yield from self._augment(row)
            if not found and not self._context.everything:
                break
        return [
            (*self._positions(row, column), self._below[row, column])
            for row, column in sorted(self._partner.items())
        ]

    def _augment(self, root: int) -> Generator[Pair, Differences, bool]:
        """Give a row a partner, if need be by giving other rows other partners."""
        queue, reached_from = deque([root]), dict[int, int]()
        while queue:
            row = queue.popleft()
            for column in self._candidates(row):
                if column in reached_from:
                    continue
                compatible = yield from self._compatible(row, column)
                if not compatible:
                    continue
                reached_from[column] = row
                if column not in self._taken:
                    self._flip(root, column, reached_from)
                    return True
                queue.append(self._taken[column])
        return False

    def _candidates(self, row: int) -> Iterator[int]:
        likely = self._same.get(self._row_texts[row], -1)
        if likely >= 0:
            yield likely
        if row != likely:
            yield row
        yield from (column for column in range(self._columns) if column not in {likely, row})

    def _compatible(self, row: int, column: int) -> Generator[Pair, Differences, bool]:
        self._context.budget.spend()
        if (row, column) not in self._below:
            left, right = self._positions(row, column)
            self._below[row, column] = yield self._old[left], self._new[right]
        return self._context.compatible(self._below[row, column])

    def _positions(self, row: int, column: int) -> tuple[int, int]:
        return (column, row) if self._swapped else (row, column)

    def _flip(self, root: int, column: int, reached_from: dict[int, int]) -> None:
        while True:
            row = reached_from[column]
            left_behind = self._partner.get(row)
            self._partner[row], self._taken[column] = column, row
            if row == root or left_behind is None:
                return
            column = left_behind
