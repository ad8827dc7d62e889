"""Calendar windows: days, weeks, months, quarters and years in a time zone.

    day      Europe/Berlin   [30 March 00:00, 31 March 00:00)    23 hours: clocks are put forward
    month    UTC             [1 February 00:00, 1 March 00:00)   28 or 29 days

    day      … offset 6 h    [30 March 06:00, 31 March 06:00)

A window starts with the first moment of its first date, plus its offset in local time: a day with
an offset of 6 hours starts at 6 o'clock even if clocks changed during the night. A date that a time
zone skipped has no window. If clocks are turned back across the start of a window, the repeated
time belongs to the later window; if they are put forward across it, the window starts later by that
much. The kernel's `CalendarWindows` implements the same in Java.
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
# The calendar, including weekdays, repeats every 400 years; Python's calendar ends in the year
# 9999.
_CYCLE_MS: Final = 146_097 * DAY_MS
_LAST_MS: Final = 18 * _CYCLE_MS


@dataclass(frozen=True, slots=True)
class CalendarWindows:
    """The adjacent days, weeks, … of a time zone; weeks start on `first_day`."""

    unit: Unit
    zone: str
    first_day: str = "monday"
    grace_ms: int = 0
    graced: bool = True
    """True if the user gave a grace period, possibly 0."""
    offset_ms: int = 0
    """How much later than its date a window starts, in local time."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise unknown_name("unit of the calendar", self.unit, UNITS)
        if self.first_day not in DAYS:
            raise unknown_name("day", self.first_day, DAYS)
        if self.grace_ms < 0:
            raise InvalidPlan("the grace period is negative")
        if not 0 <= self.offset_ms < _DAYS_MIN[self.unit] * DAY_MS:
            raise InvalidPlan(
                f"{self.unit}s of the calendar cannot have an offset of {self.offset_ms} ms",
                hint=f"Use less than {_DAYS_MIN[self.unit] * 24} hours, the minimum length of a "
                f"{self.unit}.",
            )
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise unknown_name("time zone", self.zone, sorted(available_timezones())) from error

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the start of the window that contains a record.

        Example:
            >>> list(CalendarWindows("month", "Europe/Berlin").starts(1_000_000_000_000))
            [999295200000]
        """
        cycles = _cycles(timestamp_ms)
        at = timestamp_ms - cycles * _CYCLE_MS
        first = self._first(self._date(at))
        if self._at(first) > at:  # clocks were put forward across its start
            first = self._first(first - dt.timedelta(days=1))
        following = self._at(self._following(first))
        yield (following if at >= following else self._at(first)) + cycles * _CYCLE_MS

    def end(self, start: int) -> int:
        """Return the exclusive end of the window with this start."""
        cycles = _cycles(start)
        date = self._first(self._date(start - cycles * _CYCLE_MS))
        end = start
        while end <= start:
            date = self._following(date)
            end = self._at(date) + cycles * _CYCLE_MS
        return min(NO_END, end)

    @property
    def kept_ms(self) -> int:
        """The minimum time for which a window's row is stored, from the window's start."""
        return _DAYS_MAX[self.unit] * DAY_MS + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is at least this much beyond its end."""
        return self.grace_ms

    def let_go_until(self, stream_time: int) -> int:
        """Return the window end up to which rows are evicted."""
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
        """Return the last date that has started in local time, taking the offset into account."""
        at = _EPOCH + timestamp_ms * _MILLISECOND
        local = at.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        return (local - self.offset_ms * _MILLISECOND).date()

    def _at(self, date: dt.date) -> int:
        """Return the start of the window with this first date."""
        local = dt.datetime(date.year, date.month, date.day) + self.offset_ms * _MILLISECOND  # noqa: DTZ001
        # In a gap Python uses the offset before it; for midnight this is the end of the gap.
        at = local.replace(tzinfo=ZoneInfo(self.zone))
        return (at.astimezone(dt.UTC) - _EPOCH) // _MILLISECOND

    def _first(self, date: dt.date) -> dt.date:
        """Return the first date of the window that contains a date."""
        if self.unit == "day":
            return date
        if self.unit == "week":
            return date - dt.timedelta(days=(date.weekday() - DAYS.index(self.first_day)) % 7)
        months = _MONTHS[self.unit]
        return date.replace(month=(date.month - 1) // months * months + 1, day=1)

    def _following(self, first: dt.date) -> dt.date:
        """Return the first date of the window after the one that starts with `first`."""
        if self.unit in {"day", "week"}:
            return first + dt.timedelta(days=1 if self.unit == "day" else 7)
        month = first.month - 1 + _MONTHS[self.unit]
        return first.replace(year=first.year + month // 12, month=month % 12 + 1)


def _cycles(timestamp_ms: int) -> int:
    """Return by how many 400-year cycles to shift a time so that Python supports its year."""
    return 0 if timestamp_ms <= _LAST_MS else 1 + (timestamp_ms - _LAST_MS) // _CYCLE_MS
