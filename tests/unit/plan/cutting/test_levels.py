from duolog import Topology, avg, col, count, max_, row_time
from duolog.plan.cutting.levels import Edge, Levels, find_levels
from duolog.plan.nodes import GroupBy, StreamTableJoin


def flights_topology() -> Topology:
    topology = Topology("flights")
    airlines = topology.table("airlines", key="carrier STRING", value="name STRING")
    airports = topology.table("airports", key="faa STRING", value="name STRING")
    flights = topology.stream(
        "flights", key="carrier STRING", value="dest STRING, dep_delay BIGINT"
    )
    joined = (
        flights.filter(col("dest").is_not_null())
        .join(airlines, prefix="airline_")
        .select_key("dest")
        .join(airports, on="dest", prefix="airport_")
    )
    joined.group_by("dest").aggregate(flights=count(), mean=avg("dep_delay")).to("by-dest")
    joined.group_by("carrier").aggregate(worst=max_("dep_delay")).to("by-carrier")
    return topology


def levels_of(topology: Topology) -> Levels:
    return find_levels(topology.build(), tasks=2)


def shape(levels: Levels) -> list[list[list[str]]]:
    """The names of the nodes in each sub-topology of each level."""
    return [
        [[node.name for node in part.nodes] for part in level.subtopologies]
        for level in levels.levels
    ]


def test_each_change_of_key_starts_a_level() -> None:
    levels = levels_of(flights_topology())

    assert shape(levels) == [
        [["table-1", "join-5", "select-key-6"]],
        [["table-2", "join-7", "aggregate-9", "sink-10", "group-by-11"]],
        [["aggregate-12", "sink-13"]],
    ]
    assert [node.name for node in levels.ingresses[2].nodes] == ["filter-4"]


def test_an_edge_delivers_records_to_the_table_before_the_join() -> None:
    levels = levels_of(flights_topology())

    found = [(e.id, e.parent.name, e.consumers[0].name, e.origin, e.target) for e in levels.edges]

    assert found == [
        (0, "table-1", "table-1", None, 0),
        (1, "filter-4", "join-5", None, 0),
        (2, "table-2", "table-2", None, 1),
        (3, "select-key-6", "join-7", 0, 1),
        (4, "group-by-11", "aggregate-12", 1, 2),
    ]


def test_a_join_that_feeds_two_rekeyed_aggregates_is_computed_once() -> None:
    topology = Topology("two")
    airlines = topology.table("airlines", key="carrier STRING", value="name STRING")
    flights = topology.stream("flights", key="carrier STRING", value="dest STRING, plane STRING")
    joined = flights.join(airlines)
    joined.group_by("dest").count().to("by-dest")
    joined.group_by("plane").count().to("by-plane")

    levels = levels_of(topology)

    assert shape(levels) == [
        [["table-1", "join-3", "group-by-4", "group-by-7"]],
        [["aggregate-5", "sink-6"], ["aggregate-8", "sink-9"]],
    ]
    joins = [n for part in levels.subtopologies for n in part.nodes if "join" in n.name]
    assert len(joins) == 1


def test_records_are_forwarded_to_children_and_edges_in_program_order() -> None:
    levels = levels_of(flights_topology())
    join = next(n for n in levels.subtopologies[1].nodes if isinstance(n, StreamTableJoin))

    successors = levels.successors(join)
    group = levels.subtopologies[1].nodes[-1]

    assert [node.name for node in successors if not isinstance(node, Edge)] == [
        "aggregate-9",
        "group-by-11",
    ]
    assert levels.successors(group) == (levels.edges[4],)


def test_joins_that_look_up_a_table_are_not_its_successors() -> None:
    levels = levels_of(flights_topology())

    table = levels.subtopologies[0].nodes[0]

    assert levels.successors(table) == ()


def test_a_topology_without_state_has_no_levels() -> None:
    topology = Topology("copy")
    topology.stream("a", value="x BIGINT").filter(col("x") > 1).to("b")

    levels = levels_of(topology)

    assert levels.levels == ()
    assert [node.name for node in levels.ingresses[0].nodes] == ["filter-2", "sink-3"]


def test_grouping_by_the_renamed_key_makes_no_cut() -> None:
    topology = Topology("renamed")
    stream = topology.stream("a", key="k STRING", value="x BIGINT").select_key("k")
    first = stream.group_by(renamed=col("k")).count().to_stream()
    first.group_by("renamed").count("again").to("b")

    levels = levels_of(topology)

    assert len(levels.subtopologies) == 1
    assert len(levels.edges) == 1


def test_two_aggregates_of_one_group_share_its_edge() -> None:
    topology = Topology("shared")
    group = topology.stream("a", key="k STRING", value="x BIGINT").group_by("x")
    group.count().to("counts")
    group.aggregate(worst=max_("x")).to("worst")

    levels = levels_of(topology)

    assert len(levels.edges) == 1
    assert [node.name for node in levels.edges[0].consumers] == ["aggregate-3", "aggregate-5"]


def test_a_grouped_table_sends_its_changes_over_an_edge() -> None:
    topology = Topology("regroup")
    users = topology.table("users", key="id BIGINT", value="city STRING")
    users.group_by("city").count().to("cities")

    levels = levels_of(topology)

    assert [edge.carries_changes for edge in levels.edges] == [False, True]
    assert isinstance(levels.edges[1].parent, GroupBy)
    assert [len(level.subtopologies) for level in levels.levels] == [1, 1]


def edges_of(levels: Levels) -> list[tuple[str, list[str], int]]:
    """Return each edge's parent, its consumers, and the first edge of its queue."""
    return [
        (edge.parent.name, [node.name for node in edge.consumers], edge.queue)
        for edge in levels.edges
    ]


def test_a_stream_and_its_group_share_an_edge_in_program_order() -> None:
    topology = Topology("self")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    totals = visits.group_by_key().count("visits")
    visits.join(totals).to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("stream-1", ["aggregate-3", "join-4"], 0)]


def test_filters_share_an_edge_that_all_records_cross_anyway() -> None:
    topology = Topology("shared")
    visits = topology.stream("visits", key="user STRING", value="place STRING, stay BIGINT")
    long = visits.filter(col("stay") > 10)
    totals = long.group_by_key().count("visits")
    visits.join(totals).to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("stream-1", ["filter-2", "join-5"], 0)]
    assert levels.ingresses[0].nodes == ()


def test_two_filtered_streams_have_an_edge_each_and_share_a_queue() -> None:
    """No reader needs all records, so only filtered ones cross, in order."""
    topology = Topology("filtered")
    visits = topology.stream("visits", key="user STRING", value="place STRING, stay BIGINT")
    here, there = visits.filter(col("stay") > 10), visits.filter(col("stay") < 5)
    totals = there.group_by_key().count("visits")
    here.join(totals).to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("filter-2", ["join-6"], 0), ("filter-3", ["aggregate-5"], 0)]


def test_projections_of_one_stream_share_its_edge() -> None:
    topology = Topology("projected")
    visits = topology.stream("visits", key="user STRING", value="place STRING, stay BIGINT")
    visits.map_values("stay").group_by_key().aggregate(worst=max_("stay")).to("worst")
    visits.map_values("place").group_by_key().count().to("counts")

    levels = levels_of(topology)

    assert edges_of(levels) == [("stream-1", ["map-values-2", "map-values-6"], 0)]


def test_records_with_a_new_key_follow_those_with_the_old_one_in_the_source_queue() -> None:
    topology = Topology("behind")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    places = visits.group_by("place").count("n")
    visits.join(places, on="user").to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("stream-1", ["join-4"], 0), ("group-by-2", ["aggregate-3"], 0)]
    assert [edge.rekeyed for edge in levels.edges] == [False, True]


def test_steps_between_a_new_key_and_its_edge_keep_the_key_new() -> None:
    topology = Topology("between")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    some = visits.select_key("place").filter(col("place") != "home").map_values("user")
    visits.join(some.group_by_key().count("n"), on="user").to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("stream-1", ["join-7"], 0), ("map-values-4", ["aggregate-6"], 0)]
    assert [edge.rekeyed for edge in levels.edges] == [False, True]


def test_a_table_looked_up_before_and_after_a_change_of_key_is_stored_twice() -> None:
    topology = Topology("twice")
    airlines = topology.table("airlines", key="carrier STRING", value="name STRING")
    flights = topology.stream("flights", key="carrier STRING", value="other STRING")
    once = flights.join(airlines)
    once.select_key("other").join(airlines, on="other", prefix="other_").to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [
        ("table-1", ["table-1"], 0),
        ("stream-2", ["join-3"], 1),
        ("table-1", ["table-1-copy-2"], 2),
        ("select-key-4", ["join-5"], 3),
    ]
    assert [part.stores for part in levels.subtopologies] == [
        ("table-1-store",),
        ("table-1-store-2",),
    ]


def test_an_aggregate_looked_up_after_rekeying_sends_its_changes_there() -> None:
    topology = Topology("aggregate")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    totals = visits.group_by_key().count("visits")
    visits.join(totals).select_key("place").join(totals, on="place", prefix="of_place_").to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [
        ("stream-1", ["aggregate-3", "join-4"], 0),
        ("aggregate-3", ["aggregate-3-copy-2"], 1),
        ("select-key-5", ["join-6"], 1),
    ]
    assert not levels.edges[1].carries_changes


def test_a_join_leaves_its_sub_topology_if_its_table_depends_on_steps_before_it() -> None:
    topology = Topology("feedback")
    names = topology.table("names", key="k STRING", value="name STRING")
    joined = topology.stream("a", key="k STRING", value="other STRING").join(names)
    counts = joined.group_by("other").count("n")
    joined.join(counts, on="k").to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [
        ("table-1", ["table-1"], 0),
        ("stream-2", ["join-3"], 1),
        ("join-3", ["join-6"], 2),
        ("group-by-4", ["aggregate-5"], 2),
    ]


def test_an_edge_is_not_shared_if_that_would_create_a_cycle() -> None:
    """A stream is counted after a join and joined with these counts: two edges from one node."""
    topology = Topology("split")
    names = topology.table("names", key="k STRING", value="name STRING")
    stream = topology.stream("a", key="k STRING", value="other STRING")
    counts = stream.join(names).group_by("other").count("n")
    stream.join(counts, on="k").to("out")

    levels = levels_of(topology)

    assert [(edge.parent.name, edge.target) for edge in levels.edges] == [
        ("table-1", 0),
        ("stream-2", 0),
        ("stream-2", 1),
        ("group-by-4", 1),
    ]


def test_inputs_of_a_merge_in_the_ingress_stay_before_an_edge() -> None:
    """Two joins share an edge only up to the input of the merge; otherwise the plan would have a cycle."""
    topology = Topology("merged")
    stream = topology.stream(["one", "two"], key="k STRING", value="n BIGINT")
    now = stream.with_columns(at=row_time())
    later = now.with_time(row_time() + 1)
    joined = now.join(now.merge(later), within="1 minute", prefix="both_")
    later.left_join(joined, within="1 minute", prefix="joined_").to("out")

    levels = levels_of(topology)

    found = [node.name for node in levels.ingresses[0].nodes]
    assert found == ["merge-3", "map-values-4", "with-time-5", "merge-6"]
