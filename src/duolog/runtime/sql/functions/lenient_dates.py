"""Parse dates as Java's SimpleDateFormat does, which PARSE_DATE uses.

    2026-02-30     2026-03-02       overflowing days and months continue in the next month and year
    2026-1-2 and   2026-01-02       numbers may have fewer digits; text after the date is ignored
    26-1-2         year 26          `yy` is a year near the current one

The calendar is always Gregorian. Letters for weeks and zones raise `Unsupported`.

Source: the documentation of java.text.SimpleDateFormat.
"""

import datetime as dt
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from duolog.plan.sql.time_patterns import DAYS, MONTHS, Unsupported

_TOKEN: Final = re.compile(
    r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL
)
_KNOWN: Final = "GyMLdDEuHkKhmsSa"
_LETTERS: Final = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
_NAMED: Final = 3
"""From this number of letters on, a month is a name."""
_NEAR_YEARS: Final = 80
_DIGITS_MAX: Final = 18
_MILLIS: Final = {"H": 3_600_000, "h": 3_600_000, "m": 60_000, "s": 1000, "S": 1}
_DAY_MS: Final = 86_400_000


def _of_both_lengths(names: Sequence[str]) -> tuple[Sequence[str], ...]:
    return names, [name[:_NAMED] for name in names]


_NAMES: Final = {
    "E": _of_both_lengths(DAYS),
    "a": (("AM", "PM"),),
    "G": (("Before Christ", "Anno Domini"), ("BC", "AD")),
}


class _Part(NamedTuple):
    """Letters of a field, or literal text."""

    letters: str
    text: str

    @property
    def is_number(self) -> bool:
        of_name = self.letters[:1] in {"E", "a", "G"}
        month = self.letters[:1] in {"M", "L"} and len(self.letters) >= _NAMED
        return bool(self.letters) and not of_name and not month


def read_date(text: str, pattern: str) -> dt.date:
    """Parse a date.

    Raises:
        ValueError: the text does not start with a date, or includes a time of day.
        Unsupported: the pattern has unsupported letters.
    """
    parts = _parts(pattern)
    fields: dict[str, int] = {}
    at = 0
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        joined = part.is_number and following is not None and following.is_number
        at = _take(text, at, part, fields, joined=joined)
    return _date(fields)


@lru_cache(1000)
def _parts(pattern: str) -> Sequence[_Part]:
    parts: list[_Part] = []
    unknown = ""
    for token in _TOKEN.finditer(pattern):
        letters, other = token["letters"] or "", token["other"] or ""
        if other == "'" or (letters and letters[0] not in _LETTERS):
            raise ValueError(pattern)
        if letters and letters[0] not in _KNOWN:
            unknown = unknown or letters
        quoted = (token["quoted"] or "").replace("''", "'") or "'"
        parts.append(_Part(letters, "" if letters else other or quoted))
    if unknown:
        raise Unsupported(f"{unknown} in a date pattern")
    return parts


def _take(text: str, at: int, part: _Part, fields: dict[str, int], *, joined: bool) -> int:
    if not part.letters:
        if not text.startswith(part.text, at):
            raise ValueError(text)
        return at + len(part.text)
    while text[at : at + 1] in {" ", "\t"}:
        at += 1
    letter, count = part.letters[0], len(part.letters)
    if part.is_number:
        digits = re.compile(rf"[0-9]{{1,{count if joined else _DIGITS_MAX}}}").match(text, at)
        if digits is None:
            raise ValueError(text)
        value = int(digits.group())
        short = letter == "y" and count <= 2 and len(digits.group()) == 2
        fields[letter] = _near(value) if short else value
        return digits.end()
    for names in _NAMES.get(letter, _of_both_lengths(MONTHS)):
        for place, name in enumerate(names):
            if text[at : at + len(name)].lower() == name.lower():
                fields[letter] = place + 1
                return at + len(name)
    raise ValueError(text)


def _near(year: int) -> int:
    """Return the year for two digits: up to 80 years before the current one, or 19 after it."""
    first = dt.datetime.now(dt.UTC).year - _NEAR_YEARS
    return first + (year - first) % 100


def _date(fields: dict[str, int]) -> dt.date:
    millis = sum(value * _MILLIS[name] for name, value in fields.items() if name in _MILLIS)
    millis += (fields.get("k", 0) % 24 + fields.get("K", 0)) * _MILLIS["H"]
    if fields.get("a") == 2 and ("h" in fields or "K" in fields):
        millis += 12 * _MILLIS["H"]
    days, rest = divmod(millis, _DAY_MS)
    if rest:
        raise ValueError(fields)
    year, month = fields.get("y", 1970), fields.get("M", fields.get("L", 1)) - 1
    if fields.get("G") == 1:
        year = 1 - year
    if "D" in fields:
        return dt.date(year, 1, 1) + dt.timedelta(days=fields["D"] - 1 + days)
    first = dt.date(year + month // 12, month % 12 + 1, 1)
    weekday = fields.get("E", fields.get("u"))
    if "d" not in fields and weekday is not None:
        # The first such weekday of the month.
        return first + dt.timedelta(days=(weekday - first.isoweekday()) % 7 + days)
    return first + dt.timedelta(days=fields.get("d", 1) - 1 + days)
