"""Windows of the calendar: days, weeks, months, quarters and years of a time zone.

    day      Europe/Berlin   [30 March 00:00, 31 March 00:00)    23 hours: clocks are put forward
    month    UTC             [1 February 00:00, 1 March 00:00)   28 or 29 days

    day      … offset 6 h    [30 March 06:00, 31 March 06:00)

A window begins with the first moment of its first date, or as much later as its offset says: by the local clock, so
that a day from 6 o'clock on begins at 6 whatever the clocks did that night. A date that a zone has left out has no
window. Where clocks go back over the begin, what comes twice belongs to the later date; where they are put forward
over it, the window begins as much later. The kernel's `CalendarWindows` says the same in Java.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from duolog.core.units import DAY_MS
from duolog.core.windowed_key import NO_END, WindowedKey
from duolog.plan.errors import InvalidPlan, unknown_name

Unit = Literal["day", "week", "month", "quarter", "year"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_MIN: Final = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
_DAYS_MAX: Final = {"day": 2, "week": 8, "month": 32, "quarter": 93, "year": 367}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
# The calendar, weekdays too, is the same every 400 years; Python's ends with the year 9999.
_CYCLE_MS: Final = 146_097 * DAY_MS
_LAST_MS: Final = 18 * _CYCLE_MS


@dataclass(frozen=True, slots=True)
class CalendarWindows:
    """The days, weeks, … of `zone`, side by side; weeks begin on `first_day`."""

    unit: Unit
    zone: str
    first_day: str = "monday"
    grace_ms: int = 0
    graced: bool = True
    """Whether somebody has said so, be it 0."""
    offset_ms: int = 0
    """How much later than a date windows begin, by the local clock."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise unknown_name("unit of the calendar", self.unit, UNITS)
        if self.first_day not in DAYS:
            raise unknown_name("day", self.first_day, DAYS)
        if self.grace_ms < 0:
            raise InvalidPlan("the grace period is negative")
        if not 0 <= self.offset_ms < _DAYS_MIN[self.unit] * DAY_MS:
            raise InvalidPlan(
                f"{self.unit}s of the calendar have no offset of {self.offset_ms} ms",
                hint=f"Give one below {_DAYS_MIN[self.unit] * 24} hours, which a {self.unit} has at least.",
            )
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise unknown_name("time zone", self.zone, sorted(available_timezones())) from error

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the start of the window that a record is in.

        Example:
            >>> list(CalendarWindows("month", "Europe/Berlin").starts(1_000_000_000_000))
            [999295200000]
        """
        cycles = _cycles(timestamp_ms)
        at = timestamp_ms - cycles * _CYCLE_MS
        first = self._first(self._date(at))
        if self._at(first) > at:  # clocks were put forward over its begin
            first = self._first(first - dt.timedelta(days=1))
        following = self._at(self._following(first))
        yield (following if at >= following else self._at(first)) + cycles * _CYCLE_MS

    def end(self, start: int) -> int:
        """Return the end of the window that starts here: the first millisecond behind it."""
        cycles = _cycles(start)
        date = self._first(self._date(start - cycles * _CYCLE_MS))
        end = start
        while end <= start:
            date = self._following(date)
            end = self._at(date) + cycles * _CYCLE_MS
        return min(NO_END, end)

    @property
    def kept_ms(self) -> int:
        """How long a window's row is kept at least, from its start on."""
        return _DAYS_MAX[self.unit] * DAY_MS + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is this much or more beyond its end."""
        return self.grace_ms

    def let_go_until(self, stream_time: int) -> int:
        """Return the end up to which rows of windows are kept no more."""
        return next(self.starts(stream_time)) - self.grace_ms

    @property
    def key(self) -> WindowedKey:
        return WindowedKey()

    def __str__(self) -> str:
        grace = f", grace {self.grace_ms} ms" if self.grace_ms else ""
        first = f" from {self.first_day} on" if self.unit == "week" else ""
        offset = f", offset {self.offset_ms} ms" if self.offset_ms else ""
        return f"calendar {self.unit}s{first} of {self.zone}{offset}{grace}"

    def _date(self, timestamp_ms: int) -> dt.date:
        """Return the last date that has begun by the local clock, as much later as the offset says."""
        at = _EPOCH + timestamp_ms * _MILLISECOND
        local = at.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        return (local - self.offset_ms * _MILLISECOND).date()

    def _at(self, date: dt.date) -> int:
        """Return the moment with which a window begins whose first date this is."""
        local = dt.datetime(date.year, date.month, date.day) + self.offset_ms * _MILLISECOND  # noqa: DTZ001
        # In a gap Python takes the offset of before: of midnight's that is the moment at which it ends.
        at = local.replace(tzinfo=ZoneInfo(self.zone))
        return (at.astimezone(dt.UTC) - _EPOCH) // _MILLISECOND

    def _first(self, date: dt.date) -> dt.date:
        """Return the first date of the window that a date is in."""
        if self.unit == "day":
            return date
        if self.unit == "week":
            return date - dt.timedelta(days=(date.weekday() - DAYS.index(self.first_day)) % 7)
        months = _MONTHS[self.unit]
        return date.replace(month=(date.month - 1) // months * months + 1, day=1)

    def _following(self, first: dt.date) -> dt.date:
        """Return the first date of the window behind the one that begins with `first`."""
        if self.unit in {"day", "week"}:
            return first + dt.timedelta(days=1 if self.unit == "day" else 7)
        month = first.month - 1 + _MONTHS[self.unit]
        return first.replace(year=first.year + month // 12, month=month % 12 + 1)


def _cycles(timestamp_ms: int) -> int:
    """Return how many times the calendar has to be turned back for Python to know the year."""
    return 0 if timestamp_ms <= _LAST_MS else 1 + (timestamp_ms - _LAST_MS) // _CYCLE_MS
