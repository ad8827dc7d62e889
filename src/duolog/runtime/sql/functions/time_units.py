"""Add units such as DAY or DAYS (Java's ChronoUnit) to dates, times and timestamps."""

import calendar
import datetime as dt
from typing import Final

_DAY_MS: Final = 86_400_000
_MILLIS: Final = {
    "MILLISECONDS": 1,
    "MILLIS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "HALF_DAYS": 43_200_000,
    "DAYS": _DAY_MS,
}
_MONTHS: Final = {"MONTHS": 1, "YEARS": 12, "DECADES": 120, "CENTURIES": 1200, "MILLENNIA": 12_000}
_EPOCH: Final = dt.date(1970, 1, 1)


def added_to_date(unit: str, count: int, value: dt.date) -> dt.date:
    """Add to a date; a remainder of a day is cut off, towards 1970."""
    name = _plural(unit)
    if name in _MILLIS:
        days = (value - _EPOCH).days * _DAY_MS + _MILLIS[name] * count
        return _EPOCH + dt.timedelta(days=abs(days) // _DAY_MS * (1 if days > 0 else -1))
    return _by_calendar(name, count, value)


def added_to_time(unit: str, count: int, value: int) -> int:
    """Add to a time of day, in milliseconds; wraps at midnight.

    Units longer than hours have no effect.
    """
    name = _plural(unit)
    if name not in _MILLIS and name != "WEEKS" and name not in _MONTHS:
        raise ValueError(unit)
    return (value + (_MILLIS.get(name, 0) * count if name != "DAYS" else 0)) % _DAY_MS


def added_to_timestamp(unit: str, count: int, value: dt.datetime) -> dt.datetime:
    name = _plural(unit)
    if name in _MILLIS:
        return value + dt.timedelta(milliseconds=_MILLIS[name] * count)
    return dt.datetime.combine(_by_calendar(name, count, value.date()), value.time())


def _by_calendar(name: str, count: int, value: dt.date) -> dt.date:
    if name == "WEEKS":
        return value + dt.timedelta(weeks=count)
    months = value.year * 12 + value.month - 1 + _MONTHS[name] * count
    year, month = divmod(months, 12)
    return dt.date(year, month + 1, min(value.day, calendar.monthrange(year, month + 1)[1]))


def _plural(unit: str) -> str:
    name = unit.upper()
    return name if name.endswith("S") else name + "S"
