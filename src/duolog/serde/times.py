"""Times as numbers: milliseconds and days since 1970, within the years that Python supports."""

import datetime as dt
from typing import Final

from duolog.core.types import BIGINT, INT

MILLISECONDS_MIN: Final = -62_135_596_800_000  # 0001-01-01
MILLISECONDS_MAX: Final = 253_402_300_799_999  # 9999-12-31
DAYS_MIN: Final = -719_162  # 0001-01-01
DAYS_MAX: Final = 2_932_896  # 9999-12-31
INTEGER_BOUNDS: Final = {INT: (-(2**31), 2**31 - 1), BIGINT: (-(2**63), 2**63 - 1)}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def milliseconds_of(at: dt.datetime) -> int:
    """Return the milliseconds, truncated."""
    return (at - _EPOCH) // _MILLISECOND


def timestamp_of(milliseconds: int) -> dt.datetime:
    return _EPOCH + milliseconds * _MILLISECOND


def days_of(day: dt.date) -> int:
    return day.toordinal() - _EPOCH.toordinal()


def date_of(days: int) -> dt.date:
    return dt.date.fromordinal(days + _EPOCH.toordinal())


def time_text(milliseconds: int) -> str:
    """Return a time of day in its shortest form, as Java's LocalTime writes it.

    Example:
        >>> time_text(36_900_000), time_text(36_930_000), time_text(36_930_120)
        ('10:15', '10:15:30', '10:15:30.120')
    """
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if rest:
        return f"{text}:{second:02}.{rest:03}"
    return f"{text}:{second:02}" if second else text
