"""The position at which a source starts when its application starts for the first time."""

import datetime as dt

import pytest

from duolog import Topology
from duolog.core.errors import StatementError
from duolog.dsl.expressions.starting import Begin, start_of
from duolog.plan.starts import EARLIEST, Start

NEW_YEAR_MS = 1_767_225_600_000


@pytest.mark.parametrize(
    ("given", "start"),
    [
        (None, EARLIEST),
        ("earliest", EARLIEST),
        ("latest", Start("latest")),
        ("2 hours", Start("ago", 7_200_000)),
        (dt.timedelta(minutes=1), Start("ago", 60_000)),
        (NEW_YEAR_MS, Start("at", NEW_YEAR_MS)),
        ("2026-01-01T01:00+01:00", Start("at", NEW_YEAR_MS)),
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), Start("at", NEW_YEAR_MS)),
    ],
)
def test_a_start_is_a_keyword_a_duration_or_a_time(given: Begin, start: Start) -> None:
    assert start_of(given) == start


@pytest.mark.parametrize(
    "given",
    ["lates", "2026-01-01", dt.datetime(2026, 1, 1), -1, True, 1.5, dt.timedelta(hours=-1)],  # noqa: DTZ001
)
def test_an_invalid_start_is_refused_with_valid_ones(given: Begin) -> None:
    with pytest.raises(StatementError, match="is not a start position") as caught:
        Topology("t").stream("orders", value=str, start=given)

    assert '"earliest", "latest", a duration before now' in (caught.value.hint or "")


def test_a_duration_counts_back_from_the_first_start_and_a_time_does_not() -> None:
    assert Start("ago", 1000).time_ms(now_ms=5000) == 4000
    assert Start("ago", 9000).time_ms(now_ms=5000) == 0
    assert Start("at", 1000).time_ms(now_ms=5000) == 1000


def test_describe_shows_where_a_source_starts() -> None:
    topology = Topology("t")
    orders = topology.stream("orders", value=str, start="latest")
    people = topology.table("people", key="id STRING", value=str, start=NEW_YEAR_MS)
    people.to("out")
    orders.to("all")

    text = topology.describe()

    assert "value KAFKA (value STRING), from its end at the first start" in text
    assert f"value KAFKA (value STRING), from timestamp {NEW_YEAR_MS}" in text


def test_a_topic_that_is_read_twice_has_one_start() -> None:
    topology = Topology("t")
    topology.table("orders", key="id STRING", value="n BIGINT").to("rows")
    topology.stream("orders", key="id STRING", value="n BIGINT", start="latest").to("out")

    with pytest.raises(StatementError, match='topic "orders" has two start positions') as caught:
        topology.build()

    assert "test_start_positions.py" in caught.value.place
