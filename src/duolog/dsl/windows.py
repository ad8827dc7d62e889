"""Windows as people write them: `tumbling("1 hour", grace="5 minutes")`.

Source: Kafka Streams `TimeWindows`, `SessionWindows`.
"""

import datetime as dt
import re
from typing import Final

from duolog.core.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from duolog.plan.errors import InvalidPlan
from duolog.plan.windows import SessionWindows, TimeWindows

Duration = str | dt.timedelta
"""How long: a timedelta, or a text such as "90 seconds" or "1 hour 30 minutes"."""

_PART: Final = re.compile(r"(\d+) *([a-z]+)[ ,]*")
_UNITS: Final = {
    1: ("ms", "millisecond", "milliseconds"),
    SECOND_MS: ("s", "sec", "second", "seconds"),
    MINUTE_MS: ("m", "min", "minute", "minutes"),
    HOUR_MS: ("h", "hour", "hours"),
    DAY_MS: ("d", "day", "days"),
}
_MILLISECONDS: Final = {name: unit for unit, names in _UNITS.items() for name in names}


def tumbling(size: Duration, *, grace: Duration = "0 s") -> TimeWindows:
    """Return windows of `size` that stand side by side: each record is in one.

    Windows begin at whole multiples of their size since 1970, UTC.

    Args:
        size: how long a window is.
        grace: how long after its end a window still takes records that are late. Time is what the
            records' timestamps say, not the clock.

    Example:
        >>> print(tumbling("1 hour", grace="5 minutes"))
        tumbling windows of 3600000 ms, grace 300000 ms
    """
    size_ms = milliseconds(size, "size")
    return TimeWindows(size_ms, size_ms, milliseconds(grace, "grace"))


def hopping(size: Duration, advance: Duration, *, grace: Duration = "0 s") -> TimeWindows:
    """Return windows of `size`, one beginning with every `advance`: a record is in several.

    Example:
        >>> print(hopping("1 hour", "15 minutes"))
        hopping windows of 3600000 ms every 900000 ms
    """
    sizes = (milliseconds(size, "size"), milliseconds(advance, "advance"))
    return TimeWindows(*sizes, milliseconds(grace, "grace"))


def session(gap: Duration, *, grace: Duration = "0 s") -> SessionWindows:
    """Return windows of activity: a session lasts while records of a key are `gap` apart at most.

    A record between two sessions joins them into one. The bounds are the times of the first and of the last
    record, so the end is in the session.

    Example:
        >>> print(session("30 minutes"))
        sessions 1800000 ms apart
    """
    return SessionWindows(milliseconds(gap, "gap"), milliseconds(grace, "grace"))


def milliseconds(duration: Duration, what: str) -> int:
    """Return a duration in milliseconds; `what` it is for stands in the error.

    Example:
        >>> milliseconds("1 hour 30 minutes", "size"), milliseconds(dt.timedelta(seconds=1.5), "size")
        (5400000, 1500)
    """
    if isinstance(duration, dt.timedelta):
        whole, rest = divmod(duration, dt.timedelta(milliseconds=1))
        if rest:
            raise InvalidPlan(
                f"the {what} {duration} is no whole number of milliseconds",
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
