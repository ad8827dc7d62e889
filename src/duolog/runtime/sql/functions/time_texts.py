"""Dates, times of a day and timestamps as texts in patterns of Java's DateTimeFormatter, and read from them.

When read, upper and lower case are the same, and what the pattern lacks is that of 1970-01-01 00:00:00. A timestamp is one
in UTC without a zone; a time of a day is milliseconds.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from duolog.plan.sql.time_patterns import (
    Name,
    Number,
    Optional,
    Part,
    Text,
    Unsupported,
    Zone,
    parts_of,
)
from duolog.runtime.sql.functions.time_fields import (
    Fields,
    ensure_within,
    resolved_date,
    resolved_nanos,
)
from duolog.runtime.sql.functions.time_reader import read
from duolog.runtime.sql.functions.zones import converted, zone

__all__ = [
    "converted",
    "date_text",
    "days_text",
    "millis_text",
    "text_days",
    "text_millis",
    "text_time",
    "text_timestamp",
    "time_text",
    "timestamp_text",
]

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of UTC, as timestamps are here
_DAY_ONE: Final = dt.date(1970, 1, 1)
_DAY_MS: Final = 86_400_000
_ERA_YEARS: Final = 400
_ERA_DAYS: Final = 146_097
_NEAR_DAYS: Final = (-700_000, 2_900_000)
"""Days that are near enough in any zone."""
_NANOS: Final = 1_000_000


def date_text(value: dt.date, pattern: str) -> str:
    return _written(parts_of(pattern), _of_date(value), None)


def days_text(days: int, pattern: str) -> str:
    years, near = _near(days)
    return _written(parts_of(pattern), _of_date(_DAY_ONE + dt.timedelta(days=near), years), None)


def time_text(millis: int, pattern: str) -> str:
    return _written(parts_of(pattern), _of_time(millis * _NANOS), None)


def timestamp_text(value: dt.datetime, pattern: str, zone_name: str = "UTC") -> str:
    return millis_text((value - _EPOCH) // dt.timedelta(milliseconds=1), pattern, zone_name)


def millis_text(millis: int, pattern: str, zone_name: str = "UTC") -> str:
    days, rest = divmod(millis, _DAY_MS)
    years, near = _near(days)
    at = _EPOCH + dt.timedelta(days=near, milliseconds=rest)
    there = at.replace(tzinfo=dt.UTC).astimezone(zone(zone_name))
    seconds = (there.hour * 60 + there.minute) * 60 + there.second
    of_day = _of_time((seconds * 1_000_000 + there.microsecond) * 1000)
    return _written(parts_of(pattern), _of_date(there.date(), years) | of_day, (there, zone_name))


def _near(days: int) -> tuple[int, int]:
    """Return the years, and the days since 1970 without them, of a day whose year Python's dates lack.

    The calendar repeats every 400 years, weekdays and all.
    """
    if _NEAR_DAYS[0] <= days <= _NEAR_DAYS[1]:
        return 0, days
    eras = days // _ERA_DAYS
    return eras * _ERA_YEARS, days - eras * _ERA_DAYS


def text_days(text: str, pattern: str) -> int:
    """Return days since 1970; the pattern must say the whole date, and case counts."""
    found, _ = read(parts_of(pattern), text, any_case=False)
    whole = resolved_date(found)
    if whole is None:
        raise ValueError(text)
    return (whole - _DAY_ONE).days


def text_time(text: str, pattern: str) -> int:
    found, _ = read(parts_of(pattern), text)
    return resolved_nanos(found) // _NANOS


def text_timestamp(text: str, pattern: str, zone_name: str = "UTC") -> dt.datetime:
    """Return a time in UTC; the zone is that of the text, else the one given."""
    found, said = read(parts_of(pattern), text)
    date, nanos = _date(found), resolved_nanos(found)
    at = dt.datetime.combine(date, dt.time()) + dt.timedelta(milliseconds=nanos // _NANOS)
    there = at.replace(tzinfo=zone(zone_name) if said is None else said)
    return there.astimezone(dt.UTC).replace(tzinfo=None)


def text_millis(text: str, pattern: str, zone_name: str = "UTC") -> int:
    return (text_timestamp(text, pattern, zone_name) - _EPOCH) // dt.timedelta(milliseconds=1)


def _date(found: Fields) -> dt.date:
    whole = resolved_date(found)
    if whole is not None:
        return whole + dt.timedelta(days=found.get("hour") == 24)
    ensure_within(found)
    year = found.get("year", found.get("year_of_era", 1970))
    return dt.date(year, found.get("month", 1), found.get("day", 1))


def _of_date(value: dt.date, years: int = 0) -> Fields:
    year = value.year + years
    # The year before the year 1 is the year 0, which is the first one of the era before.
    of_era = year if year > 0 else 1 - year
    return {
        "year": year,
        "year_of_era": of_era,
        "short_year": year % 100,
        "short_year_of_era": of_era % 100,
        "month": value.month,
        "quarter": (value.month + 2) // 3,
        "day": value.day,
        "day_of_year": value.timetuple().tm_yday,
        "weekday": value.isoweekday(),
    }


def _of_time(nanos: int) -> Fields:
    seconds, nano = divmod(nanos, 1_000_000_000)
    hour = seconds // 3600
    return {
        "hour": hour,
        "clock_hour": hour or 24,
        "hour_of_half": hour % 12,
        "clock_hour_of_half": hour % 12 or 12,
        "half": hour // 12,
        "minute": seconds // 60 % 60,
        "second": seconds % 60,
        "nano": nano,
        "fraction": nano,
        "milli_of_day": nanos // _NANOS,
        "nano_of_day": nanos,
    }


def _written(parts: Sequence[Part], fields: Fields, place: tuple[dt.datetime, str] | None) -> str:
    """Return the text of fields.

    Raises:
        KeyError: the pattern asks for a field that is not there.
        ValueError: it has more digits than the pattern.
    """
    made: list[str] = []
    for part in parts:
        match part:
            case Text(text):
                made.append(text)
            case Number():
                made.append(_digits(part, fields[part.field]))
            case Name(field, names, first):
                made.append(names[fields[field] - first])
            case Zone():
                made.append(_zone_text(part, place))
            case Optional(inside):
                try:
                    made.append(_written(inside, fields, place))
                except KeyError:
                    continue
    return "".join(made)


def _digits(part: Number, value: int) -> str:
    if part.field == "fraction":
        return f"{value:09}".ljust(part.most, "0")[: part.most]
    text = str(value).rjust(part.least, "0")
    if len(text) > part.most:
        raise ValueError(value)
    return f"+{text}" if part.sign == "padded" and len(text) > part.least else text


def _zone_text(  # noqa: PLR0911 - a table of cases
    part: Zone, place: tuple[dt.datetime, str] | None
) -> str:
    if place is None:
        raise KeyError("zone")
    at, name = place
    if part.form == "id":
        return name
    if part.form == "name":
        told = at.tzname() or ""
        if not told.isalpha():
            raise Unsupported(f"z in a pattern of times, for {name}")
        return told
    away = at.utcoffset()
    assert away is not None, at
    seconds = int(away.total_seconds())
    sign = "-" if seconds < 0 else "+"
    hours, rest = divmod(abs(seconds), 3600)
    minutes = rest // 60
    if part.pattern == "O":
        return "GMT" + (f"{sign}{hours}" + (f":{minutes:02}" if minutes else "") if seconds else "")
    if seconds == 0:
        return part.zero
    match part.pattern:
        case "HHmm":
            return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
        case "HHMM":
            return f"{sign}{hours:02}{minutes:02}"
        case _:
            return f"{sign}{hours:02}:{minutes:02}"
