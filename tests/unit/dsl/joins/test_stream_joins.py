"""Joins of streams in the DSL, and their results."""

import datetime as dt

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream
from duolog.testing import TopologyDriver

KINDS = ("join", "left_join", "outer_join")


def streams(topology: Topology) -> tuple[Stream, Stream]:
    clicks = topology.stream("clicks", key="user STRING", value="page STRING")
    return clicks, topology.stream("views", key="user STRING", value="ad STRING")


def written(topology: Topology, *records: tuple[str, str | None, str | None, int]) -> list[object]:
    """Return (key, page, ad, time) of the records written to `out`."""
    with TopologyDriver(topology) as driver:
        for topic, key, text, time in records:
            name = "page" if topic == "clicks" else "ad"
            value = None if text is None else {name: text}
            driver.input_topic(topic).pipe_input(key, value, time)
        return [
            (one.key, one.value["page"], one.value["ad"], one.timestamp_ms)
            for one in driver.output_topic("out").read_records()
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_joining_streams_needs_a_time_difference(kind: str) -> None:
    clicks, views = streams(Topology("t"))

    with pytest.raises(StatementError, match="needs a time difference") as caught:
        getattr(clicks, kind)(views)

    assert 'within="5 minutes"' in caught.value.hint
    assert "table(...)" in caught.value.hint


@pytest.mark.parametrize("argument", ["within", "before", "after", "store", "eager"])
def test_joining_a_table_refuses_a_time_difference(argument: str) -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    users = topology.table("users", key="user STRING", value="name STRING")

    with pytest.raises(StatementError, match=f"has no {argument}") as caught:
        clicks.left_join(users, **{argument: True if argument == "eager" else "1 minute"})  # type: ignore[arg-type]

    assert "to_stream()" in caught.value.hint


def test_an_outer_join_with_a_table_is_refused() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    users = topology.table("users", key="user STRING", value="name STRING")

    with pytest.raises(StatementError, match="no outer join with table"):
        clicks.outer_join(users)  # type: ignore[arg-type]


def test_joining_streams_without_a_key_is_refused() -> None:
    topology = Topology("t")
    one, two = (topology.stream(name, value="n BIGINT") for name in ("a", "b"))

    with pytest.raises(StatementError, match="by key") as caught:
        one.join(two, within="1 minute", prefix="b_")

    assert "select_key" in caught.value.hint


def test_keys_of_different_types_are_refused() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    numbers = topology.stream("numbers", key="user BIGINT", value="n BIGINT")

    with pytest.raises(StatementError, match="cannot join stream") as caught:
        clicks.join(numbers, within="1 minute")

    assert "(user STRING) and (user BIGINT)" in caught.value.detail


def test_a_join_on_another_column_rekeys_the_left_stream() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    pages = topology.stream("pages", key="page STRING", value="title STRING")

    joined = clicks.join(pages, on="page", within="1 minute")

    assert str(joined.schema) == "key (page STRING) value (user STRING, title STRING)"


def test_each_pair_is_written_once_when_its_later_record_arrives() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.join(views, within=dt.timedelta(milliseconds=10), grace="1 s").to("out")

    found = written(
        topology,
        ("clicks", "u", "p1", 100),
        ("views", "u", "a1", 105),
        ("views", "u", "a2", 111),
        ("clicks", "u", "p2", 102),
        ("clicks", "v", "p3", 103),
    )

    assert found == [
        ("u", "p1", "a1", 105),
        ("u", "p2", "a1", 105),
        ("u", "p2", "a2", 111),
    ]


def test_an_unmatched_record_is_emitted_after_its_window_and_grace_period() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.outer_join(views, within="10 ms", grace="5 ms").to("out")

    found = written(
        topology,
        ("clicks", "b", "p1", 0),
        ("clicks", "a", "p2", 0),
        ("views", "c", "a1", 0),
        ("views", "d", "a2", 15),
        ("clicks", "d", "p3", 16),
        ("views", "e", None, 99),
    )

    assert found == [
        ("c", None, "a1", 0),
        ("a", "p2", None, 0),
        ("b", "p1", None, 0),
        ("d", "p3", "a2", 16),
    ]


def test_eager_joins_emit_a_record_at_once_and_again_with_its_match() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.left_join(views, within="10 ms", eager=True).to("out")

    found = written(topology, ("clicks", "u", "p", 0), ("views", "u", "a", 5))

    assert found == [("u", "p", None, 0), ("u", "p", "a", 5)]


def test_a_record_without_a_key_has_no_match() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.left_join(views, within="10 ms").to("out")

    found = written(topology, ("views", None, "a", 0), ("clicks", None, "p", 0))

    assert found == [(None, "p", None, 0)]


def test_a_stream_is_joined_with_itself() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    again = clicks.join(
        clicks,
        within="10 ms",
        prefix="again_",
        select={
            "page": col("page"),
            "ad": col("again_page"),
        },
    )
    again.to("out")

    found = written(topology, ("clicks", "u", "p1", 0), ("clicks", "u", "p2", 5))

    assert found == [
        ("u", "p1", "p1", 0),
        ("u", "p2", "p1", 5),
        ("u", "p1", "p2", 5),
        ("u", "p2", "p2", 5),
    ]


def test_stores_of_a_join_cannot_be_queried_as_tables() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.left_join(views, within="10 ms", store="ads").to("out")

    with TopologyDriver(topology) as driver:
        assert driver.stores == ()
    assert "stores ads-this, ads-unmatched-this, ads-other" in topology.describe()
