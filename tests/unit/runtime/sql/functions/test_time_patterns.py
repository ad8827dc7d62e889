"""Patterns of Java's DateTimeFormatter in Python; expected texts are from Java 17, Locale.US."""

import datetime as dt

import pytest

from duolog.plan.sql.time_patterns import Unsupported, parts_of, supported_parts_of
from duolog.runtime.sql.functions.lenient_dates import read_date
from duolog.runtime.sql.functions.time_texts import (
    date_text,
    days_text,
    millis_text,
    text_days,
    text_millis,
    text_time,
    time_text,
)

LEAP_DAY = dt.date(2024, 2, 29)
AFTERNOON_MS = 1_709_210_707_000
"""2024-02-29T12:45:07Z."""
LEAST, GREATEST = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("G y", "AD 2024"), ("GGGG", "Anno Domini"), ("GGGGG", "A"), ("YYYY-'W'ww-e", "2024-W09-5"), ("w", "9"), ("W", "5"), ("ee", "05"),
        ("c", "5"), ("eee", "Thu"), ("cccc", "Thursday"), ("F", "1"), ("g", "60369"), ("pppd", " 29"), ("ppppppMMM", "   Feb"), ("YY", "24"),
    ],
)  # fmt: skip
def test_letters_of_weeks_eras_and_padding(pattern: str, text: str) -> None:
    assert date_text(LEAP_DAY, pattern) == text


@pytest.mark.parametrize(
    ("date", "text"),
    [
        ((2024, 12, 28), "2024 52 4"),
        ((2024, 12, 29), "2025 1 5"),
        ((2025, 1, 1), "2025 1 1"),
        ((2023, 1, 1), "2023 1 1"),
        ((9999, 12, 31), "10000 1 5"),
    ],
)
def test_weeks_begin_on_sunday_and_the_first_has_the_first_of_january(
    date: tuple[int, int, int], text: str
) -> None:
    assert date_text(dt.date(*date), "Y w W") == text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("OOOO", "GMT+01:00"),
        ("ZZZZ", "GMT+01:00"),
        ("O", "GMT+1"),
        ("XXXX", "+0100"),
        ("XXXXX", "+01:00"),
        ("xxxx", "+0100"),
        ("ZZZZZ", "+01:00"),
        ("h B", "1 in the afternoon"),
    ],
)
def test_offsets_and_times_of_a_day(pattern: str, text: str) -> None:
    assert millis_text(AFTERNOON_MS, pattern, "Europe/Paris") == text


def test_before_standard_time_a_zone_has_its_local_mean_time() -> None:
    year_1 = -62_135_596_800_000

    reported = millis_text(year_1, "uuuu-MM-dd'T'HH:mm:ssZZZZZ O x z", "Europe/Paris")

    assert reported == "0001-01-01T00:09:21+00:09:21 GMT+0:09:21 +0009 CET"
    assert millis_text(-(2**63), "z", "America/New_York") == "EST"


@pytest.mark.parametrize(
    ("days", "pattern", "text"),
    [
        (LEAST, "uuuu/M/d", "-5877641/6/23"),
        (GREATEST, "uuuu-MM-dd", "+5881580-07-11"),
        (-1_000_000, "y G", "769 BC"),
        (-1_000_000, "uuuu", "-0768"),
    ],
)
def test_dates_outside_the_years_of_python(days: int, pattern: str, text: str) -> None:
    assert days_text(days, pattern) == text


@pytest.mark.parametrize(
    "days", [LEAST, -1_000_000, -719_163, -719_162, 0, 2_932_896, 2_932_897, GREATEST]
)
@pytest.mark.parametrize("pattern", ["uuuu-MM-dd", "y G D", "g", "d/M/uuuu"])
def test_days_are_read_as_they_are_written(days: int, pattern: str) -> None:
    assert text_days(days_text(days, pattern), pattern) == days


@pytest.mark.parametrize(
    ("text", "pattern", "millis"),
    [
        ("70", "yy", 3_155_760_000_000), ("2024 9 5", "Y w e", 1_709_164_800_000), ("2024-W53-7", "YYYY-'W'ww-e", 1_735_344_000_000),
        ("2024 2 5 Thu", "y M W eee", 1_709_164_800_000), ("60369", "g", 1_709_164_800_000), (" 29/02/2024", "pppd/MM/y", 1_709_164_800_000),
        ("GMT+01:00 13 29/02/2024", "OOOO H d/MM/y", 1_709_208_000_000), ("+00 12", "x H", 43_200_000), ("Z 12", "XXXXX H", 43_200_000),
        ("44 BC 3 15", "y G M d", -63_517_824_000_000), ("292278994", "y", 9_223_372_017_129_600_000),
    ],
)  # fmt: skip
def test_times_are_read(text: str, pattern: str, millis: int) -> None:
    assert text_millis(text, pattern) == millis


@pytest.mark.parametrize(
    ("text", "pattern", "hour"),
    [("PM", "a", 18), ("AM", "a", 6), ("PM 1", "a h", 13), ("4", "Q", 0), ("12", "Q", 0)],
)
def test_am_or_pm_alone_is_the_middle_of_that_half_day(text: str, pattern: str, hour: int) -> None:
    assert text_time(text, pattern) == hour * 3_600_000


@pytest.mark.parametrize(
    ("millis", "text"),
    [(0, "midnight"), (60_000, "at night"), (21_600_000, "in the morning"), (43_200_000, "noon"), (43_260_000, "in the afternoon"), (64_800_000, "in the evening"), (75_600_000, "at night")],
)  # fmt: skip
def test_a_time_of_a_day_in_words(millis: int, text: str) -> None:
    assert time_text(millis, "B") == text


@pytest.mark.parametrize("pattern", ["]", "yyyy]", "p", "pp-", "ppppd p", "FF", "WW", "cc", "GGGGGG", "vv", "BB", "VVV", "b", "{", "#"])  # fmt: skip
def test_invalid_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says of them
        parts_of(pattern)


@pytest.mark.parametrize("pattern", ["zzzz", "vvvv", "H B", "[HH:mm zzzz]", "ppppB"])
def test_unsupported_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(Unsupported):
        supported_parts_of(pattern)


def test_a_long_zone_name_is_supported_for_utc_only() -> None:
    assert millis_text(0, "zzzz v") == "Coordinated Universal Time UTC"
    with pytest.raises(Unsupported, match="zzzz"):
        millis_text(0, "zzzz", "Europe/Paris")
    with pytest.raises(KeyError):
        date_text(LEAP_DAY, "zzzz")


@pytest.mark.parametrize(
    ("text", "pattern", "date"),
    [
        ("Friday", "EEEE", (1970, 1, 2)),
        ("Monday", "EEEE", (1970, 1, 5)),
        ("Mon 2 2024", "E M y", (2024, 2, 5)),
        ("4", "u", (1970, 1, 1)),
        ("AD 2024-02-30", "G yyyy-MM-dd", (2024, 3, 1)),
        ("Anno Domini", "GGGG", (1970, 1, 1)),
        ("0000009999", "yyyyyyyyyy", (9999, 1, 1)),
    ],
)
def test_dates_are_read_leniently(text: str, pattern: str, date: tuple[int, int, int]) -> None:
    assert read_date(text, pattern) == dt.date(*date)


def test_an_invalid_date_pattern_gives_null() -> None:
    with pytest.raises(ValueError, match="aXb"):
        read_date("2024", "aXb,c")
    with pytest.raises(Unsupported):
        read_date("2024", "yyyy w")
