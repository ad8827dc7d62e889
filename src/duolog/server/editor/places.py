"""Places in a text as editors count them: UTF-16 code units, as in JavaScript and LSP.

text        a😀b      characters 0 1 2 3, UTF-16 code units 0 1 3 4
variables   ${x}      replaced before the parser reads it, so that places move
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Final, NamedTuple

from duolog.ksql.syntax.script import substituted

_BASIC_MAX: Final = 0xFFFF
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Places:
    r"""The places of one text.

    Example:
        >>> places = Places("a😀b\nc")
        >>> places.units(2), places.characters(3), places.json(4)
        (3, 2, {'offset': 5, 'line': 2, 'column': 1})
    """

    def __init__(self, text: str) -> None:
        self._wide = (
            [] if text.isascii() else [at for at, one in enumerate(text) if ord(one) > _BASIC_MAX]
        )
        self._wide_units = [at + before for before, at in enumerate(self._wide)]
        self._newlines = [found.start() for found in re.finditer("\n", text)]

    def units(self, character: int) -> int:
        """Return the place of a character in code units, from 0."""
        return character + bisect_left(self._wide, character)

    def characters(self, unit: int) -> int:
        """Return the place of a code unit in characters; of half a character, its start."""
        wide = bisect_left(self._wide_units, unit)
        inside = wide > 0 and unit == self._wide_units[wide - 1] + 1
        return unit - wide if not inside else self._wide[wide - 1]

    def line(self, character: int) -> int:
        """Return the line of a character, from 1."""
        return bisect_left(self._newlines, character) + 1

    def json(self, character: int) -> dict[str, int]:
        """Return a place: offset from 0, line and column from 1, in code units."""
        before = bisect_left(self._newlines, character)
        start = self._newlines[before - 1] + 1 if before else 0
        column = self.units(character) - self.units(start) + 1
        return {"offset": self.units(character), "line": before + 1, "column": column}


class _Replaced(NamedTuple):
    start: int
    end: int
    moved_start: int
    moved_end: int


class Substituted:
    """A statement with its variables replaced, which knows where each part came from.

    Attributes:
        text: the statement with values in place of variables.
        unknown: the variables without a value: name and place in the statement.

    Raises:
        SqlError: the text would be too long.

    Example:
        >>> found = Substituted("SELECT ${a}, b", {"A": "column_1"})
        >>> found.text, found.origin(8), found.origin(17)
        ('SELECT column_1, b', (7, 11), (13, 13))
    """

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.text = substituted(text, variables)
        self.unknown: list[tuple[str, int]] = []
        self._replaced: list[_Replaced] = []
        moved = 0
        for found in _VARIABLE.finditer(text):
            value = variables.get(found[1].upper())
            if value is None:
                self.unknown.append((found[1], found.start()))
                continue
            start = found.start() + moved
            self._replaced.append(_Replaced(*found.span(), start, start + len(value)))
            moved += len(value) - len(found[0])
        self._starts = [one.moved_start for one in self._replaced]

    def origin(self, at: int) -> tuple[int, int]:
        """Return the place from which a character came: the whole variable, for its value."""
        number = bisect_right(self._starts, at) - 1
        if number < 0:
            return at, at
        one = self._replaced[number]
        if at < one.moved_end:
            return one.start, one.end
        came = at - one.moved_end + one.end
        return came, came
