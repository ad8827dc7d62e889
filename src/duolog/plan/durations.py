"""Durations as text, such as "1 hour 30 minutes", or as a timedelta."""

import datetime as dt
import re
from typing import Final

from duolog.core.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from duolog.plan.errors import InvalidPlan

Duration = str | dt.timedelta
"""A timedelta, or a text such as "90 seconds" or "1 hour 30 minutes"."""

_PART: Final = re.compile(r"(\d+) *([a-z]+)[ ,]*")
_UNITS: Final = {
    1: ("ms", "millisecond", "milliseconds"),
    SECOND_MS: ("s", "sec", "second", "seconds"),
    MINUTE_MS: ("m", "min", "minute", "minutes"),
    HOUR_MS: ("h", "hour", "hours"),
    DAY_MS: ("d", "day", "days"),
}
_MILLISECONDS: Final = {name: unit for unit, names in _UNITS.items() for name in names}


def milliseconds(duration: Duration, what: str) -> int:
    """Return a duration in milliseconds; the error calls it `what`.

    Example:
        >>> milliseconds("1 hour 30 minutes", "size")
        5400000
        >>> milliseconds(dt.timedelta(seconds=1.5), "size")
        1500
    """
    if isinstance(duration, dt.timedelta):
        whole, rest = divmod(duration, dt.timedelta(milliseconds=1))
        if rest:
            raise InvalidPlan(
                f"the {what} {duration} is not a whole number of milliseconds",
                detail="Timestamps of records are milliseconds.",
            )
        return whole
    text = duration.strip().lower() if isinstance(duration, str) else ""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text) or any(unit not in _MILLISECONDS for _, unit in parts):
        raise InvalidPlan(
            f"cannot read the {what} {duration!r}",
            hint='Write "90 seconds", "1 hour 30 minutes" or a timedelta; units are ms, seconds, '
            "minutes, hours and days.",
        )
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in parts)
