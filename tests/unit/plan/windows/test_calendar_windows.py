"""Calendar windows, compared with DuckDB's time zones and with the kernel's windows."""

import datetime as dt
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog import calendar
from duolog.core.errors import StatementError
from duolog.plan.windows.calendar_windows import DAYS, UNITS, CalendarWindows, Unit
from unit.kernel.java_program import run_java

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",  # clocks were put forward at midnight: some days begin at 1
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Kiritimati",
)
LAST_MS = 2_000_000_000_000
HOUR_MS = 3_600_000
SHORTEST_MS: dict[str, int] = {
    unit: days * 24 * HOUR_MS for unit, days in zip(UNITS, (1, 7, 28, 90, 365), strict=True)
}
OFFSETS: dict[str, int] = {
    unit: shortest - 43 * HOUR_MS // 2 for unit, shortest in SHORTEST_MS.items()
}
"""Half past two on the first day or the last one."""


def at_ms(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp() * 1000)


def bounds(windows: CalendarWindows, timestamp_ms: int) -> tuple[int, int]:
    (start,) = windows.starts(timestamp_ms)
    return start, windows.end(start)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@settings(max_examples=300)
@given(
    unit=st.sampled_from(UNITS),
    zone=st.sampled_from(ZONES),
    first_day=st.sampled_from(DAYS),
    timestamp_ms=st.integers(0, LAST_MS),
)
def test_windows_start_at_the_same_times_as_in_duckdb(
    duck: duckdb.DuckDBPyConnection, unit: Unit, zone: str, first_day: str, timestamp_ms: int
) -> None:
    start, end = bounds(CalendarWindows(unit, zone, first_day), timestamp_ms)

    assert start <= timestamp_ms < end
    found = [start_by(duck, unit, zone, first_day, at) for at in (timestamp_ms, end - 1, end)]
    assert found == [start, start, end]


def start_by(
    duck: duckdb.DuckDBPyConnection, unit: Unit, zone: str, first_day: str, timestamp_ms: int
) -> int:
    # DuckDB's weeks begin on Monday: another day is moved there and back, on the local clock.
    days = DAYS.index(first_day) if unit == "week" else 0
    row = duck.execute(
        f"SELECT epoch_ms((date_trunc('{unit}', epoch_ms({timestamp_ms}) AT TIME ZONE 'UTC' "
        f"AT TIME ZONE '{zone}' - INTERVAL {days} DAY) + INTERVAL {days} DAY) AT TIME ZONE '{zone}')"
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_days_have_the_hours_of_local_clocks() -> None:
    days = CalendarWindows("day", "Europe/Berlin")

    def hours(text: str) -> float:
        start, end = bounds(days, at_ms(text))
        return (end - start) / HOUR_MS

    assert hours("2026-03-29T12:00+02:00") == 23
    assert hours("2026-10-25T12:00+01:00") == 25
    assert hours("2026-10-26T12:00+01:00") == 24


def test_windows_start_later_by_their_offset() -> None:
    days = CalendarWindows("day", "Europe/Berlin", offset_ms=int(2.5 * HOUR_MS))

    def begin(text: str) -> dt.datetime:
        start, end = bounds(days, at_ms(text))
        assert start <= at_ms(text) < end
        return dt.datetime.fromtimestamp(start / 1000, dt.UTC)

    assert begin("2026-03-28T12:00+01:00") == dt.datetime(2026, 3, 28, 1, 30, tzinfo=dt.UTC)
    # Half past two is left out: the day begins at half past three, and what is before it is in the
    # day before.
    assert begin("2026-03-29T03:29+02:00") == dt.datetime(2026, 3, 28, 1, 30, tzinfo=dt.UTC)
    assert begin("2026-03-29T03:30+02:00") == dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)
    # It is there twice: the day begins with the first one, and does not end with the second.
    assert begin("2026-10-25T02:29+02:00") == dt.datetime(2026, 10, 24, 0, 30, tzinfo=dt.UTC)
    assert begin("2026-10-25T02:30+02:00") == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)
    assert begin("2026-10-25T02:29+01:00") == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)


@settings(max_examples=200)
@given(
    unit=st.sampled_from(UNITS),
    zone=st.sampled_from(ZONES),
    timestamp_ms=st.integers(400 * 24 * HOUR_MS, LAST_MS),
    share=st.integers(0, 99),
)
def test_windows_with_an_offset_are_adjacent(
    unit: Unit, zone: str, timestamp_ms: int, share: int
) -> None:
    windows = CalendarWindows(unit, zone, offset_ms=SHORTEST_MS[unit] * share // 100)

    start, end = bounds(windows, timestamp_ms)

    assert start <= timestamp_ms < end
    assert bounds(windows, start) == bounds(windows, end - 1) == (start, end)
    assert bounds(windows, end)[0] == end


STRANGE = [
    ("day", "Europe/Berlin", "2026-03-29T03:15:00+02:00"),
    ("day", "Europe/Berlin", "2026-10-25T02:10:00+01:00"),
    ("day", "Pacific/Apia", "2011-12-29T23:59:59-10:00"),  # the 30th was left out
    ("day", "Pacific/Apia", "2011-12-31T00:00:00+14:00"),
    ("day", "America/St_Johns", "2006-10-28T23:30:00-02:30"),  # and once more, from 00:01 back
    ("day", "America/St_Johns", "2006-10-28T23:30:00-03:30"),
    ("day", "America/St_Johns", "2006-10-29T00:00:30-02:30"),
    ("week", "America/St_Johns", "2006-10-28T23:30:00-03:30"),
    ("month", "Europe/Berlin", "2024-02-29T12:00:00+01:00"),
    ("quarter", "Asia/Kathmandu", "1986-01-01T00:05:00+05:30"),
    ("year", "America/New_York", "1970-01-01T00:00:00+00:00"),
    ("year", "Europe/Berlin", "9999-12-30T00:00:00+00:00"),
]


def test_windows_start_at_the_same_times_as_in_the_kernel() -> None:
    far = [(unit, "America/New_York", at) for unit in UNITS for at in (2**53, 2**62)]
    some = [
        (unit, zone, number * 29_123_456_789 % LAST_MS)
        for number, (unit, zone) in enumerate((u, z) for u in UNITS for z in ZONES)
    ]
    cases = [(unit, zone, at_ms(text)) for unit, zone, text in STRANGE] + far + some
    offsets = [0] * len(cases) + [OFFSETS[unit] for unit, _, _ in cases]
    cases *= 2
    words = [
        (unit.upper(), zone, "SUNDAY", offset, at)
        for (unit, zone, at), offset in zip(cases, offsets, strict=True)
    ]

    found = iter(map(int, run_java("CalendarBounds", *(part for case in words for part in case))))

    for (unit, zone, at), offset in zip(cases, offsets, strict=True):
        windows = CalendarWindows(unit, zone, "sunday", offset_ms=offset)  # type: ignore[arg-type]
        expected = bounds(windows, at)
        assert (next(found), next(found)) == expected, (windows, at)
        assert expected[0] <= at < expected[1]


@pytest.mark.parametrize(
    ("unit", "zone", "first_day", "said"),
    [
        ("fortnight", "UTC", "monday", "fortnight"),
        ("day", "Europe/Berln", "monday", "Europe/Berlin"),
        ("day", "../etc/passwd", "monday", "time zone"),
        ("week", "UTC", "mon", "monday"),
    ],
)
def test_invalid_calendar_windows_are_refused(
    unit: Unit, zone: str, first_day: str, said: str
) -> None:
    with pytest.raises(StatementError) as caught:
        calendar(unit, time_zone=zone, first_day=first_day)

    assert said in caught.value.render()


def test_an_offset_must_be_shorter_than_the_shortest_window() -> None:
    assert calendar("month", time_zone="UTC", offset="27 days").offset_ms == 27 * 24 * HOUR_MS
    with pytest.raises(StatementError) as caught:
        calendar("month", time_zone="UTC", offset="28 days")

    assert "less than 672 hours" in caught.value.render()
