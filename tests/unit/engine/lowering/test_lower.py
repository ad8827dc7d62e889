from typing import Any

from duolog import Topology, col, concat, count, sum_, tumbling
from duolog.engine.explain import Explanation, KnownTopics
from duolog.engine.lowering.lower import lower
from duolog.engine.modes import choose_mode
from duolog.plan.cutting.levels import Levels, find_levels

Spec = dict[str, Any]


def flights(topology: Topology) -> None:
    """Flights joined with their airline; the join feeds two aggregates."""
    events = topology.stream(
        "flights", key="id STRING", value="carrier STRING, dest STRING, delay BIGINT, tail STRING"
    )
    airlines = topology.table("airlines", key="code STRING", value="name STRING")
    joined = events.select_key("carrier").join(airlines, on="carrier")
    joined.group_by("name").aggregate(flights=count(), total=sum_("delay")).to("by_airline")
    joined.group_by("dest").count().to("by_dest")


def cut() -> Levels:
    topology = Topology("flights")
    flights(topology)
    return find_levels(topology.build(), tasks=2)


def spec_of(levels: Levels) -> Spec:
    return lower(levels, "flights", cache_bytes_max=0)


def nodes(spec: Spec, kind: str) -> list[Spec]:
    return [node for node in spec["nodes"].values() if node["kind"] == kind]


def test_a_join_that_feeds_two_aggregates_is_computed_once() -> None:
    spec = spec_of(cut())

    (lookup,) = nodes(spec, "lookup")
    assert len(lookup["children"]) == 2
    assert [len(level) for level in spec["levels"]] == [1, 2]
    assert [sink["topic"] for sink in spec["sinks"]] == ["by_airline", "by_dest"]


def test_columns_that_are_not_read_downstream_are_not_shuffled() -> None:
    spec = spec_of(cut())

    to_join = spec["edges"][1]
    assert to_join["key_types"] == ["STRING"]
    assert to_join["value_types"] == ["STRING", "BIGINT"]  # dest and delay: no id, no tail
    by_name, by_dest = spec["edges"][2:]
    assert by_name["value_types"] == ["BIGINT", "STRING"]  # delay, and the name it is grouped by
    assert by_dest["value_types"] == ["STRING"]


def test_every_edge_has_a_reader_and_every_child_exists() -> None:
    spec = spec_of(cut())

    children = [child for node in spec["nodes"].values() for child in node["children"]]
    roots = [edge["node"] for edge in spec["edges"]]
    roots += [child for source in spec["sources"] for child in source["children"]]
    assert sorted(children + roots) == sorted(int(number) for number in spec["nodes"])


def test_a_grouped_table_takes_back_what_a_stream_only_adds() -> None:
    topology = Topology("airlines")
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    airlines.group_by("name").count().to("by_name")
    airlines.to_stream().group_by("name").count().to("changes_by_name")

    spec = spec_of(find_levels(topology.build(), tasks=1))

    taken_back = sorted((fold["table"], fold["subtract"]) for fold in nodes(spec, "fold"))
    assert taken_back == [(False, None), (True, ["CAST((a0 - 1) AS BIGINT)"])]


def test_derived_tables_are_computed_on_arrival_even_if_only_looked_up() -> None:
    """A row that cannot be processed is then reported, as in Kafka Streams, and not skipped silently."""
    topology = Topology("looked-up")
    names = topology.table("names", key="k STRING", value="name STRING, pattern STRING")
    liked = names.filter(col("name").like(col("pattern"))).map_values(
        twice=concat(col("name"), col("name"))
    )
    topology.stream("s", key="k STRING", value="v STRING").join(liked).to("out")

    spec = lower(find_levels(topology.build()), "looked-up", cache_bytes_max=0)

    (table,) = (node for node in spec["nodes"].values() if node["kind"] == "table")
    (filtered,) = (spec["nodes"][str(child)] for child in table["children"])
    (projected,) = (spec["nodes"][str(child)] for child in filtered["children"])
    assert (filtered["kind"], projected["kind"]) == ("filter", "project")


def test_an_old_key_is_carried_into_the_value_before_it_is_replaced() -> None:
    topology = Topology("rekeyed")
    events = topology.stream("in", key="id STRING", value="carrier STRING, delay BIGINT")
    events.filter(col("delay") > 0).select_key("carrier").to("out")

    spec = spec_of(find_levels(topology.build(), tasks=1))

    (carry,), (rekey,) = nodes(spec, "project"), nodes(spec, "select_key")
    assert carry["values"] == ["k0", "v0", "v1"]  # id, carrier, delay
    assert rekey["keys"] == ["v1"]


def test_explain_shows_mode_and_reason_before_the_levels() -> None:
    chosen = choose_mode("auto", needed=7, free=62, slots_total=64)

    topics = KnownTopics({"flights": 2, "airlines": 1})
    text = Explanation(cut(), "flights", chosen, topics).render()

    assert text.splitlines()[:4] == [
        'application "flights", 2 tasks',
        f"mode: real-time, once caught up in micro-batches. {chosen.why}",
        "topics: flights 2 partitions, airlines 1 partition",
        "Ingress",
    ]
    assert "Sub-topology 0, stores table-2-store" in text


def test_explain_shows_what_each_operator_stores_until_when_and_why() -> None:
    topology = Topology("visits")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    users = topology.table("users", key="user STRING", value="age INT").named("users")
    counted = visits.join(users).group_by("place").count().named("by-place")
    counted.to("counts", name="out")
    visits.group_by_key().windowed_by(tumbling("1 hour")).count().named("hourly").to("hours")
    chosen = choose_mode("auto", needed=7, free=62, slots_total=64)

    levels = find_levels(topology.build())
    text = Explanation(levels, "visits", chosen, KnownTopics({}), cache_bytes_max=0).render()

    reported = "each update is emitted: statestore.cache.max.bytes is 0"
    until = "a row for each group and window until stream time has closed it"
    closed = f"{until}: tumbling windows of 3600000 ms"
    assert text.partition("Operators\n")[2].splitlines() == [
        "  stream-1: both modes; keeps no state",
        "  users: both modes; store users-store: a row for each key until a null value deletes it",
        "  join-3: both modes; keeps no state",
        "  group-by-4: both modes; keeps no state",
        f"  by-place: both modes; store by-place-store: a row for each group for good: groups have no end; {reported}",
        "  out: both modes; keeps no state",
        f"  hourly: both modes; store hourly-store: {closed}; {reported}",
        "  sink-9: both modes; keeps no state",
    ]


def test_explain_shows_what_is_unknown_and_what_the_first_start_has_fixed() -> None:
    chosen = choose_mode("micro-batch", needed=7, free=62, slots_total=64)
    counts = {"flights": 5, "airlines": None}

    known, unknown = KnownTopics(counts), KnownTopics(dict.fromkeys(counts), "127.0.0.1:1")
    plan = cut(), "flights", chosen
    fixed = Explanation(*plan, known, tasks_pinned=True).render().splitlines()
    alone = Explanation(*plan, unknown).render().splitlines()

    assert fixed[0] == 'application "flights", 2 tasks, as at its first start'
    assert fixed[2] == (
        "topics: flights 5 partitions, airlines does not exist. "
        "All partitions are read; their records are routed by key to 2 tasks."
    )
    assert alone[2] == (
        "topics: flights, airlines. "
        "No broker answers at 127.0.0.1:1, so their partitions are unknown."
    )
