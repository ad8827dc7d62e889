"""Rows as a table for people: columns side by side, folded where the terminal is too narrow for them.

 CARRIER | NAME              | FLIGHTS
---------+-------------------+---------
 AA      | American Airlines |   32729
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from duolog.cli.sql.values import is_number, text_of
from duolog.cli.terminal.display_width import cells, fitting

NARROWEST: Final = 6
"""Characters below which a column cannot be read: then rows are better written one below the other."""
_GAP: Final = 3
_EDGE: Final = 2


class Table:
    """Writes rows under their names.

    Args:
        columns: names with the texts of their types.
        sample: rows by which the widths are chosen.
        width: what the terminal has room for; None: nothing is folded.
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
        """Tell if so many columns can stand side by side."""
        return width is None or count * (NARROWEST + _GAP) - _GAP + _EDGE <= width

    def head(self) -> Iterator[str]:
        """Yield the names and the line below them."""
        yield from self._lines(self._names, [False] * len(self._names))
        yield "+".join("-" * (width + _EDGE) for width in self.widths)

    def row(self, row: Sequence[object]) -> Iterator[str]:
        """Yield the lines of a row; from one on that is wider than those of the sample, columns take what room is left."""
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
    """Return widths that fit into `width`, the widest columns made narrower first.

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
    """Return what so many columns side by side have for their values."""
    return width - _EDGE - _GAP * (count - 1)


def folds(text: str, width: int) -> list[str]:
    """Return a text as lines of at most `width` characters, broken at spaces where there are some.

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
