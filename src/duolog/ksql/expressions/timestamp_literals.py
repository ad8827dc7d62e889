"""Parse times, complete or abbreviated.

Missing parts get their smallest value, a missing zone is UTC.

    2018   2018-01   2018-01-01   2018-01-01T10   2018-01-01T10:30:59.001   …+0445   …Z

Source: ksqlDB's documentation of ROWTIME in WHERE.
"""

import datetime as dt
import re
from typing import Final

_MOMENT: Final = re.compile(
    r"(?P<year>\d{4})(-(?P<month>\d{1,2})(-(?P<day>\d{1,2}))?)?"
    r"([T ]((?P<hour>\d{1,2})(:(?P<minute>\d{1,2})"
    r"(:(?P<second>\d{1,2})(\.(?P<fraction>\d{1,9}))?)?)?)?"
    r"(?P<zone>Z|[+-]\d{2}(:?\d{2})?)?)?\Z"
)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def timestamp_of(text: str) -> dt.datetime:
    """Parse a timestamp; returns UTC.

    Raises:
        ValueError: the text is not a timestamp.

    Example:
        >>> print(timestamp_of("2019-01-01T00:00:00+0445"))
        2018-12-31 19:15:00+00:00
    """
    found = _MOMENT.match(text.strip())
    if found is None:
        raise ValueError(text)
    part = {name: int(found[name] or least) for name, least in _LEAST.items()}
    micros = int((found["fraction"] or "0").ljust(6, "0")[:6])
    local = dt.datetime(**part, microsecond=micros, tzinfo=_zone(found["zone"]))
    return local.astimezone(dt.UTC)


def millis_of(text: str) -> int:
    """Parse a timestamp; returns milliseconds since 1970.

    Raises:
        ValueError: the text is not a timestamp.
    """
    return (timestamp_of(text) - _EPOCH) // dt.timedelta(milliseconds=1)


def date_of(text: str) -> dt.date:
    """Parse a date.

    Raises:
        ValueError: the text is not a date.
    """
    return timestamp_of(text).date()


def time_of(text: str) -> int:
    """Parse a time of day; returns milliseconds.

    Raises:
        ValueError: the text is not a time of day.
    """
    at = dt.time.fromisoformat(text.strip())
    seconds = (at.hour * 60 + at.minute) * 60 + at.second
    return seconds * 1000 + at.microsecond // 1000


_LEAST: Final = {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}


def _zone(text: str | None) -> dt.tzinfo:
    if text in {None, "Z"}:
        return dt.UTC
    assert text is not None
    digits = text[1:].replace(":", "").ljust(4, "0")
    away = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-away if text[0] == "-" else away)
