"""Time zones by Java's ZoneId names: Z, +05:30, UTC+2, Europe/Paris."""

import datetime as dt
import re
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET: Final = re.compile(
    r"(?P<before>UTC|GMT|UT)?(?P<sign>[+-])(?P<hour>\d{1,2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?)?"
)
_HOURS_MAX: Final = 18


@lru_cache(1000)
def zone(name: str) -> dt.tzinfo:
    """Return a zone.

    Raises:
        ValueError: there is no such zone.
    """
    if name in {"Z", "UTC", "GMT", "UT"}:
        return dt.timezone(dt.timedelta(0), name)
    found = _OFFSET.fullmatch(name)
    if found is not None:
        return _away(found)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error


def _away(found: re.Match[str]) -> dt.timezone:
    digits = found.group().lstrip("UTCGM").lstrip("+-")
    if len(digits) == 3:
        raise ValueError(found.group())
    away = dt.timedelta(
        hours=int(found["hour"]),
        minutes=int(found["minute"] or 0),
        seconds=int(found["second"] or 0),
    )
    if away > dt.timedelta(hours=_HOURS_MAX):
        raise ValueError(found.group())
    return dt.timezone(-away if found["sign"] == "-" else away)


def converted(at: dt.datetime, given: str, wanted: str) -> dt.datetime:
    """Convert a local time in zone `given` to the local time in zone `wanted`."""
    return at.replace(tzinfo=zone(given)).astimezone(zone(wanted)).replace(tzinfo=None)
