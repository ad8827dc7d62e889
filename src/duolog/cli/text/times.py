"""Parse times and durations given on the command line."""

import re
from datetime import UTC, datetime
from typing import Final

import click

TIME_MS_MAX: Final = 2**62
"""Largest timestamp that Kafka clients accept."""

_DATE_DIGITS: Final = 8
_EPOCH_YEAR: Final = 1970
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_ISO: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def read_time(text: str, now_ms: int) -> int:
    """Return milliseconds since 1970 from digits, RFC 3339, or an age such as `10m`.

    Example:
        >>> read_time("1385000000000", 0), read_time("2013-01-01T10:15:00Z", 0)
        (1385000000000, 1357035300000)
        >>> read_time("10m", 1_000_000)
        400000

    Raises:
        click.BadParameter: the text is none of these.
    """
    try:
        if _AGO.fullmatch(text):
            return max(0, now_ms - read_duration(text))
        return read_moment(text)
    except ValueError:
        raise click.BadParameter(
            f'"{text}" is not a time; use milliseconds, 2013-01-01T10:15:00Z or an age such as 10m'
        ) from None


def read_moment(text: str) -> int:
    """Return milliseconds since 1970 from digits or RFC 3339 (UTC if no zone is given).

    Eight digits that form a date after 1969 are read as that date (ISO 8601), not as milliseconds.

    Example:
        >>> read_moment("20260101") == read_moment("2026-01-01"), read_moment("20261301")
        (True, 20261301)

    Raises:
        ValueError: it is neither, or before 1970, or larger than any record timestamp.
    """
    if text.isdecimal() and not _is_date(text):
        return _in_range(int(text), text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _in_range(round(moment.timestamp() * 1000), text)


def _is_date(digits: str) -> bool:
    if len(digits) != _DATE_DIGITS:
        return False
    try:
        return datetime.fromisoformat(digits).year >= _EPOCH_YEAR
    except ValueError:
        return False


def _in_range(time_ms: int, text: str) -> int:
    if time_ms < 0:
        raise ValueError(f'"{text}" is before 1970')
    if time_ms > TIME_MS_MAX:
        raise ValueError(f'"{text}" is later than the largest record timestamp')
    return time_ms


def read_duration(text: str) -> int:
    """Return the milliseconds of a duration such as `500ms`, `10m`, or `P1DT2H` (ISO 8601).

    Example:
        >>> read_duration("10m"), read_duration("PT1H30M")
        (600000, 5400000)

    Raises:
        ValueError: it is neither.
    """
    if plain := _AGO.fullmatch(text):
        return int(plain[1]) * _UNITS_MS[plain[2]]
    iso = _ISO.fullmatch(text.upper())
    if iso is None or not any(iso.groups()):
        raise ValueError(f'"{text}" is not a duration; use 10m, 2h, 7d or PT10M')
    days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
