import click
import pytest

from duolog.cli.times import read_time


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1000", 1000),
        ("2013-01-01T10:15:00Z", 1_357_035_300_000),
        ("2013-01-01T05:15:00-05:00", 1_357_035_300_000),
        ("2013-01-01", 1_356_998_400_000),
        ("90s", 10_000),
        ("1m", 40_000),
    ],
)
def test_a_time_is_ms_or_a_date_or_an_age(text: str, time_ms: int) -> None:
    assert read_time(text, now_ms=100_000) == time_ms


def test_other_text_is_refused_with_the_forms_that_are_known() -> None:
    with pytest.raises(click.BadParameter, match="an age like 10m"):
        read_time("yesterday", now_ms=0)
