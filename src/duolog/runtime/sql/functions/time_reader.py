"""Parse text by the parts of a pattern, as Java's DateTimeFormatter does."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from duolog.plan.sql.time_patterns import (
    Name,
    Number,
    Optional,
    Padded,
    Part,
    Text,
    Unknown,
    Unsupported,
    Zone,
    unsupported,
)
from duolog.runtime.sql.functions.time_fields import Fields
from duolog.runtime.sql.functions.zones import zone

_OFFSETS: Final = {
    "HHmm": re.compile(r"[+-]\d\d(?:\d\d)?"),
    "HHMM": re.compile(r"[+-]\d{4}"),
    "HH:MM": re.compile(r"[+-]\d\d:\d\d"),
    "HHMMss": re.compile(r"[+-]\d{4}(?:\d\d)?"),
    "HH:MM:ss": re.compile(r"[+-]\d\d:\d\d(?::\d\d)?"),
}
_GMT: Final = {
    "O": re.compile(r"GMT(?P<away>[+-]\d{1,2}(?::\d\d(?::\d\d)?)?)?", re.IGNORECASE),
    "OOOO": re.compile(r"GMT(?P<away>[+-]\d\d:\d\d(?::\d\d)?)?", re.IGNORECASE),
}
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9~/._-]*(?:[+-]\d{1,2}(?::?\d\d)*)?|[+-]\d\d(?::?\d\d)*")
_AMERICAN: Final = {
    "P": "America/Los_Angeles",
    "M": "America/Denver",
    "C": "America/Chicago",
    "E": "America/New_York",
}
_SHORT: Final = {
    f"{letter}{kind}": name for letter, name in _AMERICAN.items() for kind in ("ST", "DT", "T")
}


def read(
    parts: Sequence[Part], text: str, *, any_case: bool = True
) -> tuple[Fields, dt.tzinfo | None]:
    """Return the fields and the zone of a text.

    Raises:
        ValueError: it does not match the pattern.
    """
    reader = _Reader(text, any_case)
    if reader.take(parts, 0) != len(text):
        raise ValueError(text)
    return reader.fields, reader.zone


@dataclass
class _Reader:
    text: str
    any_case: bool
    fields: Fields = field(default_factory=dict)
    zone: dt.tzinfo | None = None

    def take(self, parts: Sequence[Part], at: int) -> int:
        for part in parts:
            at = self._one(part, at)
        return at

    def _one(self, part: Part, at: int) -> int:  # noqa: PLR0911 - a table of cases
        match part:
            case Text(text):
                if not self._stands(text, at):
                    raise ValueError(self.text)
                return at + len(text)
            case Number():
                return self._number(part, at)
            case Name(name, names, first):
                return self._name(name, names, first, at)
            case Zone():
                return self._zone(part, at)
            case Padded(width, inner):
                return self._padded(width, inner, at)
            case Unknown():
                raise unsupported(part)
            case Optional(inside):
                kept = dict(self.fields)
                try:
                    return self.take(inside, at)
                except ValueError:
                    self.fields = kept
                    return at

    def _padded(self, width: int, part: Part, at: int) -> int:
        end = at + width
        if end > len(self.text):
            raise ValueError(self.text)
        while at < end and self.text[at] == " ":
            at += 1
        whole, self.text = self.text, self.text[:end]
        try:
            if self._one(part, at) != end:
                raise ValueError(whole)
        finally:
            self.text = whole
        return end

    def _stands(self, wanted: str, at: int) -> bool:
        found = self.text[at : at + len(wanted)]
        return found == wanted or (self.any_case and found.upper() == wanted.upper())

    def _number(self, part: Number, at: int) -> int:
        sign = self.text[at : at + 1] if part.sign != "none" else ""
        sign = sign if sign in {"-", "+"} else ""
        start = at + len(sign)
        most = part.most + part.reserved
        end = start
        while end < len(self.text) and end - start < most and self.text[end] in "0123456789":
            end += 1
        if part.reserved:
            end = start + max(part.least, end - start - part.reserved) if end > start else start
        count = end - start
        longer = count > part.least
        refused = sign == "+" if part.sign == "negative" else (sign == "+") != longer
        if count < part.least or (part.sign != "none" and sign != "-" and refused):
            raise ValueError(self.text)
        digits = self.text[start:end]
        value = int(digits.ljust(9, "0")[:9]) if part.field == "fraction" else int(digits)
        self._put(part.field, -value if sign == "-" else value)
        return end

    def _name(self, name: str, names: Sequence[str], first: int, at: int) -> int:
        longest = sorted(enumerate(names), key=lambda one: -len(one[1]))
        for place, wording in longest:
            if self._stands(wording, at):
                self._put(name, place + first)
                return at + len(wording)
        raise ValueError(self.text)

    def _put(self, name: str, value: int) -> None:
        if self.fields.setdefault(name, value) != value:
            raise ValueError(self.text)

    def _zone(self, part: Zone, at: int) -> int:
        if part.form != "offset":
            return self._zone_name(part, at)
        if part.pattern in _GMT:
            gmt = _GMT[part.pattern].match(self.text, at)
            if gmt is None:
                raise ValueError(self.text)
            self.zone = zone(gmt["away"] or "Z")
            return gmt.end()
        if self._stands(part.zero, at):
            self.zone = dt.UTC
            return at + len(part.zero)
        found = _OFFSETS[part.pattern].match(self.text, at)
        if found is None:
            raise ValueError(self.text)
        self.zone = zone(found.group())
        return found.end()

    def _zone_name(self, part: Zone, at: int) -> int:
        found = _ID.match(self.text, at)
        if found is None:
            raise ValueError(self.text)
        said = found.group()
        name = _SHORT.get(said.upper(), said) if part.form == "name" else said
        try:
            self.zone = zone(name.upper() if name.upper() in {"Z", "UTC", "GMT"} else name)
        except ValueError as error:
            if part.form == "name":
                raise Unsupported(f"the name {said} of a time zone") from error
            raise
        return found.end()
