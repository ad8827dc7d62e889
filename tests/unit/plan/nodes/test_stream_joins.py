"""Joins of streams: their position in cut plans, and the columns that they read and store."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.plan.nodes import StreamJoinSide
from duolog.plan.windows.join_window import JoinWindow


def streams(topology: Topology) -> tuple[Stream, Stream]:
    clicks = topology.stream("clicks", key="user STRING", value="page STRING, at BIGINT")
    return clicks, topology.stream("views", key="user STRING", value="ad STRING, place STRING")


def levels_of(topology: Topology) -> Levels:
    return find_levels(topology.build())


def edges_of(levels: Levels) -> list[tuple[str, list[str], int]]:
    return [
        (edge.parent.name, [to.name for to in edge.consumers], edge.target) for edge in levels.edges
    ]


def sides_of(levels: Levels) -> list[StreamJoinSide]:
    return [node for node in levels.nodes if isinstance(node, StreamJoinSide)]


def test_both_sides_of_a_join_are_one_sub_topology() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.outer_join(views, within="1 minute").to("out")

    levels = levels_of(topology)

    this, other = sides_of(levels)
    assert edges_of(levels) == [("stream-1", [this.name], 0), ("stream-2", [other.name], 0)]
    assert levels.successors(this) == levels.successors(other)
    assert levels.subtopologies[0].stores == (*this.stores, *other.stores)


def test_a_stream_joined_with_itself_is_shuffled_and_stored_once() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    clicks.join(clicks, within="1 minute", prefix="other_").to("out")

    levels = levels_of(topology)

    this, other = sides_of(levels)
    assert edges_of(levels) == [("stream-1", [this.name, other.name], 0)]
    assert levels.subtopologies[0].stores == ("stream-join-3-this",)
    assert this.other_store == other.other_store == "stream-join-3-this"


def test_sides_leave_their_part_if_one_depends_on_the_other() -> None:
    topology = Topology("t")
    clicks, _ = streams(topology)
    counted = clicks.group_by_key().count("c")
    pages = clicks.group_by(user=col("page")).count("pages").to_stream()
    by_page = clicks.join(counted).select_key(user=col("page")).left_join(counted, prefix="p_")
    by_page.join(pages, within="1 minute").to("out")

    levels = levels_of(topology)

    this, other = sides_of(levels)
    assert levels.cut.parts[this] == levels.cut.parts[other]
    assert all(levels.cut.depths[levels.cut.parts[side]] >= 1 for side in (this, other))


def test_stored_columns_depend_on_the_join_and_not_on_its_readers() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    joined = clicks.join(views, within="1 minute", select=["page", "ad"])
    joined.map_values("ad").to("out")

    this, other = sides_of(levels_of(topology))

    assert [column.name for column in this.kept_columns(of_left=True)] == ["page"]
    assert [column.name for column in other.kept_columns(of_left=False)] == ["ad"]
    spec = lower(levels_of(topology), "t", cache_bytes_max=0)
    kept = [node for node in spec["nodes"].values() if node["kind"] == "stream_join"]
    assert [node["value_types"] for node in kept] == [["STRING"], ["STRING"]]
    assert [node["values"] for node in kept] == [["v0", "r0"], ["r0", "v0"]]


def test_the_right_side_sees_the_window_reversed() -> None:
    topology = Topology("t")
    clicks, views = streams(topology)
    clicks.join(views, before="1 s", after="5 s", grace="2 s").to("out")

    this, other = sides_of(levels_of(topology))

    assert this.own_window == JoinWindow(1000, 5000, 2000)
    assert other.own_window == JoinWindow(5000, 1000, 2000)
    assert str(this.window) == "from 1000 ms before to 5000 ms after, grace 2000 ms"


@pytest.mark.parametrize(("before", "after"), [(-5, 4), (4, -5)])
def test_a_window_that_ends_before_it_starts_is_refused(before: int, after: int) -> None:
    with pytest.raises(StatementError, match="ends before it starts"):
        JoinWindow(before, after, 10)


@pytest.mark.parametrize(
    ("window", "kept_ms"),
    [
        (JoinWindow(0, 0), 1),
        (JoinWindow(4, 4, 2), 10),
        (JoinWindow(0, 5, 1), 7),
        (JoinWindow(-2, 6, 4), 11),
        (JoinWindow(5, -1), 6),
    ],
    ids=str,
)
def test_a_record_is_stored_until_no_record_within_the_grace_period_can_match_it(
    window: JoinWindow, kept_ms: int
) -> None:
    assert window.kept_ms == window.reversed.kept_ms == kept_ms
