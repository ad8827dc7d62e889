import click
import pytest

from duolog.cli.text.times import read_duration, read_time


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1000", 1000),
        ("2013-01-01T10:15:00Z", 1_357_035_300_000),
        ("2013-01-01T05:15:00-05:00", 1_357_035_300_000),
        ("2013-01-01", 1_356_998_400_000),
        ("20130101", 1_356_998_400_000),
        ("20131301", 20_131_301),
        ("19600101", 19_600_101),
        ("90s", 10_000),
        ("1m", 40_000),
    ],
)
def test_a_time_is_ms_or_a_date_or_an_age(text: str, time_ms: int) -> None:
    assert read_time(text, now_ms=100_000) == time_ms


def test_other_text_is_refused_with_the_forms_that_are_known() -> None:
    with pytest.raises(click.BadParameter, match="an age such as 10m"):
        read_time("yesterday", now_ms=0)


@pytest.mark.parametrize("text", [str(10**20), "1960-01-01", "9999999999999999999ms ago"])
def test_values_no_record_can_hold_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time"):
        read_time(text, now_ms=0)


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("500ms", 500),
        ("7d", 604_800_000),
        ("PT10M", 600_000),
        ("P1DT2H", 93_600_000),
        ("pt1.5s", 1500),
    ],
)
def test_a_duration_is_short_or_of_iso_8601(text: str, duration_ms: int) -> None:
    assert read_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "10", "10 minutes"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        read_duration(text)
