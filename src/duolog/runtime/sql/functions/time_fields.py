"""Fields of a date and a time as a pattern has read them, and what they stand for; Java's smart way to resolve them.

A day that its month has not is the month's last one; 24:00 is the beginning of the next day.
"""

import calendar
import datetime as dt
from typing import Final

Fields = dict[str, int]

_CENTURY: Final = 2000
_BOUNDS: Final = {
    "month": (1, 12), "day": (1, 31), "day_of_year": (1, 366), "quarter": (1, 4), "weekday": (1, 7), "hour": (0, 24),
    "clock_hour": (1, 24), "hour_of_half": (0, 11), "clock_hour_of_half": (1, 12), "half": (0, 1), "minute": (0, 59),
    "second": (0, 59),
}  # fmt: skip
_SECOND: Final = 1_000_000_000


def ensure_within(fields: Fields) -> None:
    """Raise ValueError if a field has a value that it cannot have."""
    for name, (least, most) in _BOUNDS.items():
        if not least <= fields.get(name, least) <= most:
            raise ValueError(name)


def resolved_date(fields: Fields) -> dt.date | None:
    """Return the date that fields say in whole, or None.

    Raises:
        ValueError: they say none, or contradict each other.
    """
    ensure_within(fields)
    year = _year(fields)
    if year is None:
        return None
    found: dt.date | None = None
    if "month" in fields and "day" in fields:
        last = calendar.monthrange(year, fields["month"])[1]
        found = dt.date(year, fields["month"], min(fields["day"], last))
    if "day_of_year" in fields:
        by_number = dt.date(year, 1, 1) + dt.timedelta(days=fields["day_of_year"] - 1)
        if by_number.year != year or (found is not None and found != by_number):
            raise ValueError(fields)
        found = by_number
    if found is not None and fields.get("weekday", found.isoweekday()) != found.isoweekday():
        raise ValueError(fields)
    return found


def _year(fields: Fields) -> int | None:
    said = {
        *(fields[name] for name in ("year", "year_of_era") if name in fields),
        *(
            _CENTURY + fields[name]
            for name in ("short_year", "short_year_of_era")
            if name in fields
        ),
    }
    if len(said) > 1:
        raise ValueError(fields)
    return said.pop() if said else None


def resolved_nanos(fields: Fields) -> int:
    """Return the nanoseconds of a day that fields say; what they lack is 0.

    Raises:
        ValueError: they say none.
    """
    ensure_within(fields)
    if "nano_of_day" in fields or "milli_of_day" in fields:
        return fields.get("nano_of_day", fields.get("milli_of_day", 0) * 1_000_000)
    hour = _hour(fields)
    rest = fields.get("minute", 0) * 60 + fields.get("second", 0)
    nanos = rest * _SECOND + fields.get("nano", fields.get("fraction", 0))
    if hour == 24 and nanos:
        raise ValueError(fields)
    return (hour % 24) * 3600 * _SECOND + nanos


def _hour(fields: Fields) -> int:
    if "hour" in fields:
        return fields["hour"]
    if "clock_hour" in fields:
        return fields["clock_hour"] % 24
    of_half = fields.get("hour_of_half", fields.get("clock_hour_of_half"))
    if of_half is None or "half" not in fields:
        return 0
    return fields["half"] * 12 + of_half % 12
