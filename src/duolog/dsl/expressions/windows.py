"""Windows as users write them: `tumbling("1 hour", grace="5 minutes")`.

Source: Kafka Streams `TimeWindows`, `SessionWindows`, `SlidingWindows`, `UnlimitedWindows`.
"""

import datetime as dt

from duolog.dsl.handles.short_tracebacks import short_tracebacks_of
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows
from duolog.plan.windows.calendar_windows import CalendarWindows, Unit


def tumbling(
    size: Duration, *, grace: Duration | None = None, offset: Duration = "0 s"
) -> TimeWindows:
    """Return adjacent windows of `size`: each record is in one.

    Windows start at multiples of their size since 1970, UTC. For days and months of a time zone use
    `calendar`.

    Args:
        size: the length of a window.
        grace: for how long after its end a window accepts late records. Time is measured by the
            records' timestamps, not by the clock. Default: none; results on close require it.
        offset: shifts the start of windows; a negative timedelta shifts it back.

    Example:
        >>> print(tumbling("1 hour", grace="5 minutes"))
        tumbling windows of 3600000 ms, grace 300000 ms
    """
    return hopping(size, size, grace=grace, offset=offset)


def hopping(
    size: Duration, advance: Duration, *, grace: Duration | None = None, offset: Duration = "0 s"
) -> TimeWindows:
    """Return windows of `size`, one starting every `advance`: a record is in several.

    Example:
        >>> print(hopping("1 hour", "15 minutes", offset="5 minutes"))
        hopping windows of 3600000 ms every 900000 ms, offset 300000 ms
    """
    size_ms, advance_ms = milliseconds(size, "size"), milliseconds(advance, "advance")
    offset_ms = milliseconds(offset, "offset") % max(1, advance_ms)
    return TimeWindows(size_ms, advance_ms, _grace_ms(grace), offset_ms, grace is not None)


def calendar(
    unit: Unit,
    *,
    time_zone: str,
    first_day: str = "monday",
    grace: Duration | None = None,
    offset: Duration = "0 s",
) -> CalendarWindows:
    """Return the days, weeks, months, quarters or years of a time zone: each record is in one.

    A day starts with its first moment in the time zone, so some days have 23 hours and some 25.

    Args:
        unit: "day", "week", "month", "quarter" or "year".
        time_zone: its name: "Europe/Berlin", or "UTC".
        first_day: the first day of a week, in English.
        grace: as for `tumbling`.
        offset: shifts the start of windows, in local time: "6 hours" for days that start at 6
            o'clock, "2 days" for months that start on the third day.

    Example:
        >>> print(calendar("week", time_zone="America/New_York", first_day="sunday"))
        calendar weeks from sunday on of America/New_York
    """
    offset_ms = milliseconds(offset, "offset")
    graced = grace is not None
    return CalendarWindows(unit, time_zone, first_day.lower(), _grace_ms(grace), graced, offset_ms)


def sliding(difference: Duration, *, grace: Duration | None = None) -> SlidingWindows:
    """Return windows of records that are at most `difference` apart, one for each set of them.

    For each record of a key there is the window that ends with it, and one that starts directly
    after it if it contains a record. Both bounds are inclusive. A record is in as many windows as
    there are records near it: each costs a row, and an update per record.

    Example:
        >>> print(sliding("10 minutes"))
        sliding windows of 600000 ms
    """
    return SlidingWindows(
        milliseconds(difference, "difference"), _grace_ms(grace), grace is not None
    )


def unlimited(start: dt.datetime | str | None = None) -> UnlimitedWindows:
    """Return one window without an end. Records before its start are in no window.

    Args:
        start: a datetime with a time zone, or its ISO text; by default 1970.

    Example:
        >>> print(unlimited("2026-01-01T00:00+01:00"))
        one window from 1767222000000 on without an end
    """
    return UnlimitedWindows(0 if start is None else instant_ms(start))


def session(gap: Duration, *, grace: Duration | None = None) -> SessionWindows:
    """Return windows of activity: a session lasts while records of a key are at most `gap` apart.

    A record between two sessions merges them. The bounds are the timestamps of the first and the
    last record, so the end is inclusive.

    Example:
        >>> print(session("30 minutes"))
        sessions 1800000 ms apart
    """
    return SessionWindows(milliseconds(gap, "gap"), _grace_ms(grace), grace is not None)


def _grace_ms(grace: Duration | None) -> int:
    return 0 if grace is None else milliseconds(grace, "grace")


def instant_ms(instant: dt.datetime | str) -> int:
    """Return a time with a time zone in milliseconds since 1970."""
    try:
        at = dt.datetime.fromisoformat(instant) if isinstance(instant, str) else instant
    except ValueError as error:
        raise InvalidPlan(
            f"cannot read the time {instant!r}", hint='Write "2026-01-01T00:00+01:00".'
        ) from error
    if at.tzinfo is None:
        raise InvalidPlan(
            f"{at} has no time zone",
            hint=f'Add one: "{at.isoformat()}+00:00", or a datetime with tzinfo.',
        )
    return (at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


short_tracebacks_of(globals())
