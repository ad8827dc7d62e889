"""The type objects and constructors that PEP 249 requires.

A type object is equal to the names of types that `Cursor.description` has: `NUMBER == "BIGINT"`.
"""

import datetime as dt
from typing import Final

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


class Kind:
    """Types of columns that are read as one kind of value."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            # DECIMAL(10, 2) is DECIMAL.
            return other.partition("(")[0] in self._names
        return self is other

    def __hash__(self) -> int:
        return hash(self._names)


STRING: Final = Kind("STRING")
BINARY: Final = Kind("BYTES")
NUMBER: Final = Kind("INT", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL")
DATETIME: Final = Kind("DATE", "TIME", "TIMESTAMP")
ROWID: Final = Kind()
"""No column is of this kind."""


def DateFromTicks(ticks: float) -> dt.date:
    """Return the date of a time in seconds since 1970, in UTC."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> dt.time:
    """Return the time of day of a time in seconds since 1970, in UTC."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:
    """Return a time in seconds since 1970 as a TIMESTAMP is: in UTC, without a zone."""
    return dt.datetime.fromtimestamp(ticks, dt.UTC).replace(tzinfo=None)
