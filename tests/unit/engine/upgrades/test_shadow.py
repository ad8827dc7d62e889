"""What runs beside an application while stores are rebuilt; no JVM."""

from collections.abc import Callable

from duolog import Topology, count, sum_
from duolog.dsl.streams import Stream, Table
from duolog.engine.store_layouts import shape_of
from duolog.engine.upgrades.comparison import compare
from duolog.engine.upgrades.shadow import Shadow, shadow_of
from unit.engine.upgrades.test_comparison import lowered

Build = Callable[[Topology, Stream, Table], None]


def shadow(before: Build, after: Build, *written: str) -> Shadow:
    spec, names = lowered(after)
    return shadow_of(spec, compare(shape_of(*lowered(before)), spec, names), written)


def told(found: Shadow) -> set[str]:
    """Return the topics that are written."""
    nodes, fresh = set[int](), [child for of in found.spec["sources"] for child in of["children"]]
    while fresh:
        number = fresh.pop()
        nodes.add(number)
        node = found.spec["nodes"][str(number)]
        fresh += node["children"]
        if node["kind"] == "route":
            fresh.append(found.spec["edges"][node["edge"]]["node"])
    sinks = (found.spec["nodes"][str(n)] for n in nodes)
    return {found.spec["sinks"][node["sink"]]["topic"] for node in sinks if node["kind"] == "sink"}


def by_dest(_topology: Topology, flights: Stream, _airlines: Table) -> None:
    flights.group_by("dest").count("n").to("by-dest")


def test_only_what_a_store_needs_runs_and_a_topic_of_its_own_is_written() -> None:
    def more(topology: Topology, flights: Stream, airlines: Table) -> None:
        by_dest(topology, flights, airlines)
        joined = flights.join(airlines, on="carrier")
        joined.group_by("name").aggregate(s=sum_("air")).to("by-name")
        joined.to("joined")
        flights.print()

    found = shadow(by_dest, more, "by-dest")

    assert found.topics == {"flights", "airlines"}
    assert len(found.stores) == 2, "the aggregate, and the table that it needs"
    assert told(found) == {"by-name"}, "what has no store that is rebuilt begins behind the upgrade"


def test_what_the_old_topology_writes_is_not_written_twice() -> None:
    def other(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").aggregate(n=count(), s=sum_("air")).to("by-dest")

    assert told(shadow(by_dest, other, "by-dest")) == set()
    spec, names = lowered(other)
    found = compare(shape_of(*lowered(by_dest)), spec, names)
    assert told(shadow_of(spec, found, None)) == set(), "of an older checkpoint nobody knows"


def test_a_topic_that_is_read_for_the_first_time_is_read_by_one_of_both() -> None:
    """Its records would be read once more behind the upgrade, or by nobody."""

    def more(topology: Topology, flights: Stream, airlines: Table) -> None:
        by_dest(topology, flights, airlines)
        landings = topology.stream("landings", key="id STRING", value="dest STRING, air BIGINT")
        landings.group_by("air").materialized("airs").count("n").to("by-dest")
        landings.to("by-dest")
        both = flights.map_values("dest", "air").merge(landings)
        both.group_by("dest").materialized("both").count("n").to("both")

    def alone(topology: Topology, flights: Stream, airlines: Table) -> None:
        by_dest(topology, flights, airlines)
        landings = topology.stream("landings", key="id STRING", value="dest STRING, air BIGINT")
        landings.group_by("air").materialized("airs").count("n").to("airs")
        flights.group_by("air").materialized("other").count("n").to("other")

    found = shadow(by_dest, more, "by-dest")
    assert found.topics == {"flights", "landings"}
    assert found.stores == {"airs", "both"}
    assert told(found) == {"by-dest", "both"}

    found = shadow(by_dest, alone, "by-dest")
    assert found.topics == {"flights"}
    assert found.stores == {"other"}
