"""Patterns of Java's DateTimeFormatter in Locale.US: parsing a pattern into its parts.

    yyyy-MM-dd'T'HH:mm[:ss]     numbers, names, zones; literals between them; [optional] parts

When adjacent numbers are read, the first takes the digits that the others leave: yyyyMMdd. Weeks
are those of Locale.US: the first contains 1 January, and each starts on Sunday. Day periods in
words (`B`) and zone names longer than CET (`zzzz`, `v`) are only partly supported: `Unknown`.

Source: the documentation of java.time.format.DateTimeFormatterBuilder.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

Sign = Literal["none", "negative", "padded"]
"""The signs of a number: none, minus, or also plus for more digits than the minimum."""

_TOKEN: Final = re.compile(
    r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL
)
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS: Final = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_WIDE: Final = 19
_NUMBERS: Final = {
    "d": "day",
    "h": "clock_hour_of_half",
    "H": "hour",
    "k": "clock_hour",
    "K": "hour_of_half",
    "m": "minute",
    "s": "second",
}
_WEEKS: Final = {
    "w": ("week", 2),
    "W": ("week_of_month", 1),
    "e": ("local_weekday", 2),
    "c": ("local_weekday", 1),
}
"""Fields of weeks, and the largest number of letters that means a number."""
_OFFSETS: Final = ("HHmm", "HHMM", "HH:MM", "HHMMss", "HH:MM:ss")
_ZEROS: Final = ("+00", "+0000", "+00:00", "+0000", "+00:00")
_ERAS: Final = (("BC", "AD"), ("Before Christ", "Anno Domini"), ("B", "A"))


class Unsupported(Exception):
    """A part of the pattern is not supported. The query is refused: a null would be wrong."""


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a field, with a minimum and a maximum number of digits."""

    field: str
    least: int
    most: int
    sign: Sign = "negative"
    reserved: int = 0
    """The number of following digits that belong to other parts."""

    @property
    def fixed(self) -> bool:
        return self.least == self.most and self.sign == "none"


@dataclass(frozen=True, slots=True)
class Name:
    """One of several names; the first one has the value `first`."""

    field: str
    names: tuple[str, ...]
    first: int = 1


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone: its id, its short name, or its offset from UTC."""

    form: Literal["id", "name", "offset"]
    pattern: str = ""
    """For an offset: HHmm, HHMM, HH:MM, HHMMss or HH:MM:ss; for GMT+8: O, or OOOO in full."""
    zero: str = ""
    """The text for a zero offset."""


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional part."""

    parts: "tuple[Part, ...]"


@dataclass(frozen=True, slots=True)
class Padded:
    """A part that is padded with leading spaces to a width."""

    width: int
    part: "Part"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Letters with an unsupported meaning, of a time of day or a zone."""

    letters: str
    of: Literal["time", "zone"]


Part = Text | Number | Name | Zone | Optional | Padded | Unknown


@lru_cache(1000)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """Return the parts of a pattern.

    Raises:
        ValueError: the pattern is invalid.
    """
    open_parts: list[list[Part]] = [[]]
    padding = 0
    for token in _TOKEN.finditer(pattern):
        letters = token["letters"] or ""
        if padding and not letters:
            raise ValueError(pattern)
        if letters.startswith("p"):
            if padding:
                raise ValueError(pattern)
            padding = len(letters)
        elif letters:
            part = _field(letters)
            open_parts[-1].append(Padded(padding, part) if padding else part)
            padding = 0
        elif token["other"] == "[":
            open_parts.append([])
        elif token["other"] == "]":
            if len(open_parts) == 1:
                raise ValueError(pattern)
            inside = Optional(_side_by_side(open_parts.pop()))
            open_parts[-1].append(inside)
        elif token["other"] and token["other"] in "{}#'":
            raise ValueError(pattern)
        else:
            open_parts[-1].append(Text(_literal(token)))
    if padding:
        raise ValueError(pattern)
    while len(open_parts) > 1:
        inside = Optional(_side_by_side(open_parts.pop()))
        open_parts[-1].append(inside)
    return _side_by_side(open_parts[0])


def supported_parts_of(pattern: str) -> tuple[Part, ...]:
    """Return the parts of a pattern, all of which are supported.

    Raises:
        ValueError: the pattern is invalid.
        Unsupported: it has letters with an unsupported meaning.
    """
    parts = parts_of(pattern)
    for part in _inside(parts):
        if isinstance(part, Unknown):
            raise unsupported(part)
    return parts


def unsupported(part: Unknown) -> Unsupported:
    return Unsupported(f"{part.letters} in a pattern of times")


def _inside(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        match part:
            case Optional(parts=inside):
                yield from _inside(inside)
            case Padded(part=inner):
                yield inner
            case _:
                yield part


def _literal(token: re.Match[str]) -> str:
    if token["other"]:
        return token["other"]
    return token["quoted"].replace("''", "'") or "'"


def _side_by_side(parts: list[Part]) -> tuple[Part, ...]:
    """Limit the first of several adjacent numbers if the following have fixed lengths."""
    made: list[Part] = []
    first: int | None = None
    for part in parts:
        here = made[first] if first is not None else None
        if isinstance(part, Number) and isinstance(here, Number) and first is not None:
            if part.fixed:
                made[first] = replace(here, reserved=here.reserved + part.most)
            else:
                first = len(made)
        else:
            first = len(made) if isinstance(part, Number) else None
        made.append(part)
    return tuple(made)


def _field(letters: str) -> Part:  # noqa: PLR0911, PLR0912 - a table of cases
    letter, count = letters[0], len(letters)
    match letter:
        case "u" | "y":
            return _year("year" if letter == "u" else "year_of_era", count)
        case "M" | "L":
            return _number_or_name("month", count, MONTHS)
        case "Q" | "q":
            return _number_or_name("quarter", count, _QUARTERS)
        case "E":
            return _name("weekday", max(count, 3), DAYS)
        case "a" if count == 1:
            return Name("half", ("AM", "PM"), 0)
        case "D" if count <= 3:
            return Number("day_of_year", count, _WIDE if count == 1 else 3, _unsigned(count > 1))
        case "S":
            return Number("fraction", count, count, "none")
        case "A" | "n" | "N":
            field = {"A": "milli_of_day", "n": "nano", "N": "nano_of_day"}[letter]
            return Number(field, count, _WIDE, "none")
        case "V" | "z" | "X" | "x" | "Z" | "O" | "v":
            return _zone(letter, count)
        case "G" if count <= 5:
            return Name("era", _ERAS[max(count, 3) - 3], 0)
        case "Y":
            return _year("week_based_year", count)
        case "w" | "W" | "e" | "c":
            return _of_week(letter, count)
        case "F" if count == 1:
            return _plain("aligned_weekday", count)
        case "g":
            return Number("modified_julian_day", count, _WIDE)
        case "B" if count in {1, 4, 5}:
            return Unknown(letters, "time")
        case _ if letter in _NUMBERS and count <= 2:
            return _plain(_NUMBERS[letter], count)
        case _:
            raise ValueError(letters)


def _of_week(letter: str, count: int) -> Part:
    field, most = _WEEKS[letter]
    if count <= most:
        return Number(field, count, 2 if letter == "w" else count, "none")
    if field == "local_weekday" and count >= 3:
        return _name("weekday", count, DAYS)
    raise ValueError(letter * count)


def _unsigned(whether: bool) -> Sign:  # noqa: FBT001 - of its caller
    return "none" if whether else "negative"


def _plain(field: str, count: int) -> Number:
    return Number(field, 1, _WIDE) if count == 1 else Number(field, 2, 2, "none")


def _year(field: str, count: int) -> Number:
    if count == 2:
        return Number(f"short_{field}", 2, 2, "none")
    return Number(field, count, _WIDE, "negative" if count < 4 else "padded")


def _number_or_name(field: str, count: int, names: tuple[str, ...]) -> Part:
    return _plain(field, count) if count <= 2 else _name(field, count, names)


def _name(field: str, count: int, names: tuple[str, ...]) -> Name:
    short = {"quarter": tuple(f"Q{at}" for at in range(1, 5))}.get(
        field, tuple(name[:3] for name in names)
    )
    narrow = {"quarter": ("1", "2", "3", "4")}.get(field, tuple(name[:1] for name in names))
    found = {3: short, 4: names, 5: narrow}.get(count)
    if found is None:
        raise ValueError(field)
    return Name(field, found)


def _zone(letter: str, count: int) -> Zone | Unknown:  # noqa: PLR0911 - a table of cases
    match letter, count:
        case "V", 2:
            return Zone("id")
        case "z", 1 | 2 | 3:
            return Zone("name")
        case "O", 1:
            return Zone("offset", "O", "GMT")
        case (("O" | "Z"), 4):
            return Zone("offset", "OOOO", "GMT")
        case "Z", 1 | 2 | 3:
            return Zone("offset", "HHMM", "+0000")
        case "Z", 5:
            return Zone("offset", "HH:MM:ss", "Z")
        case (("X" | "x"), 1 | 2 | 3 | 4 | 5):
            zero = "Z" if letter == "X" else _ZEROS[count - 1]
            return Zone("offset", _OFFSETS[count - 1], zero)
        case ("z", 4) | ("v", 1 | 4):
            return Unknown(letter * count, "zone")
        case _:
            raise ValueError(letter * count)
