"""Format rows as a table, wrapping values if the terminal is too narrow.

 CARRIER | NAME              | FLIGHTS
---------+-------------------+---------
 AA      | American Airlines |   32729
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from duolog.cli.sql.values import is_number, text_of
from duolog.cli.terminal.display_width import cells, fitting

NARROWEST: Final = 6
"""Minimum readable width of a column; narrower rows are printed vertically."""
_GAP: Final = 3
_EDGE: Final = 2


class Table:
    """Formats rows under a header.

    Args:
        columns: names and types of the columns.
        sample: rows that determine the column widths.
        width: width of the terminal; None disables wrapping.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        sample: Iterable[Sequence[object]],
        width: int | None,
    ) -> None:
        self._names = [name for name, _ in columns]
        self._to_right = [is_number(of) for _, of in columns]
        rows = [self._names, *([text_of(value) for value in row] for row in sample)]
        wanted = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        self.widths = wanted if width is None else fitted(wanted, width)
        self._folds = width is not None
        self._spare = 0 if width is None else max(0, _room(len(wanted), width) - sum(self.widths))

    @staticmethod
    def fits(count: int, width: int | None) -> bool:
        """Return whether this many columns fit side by side."""
        return width is None or count * (NARROWEST + _GAP) - _GAP + _EDGE <= width

    def head(self) -> Iterator[str]:
        """Yield the header and the line below it."""
        yield from self._lines(self._names, [False] * len(self._names))
        yield "+".join("-" * (width + _EDGE) for width in self.widths)

    def row(self, row: Sequence[object]) -> Iterator[str]:
        """Yield the lines of a row; columns grow for a row wider than the sample."""
        texts = [text_of(value) for value in row]
        for number, text in enumerate(texts):
            if self._spare and (lacking := cells(text) - self.widths[number]) > 0:
                more = min(lacking, self._spare)
                self.widths[number] += more
                self._spare -= more
        yield from self._lines(texts, self._to_right)

    def _lines(self, texts: Sequence[str], to_right: Sequence[bool]) -> Iterator[str]:
        folded = [
            folds(text, width) if self._folds else [text]
            for text, width in zip(texts, self.widths, strict=True)
        ]
        for number in range(max(map(len, folded), default=1)):
            parts = [
                _padded(lines[number] if number < len(lines) else "", width, right=right)
                for lines, width, right in zip(folded, self.widths, to_right, strict=True)
            ]
            yield f" {' | '.join(parts)}".rstrip()


def fitted(wanted: Sequence[int], width: int) -> list[int]:
    """Return widths that fit into `width`, shrinking the widest columns first.

    Example:
        >>> fitted([4, 40, 30], 40)
        [4, 14, 14]
    """
    room = _room(len(wanted), width)
    low, high = NARROWEST, max(wanted, default=NARROWEST)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(one, middle) for one in wanted) <= room:
            low = middle
        else:
            high = middle - 1
    return [min(one, low) for one in wanted]


def _room(count: int, width: int) -> int:
    """Return the width available for the values of this many columns."""
    return width - _EDGE - _GAP * (count - 1)


def folds(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` characters, at spaces if possible.

    Example:
        >>> folds("LaGuardia Airport of New York", 12)
        ['LaGuardia', 'Airport of', 'New York']
    """
    lines = []
    while cells(text) > width:
        end = fitting(text, width)
        space = text.rfind(" ", 0, end + 1)
        cut = space if space > 0 else end
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cells(text))
    return space + text if right else text + space
