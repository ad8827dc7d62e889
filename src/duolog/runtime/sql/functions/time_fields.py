"""Resolve the fields of a parsed date and time, as Java's smart resolver does.

Days after the end of a month become its last day; 24:00 is the start of the next day. Years outside
of Python's range are shifted by multiples of 400, the period of the calendar including weekdays.
"""

import calendar
import datetime as dt
from collections.abc import Iterator
from typing import Final

Fields = dict[str, int]

_CENTURY: Final = 2000
_YEAR_MAX: Final = 999_999_999
_BOUNDS: Final = {
    "year": (-_YEAR_MAX, _YEAR_MAX),
    "year_of_era": (1, _YEAR_MAX),
    "week_based_year": (-_YEAR_MAX, _YEAR_MAX),
    "month": (1, 12),
    "day": (1, 31),
    "day_of_year": (1, 366),
    "weekday": (1, 7),
    "local_weekday": (1, 7),
    "week": (1, 53),
    "week_of_month": (0, 6),
    "aligned_weekday": (1, 7),
    "hour": (0, 24),
    "clock_hour": (1, 24),
    "hour_of_half": (0, 11),
    "clock_hour_of_half": (1, 12),
    "half": (0, 1),
    "minute": (0, 59),
    "second": (0, 59),
}
_SECOND: Final = 1_000_000_000
_ERA_YEARS: Final = 400
_ERA_DAYS: Final = 146_097
_YEARS: Final = (4, 9990)
"""Years with enough distance to the limits of Python's dates."""
_DAYS: Final = (-719_100, 2_932_800)
"""The same in days since 1970, in any zone."""
_EPOCH_NUMBER: Final = 40_587
"""Modified Julian day of 1 January 1970."""


def ensure_within(fields: Fields) -> None:
    """Raise ValueError if a field is out of range."""
    for name, (least, most) in _BOUNDS.items():
        if not least <= fields.get(name, least) <= most:
            raise ValueError(name)


def moved(fields: Fields) -> tuple[Fields, int]:
    """Return the fields with a year in Python's range, and the days by which they were shifted."""
    ensure_within(fields)
    year = year_of(fields)
    if year is None:
        number = fields.get("modified_julian_day", _EPOCH_NUMBER)
        years, day = near(number - _EPOCH_NUMBER)
        if not years:
            return fields, 0
        return fields | {"modified_julian_day": day + _EPOCH_NUMBER}, number - _EPOCH_NUMBER - day
    eras = _eras(year, _YEARS, _ERA_YEARS)
    without = {name: value for name, value in fields.items() if name not in _OF_YEARS}
    return without | {"year": year - eras * _ERA_YEARS}, eras * _ERA_DAYS


def near(days: int) -> tuple[int, int]:
    """Return years, and remaining days since 1970, of a day that may be out of Python's range."""
    eras = _eras(days, _DAYS, _ERA_DAYS)
    return eras * _ERA_YEARS, days - eras * _ERA_DAYS


def _eras(value: int, bounds: tuple[int, int], size: int) -> int:
    """Return the minimal number of eras by which a value has to be shifted into its bounds."""
    least, most = bounds
    if value < least:
        return (value - least) // size
    return -((most - value) // size) if value > most else 0


def resolved_date(fields: Fields) -> dt.date | None:
    """Return the date of the fields, or None if it is incomplete.

    Raises:
        ValueError: the fields are invalid or contradict each other.
    """
    ensure_within(fields)
    said = set(_dates(fields))
    if len(said) > 1:
        raise ValueError(fields)
    found = said.pop() if said else None
    weekday = _weekday(fields)
    if found is not None and weekday not in {None, found.isoweekday()}:
        raise ValueError(fields)
    return found


def _dates(fields: Fields) -> Iterator[dt.date]:
    """Yield the date of each complete group of fields."""
    if "modified_julian_day" in fields:
        yield dt.date(1970, 1, 1) + dt.timedelta(days=fields["modified_julian_day"] - _EPOCH_NUMBER)
    year, weekday = year_of(fields), _weekday(fields)
    week_year = _one_of(fields, "week_based_year", "short_week_based_year")
    if week_year is not None and "week" in fields and weekday is not None:
        yield _of_week(week_year, fields["week"], weekday)
    if year is None:
        return
    if "month" in fields and "day" in fields:
        last = calendar.monthrange(year, fields["month"])[1]
        yield dt.date(year, fields["month"], min(fields["day"], last))
    elif "month" in fields and "week_of_month" in fields and weekday is not None:
        first = dt.date(year, fields["month"], 1)
        weeks = fields["week_of_month"] - 1
        yield first + dt.timedelta(days=7 * weeks + weekday % 7 - first.isoweekday() % 7)
    if "day_of_year" in fields:
        by_number = dt.date(year, 1, 1) + dt.timedelta(days=fields["day_of_year"] - 1)
        if by_number.year != year:
            raise ValueError(fields)
        yield by_number


def _of_week(year: int, week: int, weekday: int) -> dt.date:
    """Return a day of a week in Locale.US; after a year's last week, that is used."""
    first, following = (_first_sunday(one) for one in (year, year + 1))
    week = min(week, (following - first).days // 7)
    return first + dt.timedelta(days=7 * (week - 1) + weekday % 7)


def _first_sunday(year: int) -> dt.date:
    """Return the first day of the week of 1 January."""
    first = dt.date(year, 1, 1)
    return first - dt.timedelta(days=first.isoweekday() % 7)


def _weekday(fields: Fields) -> int | None:
    """Return the weekday of the fields; Monday is 1."""
    said = {fields[name] for name in ("weekday",) if name in fields}
    said |= {(fields[name] - 2) % 7 + 1 for name in ("local_weekday",) if name in fields}
    if len(said) > 1:
        raise ValueError(fields)
    return said.pop() if said else None


def year_of(fields: Fields) -> int | None:
    """Return the year of the fields.

    Raises:
        ValueError: they have several.
    """
    of_era = _one_of(fields, "year_of_era", "short_year_of_era")
    if of_era is not None and fields.get("era") == 0:
        of_era = 1 - of_era
    said = {one for one in (of_era, _one_of(fields, "year", "short_year")) if one is not None}
    if len(said) > 1:
        raise ValueError(fields)
    return said.pop() if said else None


_OF_YEARS: Final = ("year", "short_year", "year_of_era", "short_year_of_era", "era")


def _one_of(fields: Fields, name: str, short: str) -> int | None:
    """Return a year given in full or by its last two digits."""
    said = {fields[name]} if name in fields else set()
    said |= {_CENTURY + fields[short]} if short in fields else set()
    if len(said) > 1:
        raise ValueError(fields)
    return said.pop() if said else None


_OF_TIMES: Final = frozenset(
    {
        "half",
        "hour",
        "clock_hour",
        "hour_of_half",
        "clock_hour_of_half",
        "minute",
        "second",
        "nano",
        "fraction",
    }
)


def resolved_nanos(fields: Fields) -> int:
    """Return the nanoseconds of the day; missing fields are 0.

    Raises:
        ValueError: the fields are invalid.
    """
    ensure_within(fields)
    if "nano_of_day" in fields or "milli_of_day" in fields:
        return fields.get("nano_of_day", fields.get("milli_of_day", 0) * 1_000_000)
    if fields.keys() & _OF_TIMES == {"half"}:
        # Only AM or PM is given: the middle of that half-day.
        return (fields["half"] * 12 + 6) * 3600 * _SECOND
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
