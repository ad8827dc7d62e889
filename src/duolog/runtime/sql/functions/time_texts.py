"""Format and parse dates, times and timestamps by patterns of Java's DateTimeFormatter.

Parsing ignores case, and takes missing fields from 1970-01-01 00:00:00. Timestamps are in UTC and
have no zone; times of day are milliseconds.
"""

import datetime as dt
from collections.abc import Sequence
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
    parts_of,
    unsupported,
)
from duolog.plan.types import BIGINT, INT, Type
from duolog.runtime.sql.functions.time_fields import (
    Fields,
    ensure_within,
    moved,
    near,
    resolved_date,
    resolved_nanos,
)
from duolog.runtime.sql.functions.time_reader import read
from duolog.runtime.sql.functions.zones import converted, zone
from duolog.serde.times import INTEGER_BOUNDS

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

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps here are in UTC without a zone
_DAY_ONE: Final = dt.date(1970, 1, 1)
_DAY_MS: Final = 86_400_000
_NANOS: Final = 1_000_000
_UTC: Final = ("UTC", "Etc/UTC")
_NARROW: Final = 5
_DAY_PERIODS: Final = (
    (21, "at night"),
    (18, "in the evening"),
    (12, "in the afternoon"),
    (6, "in the morning"),
    (0, "at night"),
)


def date_text(value: dt.date, pattern: str) -> str:
    return _written(parts_of(pattern), _of_date(value), None)


def days_text(days: int, pattern: str) -> str:
    years, there = near(days)
    date = _DAY_ONE + dt.timedelta(days=there)
    return _written(parts_of(pattern), _of_date(date, years), None)


def time_text(millis: int, pattern: str) -> str:
    return _written(parts_of(pattern), _of_time(millis * _NANOS), None)


def timestamp_text(value: dt.datetime, pattern: str, zone_name: str = "UTC") -> str:
    return millis_text((value - _EPOCH) // dt.timedelta(milliseconds=1), pattern, zone_name)


def millis_text(millis: int, pattern: str, zone_name: str = "UTC") -> str:
    days, rest = divmod(millis, _DAY_MS)
    years, there_days = near(days)
    at = _EPOCH + dt.timedelta(days=there_days, milliseconds=rest)
    there = at.replace(tzinfo=dt.UTC).astimezone(zone(zone_name))
    seconds = (there.hour * 60 + there.minute) * 60 + there.second
    of_day = _of_time((seconds * 1_000_000 + there.microsecond) * 1000)
    return _written(parts_of(pattern), _of_date(there.date(), years) | of_day, (there, zone_name))


def text_days(text: str, pattern: str) -> int:
    """Return days since 1970; the pattern must give the whole date, and case matters."""
    found, _ = read(parts_of(pattern), text, any_case=False)
    fields, apart = moved(found)
    whole = resolved_date(fields)
    if whole is None:
        raise ValueError(text)
    return _within((whole - _DAY_ONE).days + apart, INT)


def text_time(text: str, pattern: str) -> int:
    found, _ = read(parts_of(pattern), text)
    return resolved_nanos(found) // _NANOS


def text_timestamp(text: str, pattern: str, zone_name: str = "UTC") -> dt.datetime:
    """Return a timestamp in UTC; the zone is that of the text, or else the one given."""
    return _EPOCH + dt.timedelta(milliseconds=text_millis(text, pattern, zone_name))


def text_millis(text: str, pattern: str, zone_name: str = "UTC") -> int:
    found, said = read(parts_of(pattern), text)
    fields, apart = moved(found)
    date, nanos = _date(fields), resolved_nanos(fields)
    at = dt.datetime.combine(date, dt.time()) + dt.timedelta(milliseconds=nanos // _NANOS)
    there = at.replace(tzinfo=zone(zone_name) if said is None else said)
    millis = (there - _EPOCH.replace(tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    return _within(millis + apart * _DAY_MS, BIGINT)


def _within(value: int, of: Type) -> int:
    least, most = INTEGER_BOUNDS[of]
    if not least <= value <= most:
        raise ValueError(value)
    return value


def _date(found: Fields) -> dt.date:
    whole = resolved_date(found)
    if whole is not None:
        return whole + dt.timedelta(days=found.get("hour") == 24)
    ensure_within(found)
    return dt.date(found.get("year", 1970), found.get("month", 1), found.get("day", 1))


def _of_date(value: dt.date, years: int = 0) -> Fields:
    year = value.year + years
    # The year before year 1 is year 0, the first one of the previous era.
    of_era = year if year > 0 else 1 - year
    # Locale.US: weeks start on Sunday, and the first week contains 1 January.
    sunday_based = value.isoweekday() % 7
    first_of_year = (sunday_based - value.timetuple().tm_yday + 1) % 7
    is_next = value.month == 12 and value.day + 6 - sunday_based > 31
    week = 1 if is_next else (value.timetuple().tm_yday - 1 + first_of_year) // 7 + 1
    return {
        "year": year,
        "era": int(year > 0),
        "week_based_year": year + is_next,
        "short_week_based_year": abs(year + is_next) % 100,
        "week": week,
        "week_of_month": (value.day - 1 + (sunday_based - value.day + 1) % 7) // 7 + 1,
        "local_weekday": sunday_based + 1,
        "aligned_weekday": (value.day - 1) % 7 + 1,
        "modified_julian_day": (value - _DAY_ONE).days + years // 400 * 146_097 + 40_587,
        "year_of_era": of_era,
        "short_year": abs(year) % 100,
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
    """Format fields.

    Raises:
        KeyError: a field of the pattern is missing.
        ValueError: a field has more digits than the pattern.
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
            case Padded(width, inner):
                made.append(_padded(_written((inner,), fields, place), width))
            case Unknown():
                made.append(_in_words(part, fields, place))
            case Optional(inside):
                try:
                    made.append(_written(inside, fields, place))
                except KeyError:
                    continue
    return "".join(made)


def _digits(part: Number, value: int) -> str:
    if part.field == "fraction":
        return f"{value:09}".ljust(part.most, "0")[: part.most]
    text = str(abs(value)).rjust(part.least, "0")
    if len(text) > part.most or (value < 0 and part.sign == "none"):
        raise ValueError(value)
    if value < 0:
        return f"-{text}"
    return f"+{text}" if part.sign == "padded" and len(text) > part.least else text


def _padded(text: str, width: int) -> str:
    if len(text) > width:
        raise ValueError(text)
    return text.rjust(width)


def _in_words(part: Unknown, fields: Fields, place: tuple[dt.datetime, str] | None) -> str:
    """Return the day period, or the long name of UTC.

    Raises:
        KeyError: time or zone is missing.
        Unsupported: it is another zone.
    """
    if part.of == "time":
        return _day_period(part.letters, fields)
    if place is None:
        raise KeyError(part.of)
    if place[1] not in _UTC:
        raise unsupported(part)
    return "UTC" if part.letters == "v" else "Coordinated Universal Time"


def _day_period(letters: str, fields: Fields) -> str:
    """Return the day period in words."""
    hour = fields["hour"]
    if hour % 12 == 0 and fields["minute"] == 0:
        narrow = len(letters) == _NARROW
        return ("noon", "n")[narrow] if hour else ("midnight", "mi")[narrow]
    return next(period for least, period in _DAY_PERIODS if hour >= least)


def _abbreviated(at: dt.datetime) -> str:
    """Return the short name of a zone.

    Before zones existed, that of today's standard time, as in Java.
    """
    short_name = at.tzname() or ""
    if short_name != "LMT" or at.tzinfo is None:
        return short_name
    new_year = dt.datetime(2024, 1, 1, tzinfo=at.tzinfo)
    today = new_year if not new_year.dst() else new_year.replace(month=7)
    return today.tzname() or ""


def _zone_text(  # noqa: PLR0911 - a table of cases
    part: Zone, place: tuple[dt.datetime, str] | None
) -> str:
    if place is None:
        raise KeyError("zone")
    at, name = place
    if part.form == "id":
        return name
    if part.form == "name":
        short_name = _abbreviated(at)
        if not short_name.isalpha():
            raise Unsupported(f"z in a time pattern, for {name}")
        return short_name
    away = at.utcoffset()
    assert away is not None, at
    seconds = int(away.total_seconds())
    if seconds == 0:
        return part.zero
    sign = "-" if seconds < 0 else "+"
    minutes, second = divmod(abs(seconds), 60)
    hour, minute = divmod(minutes, 60)
    both, behind = f"{sign}{hour:02}:{minute:02}", f":{second:02}" if second else ""
    match part.pattern:
        case "O":
            minutes_text = f":{minute:02}{behind}" if minute or second else ""
            return f"GMT{sign}{hour}{minutes_text}"
        case "OOOO":
            return f"GMT{both}{behind}"
        case "HHmm":
            return f"{sign}{hour:02}" + (f"{minute:02}" if minute else "")
        case "HHMM":
            return both.replace(":", "")
        case "HHMMss":
            return (both + behind).replace(":", "")
        case "HH:MM:ss":
            return both + behind
        case _:
            return both
