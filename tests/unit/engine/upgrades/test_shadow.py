"""The shadow query runs alongside an application while stores are rebuilt; no JVM."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from duolog import (
    Processor,
    Topology,
    col,
    count,
    key_value_store,
    session,
    sliding,
    sum_,
    tumbling,
)
from duolog.dsl.streams import Stream, Table
from duolog.engine.in_memory import MemoryChain
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.spec.spec_graph import children_of, subtopologies_of
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.settings import ErrorHandling
from duolog.engine.upgrades.comparison import compare
from duolog.engine.upgrades.shadow import Shadow, shadow_of
from unit.engine.upgrades.test_comparison import lowered

Build = Callable[[Topology, Stream, Table], None]


def shadow(before: Build, after: Build, *written: str) -> Shadow:
    spec, names = lowered(after)
    return shadow_of(spec, compare(shape_of(*lowered(before)), spec, names), written)


def written_topics(found: Shadow) -> set[str]:
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
    assert written_topics(found) == {"by-name"}, (
        "sub-topologies without a rebuilt store start after the upgrade"
    )


def test_results_of_the_old_topology_are_not_written_twice() -> None:
    def other(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").aggregate(n=count(), s=sum_("air")).to("by-dest")

    assert written_topics(shadow(by_dest, other, "by-dest")) == set()
    spec, names = lowered(other)
    found = compare(shape_of(*lowered(by_dest)), spec, names)
    assert written_topics(shadow_of(spec, found, None)) == set(), "unknown for an older checkpoint"


def test_a_topic_that_is_read_for_the_first_time_is_read_by_one_of_both() -> None:
    """Otherwise its records would be read twice, before and after the upgrade, or not at all."""

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
    assert written_topics(found) == {"by-dest", "both"}

    found = shadow(by_dest, alone, "by-dest")
    assert found.topics == {"flights"}
    assert found.stores == {"other"}


Kept = Callable[[Topology, Stream, Table], Any]


class Passing(Processor):
    def init(self, context: Any) -> None:
        self.context = context

    def process(self, record: Any) -> None:
        self.context.forward(record)


def shared_store(topology: Topology, flights: Stream, _airlines: Table) -> None:
    store = key_value_store("seen", key="id STRING", value="n BIGINT")
    flights.process(Passing, stores=[store], name="one").to("kept")
    flights.process(Passing, stores=[store], name="two").to("kept")


def looked_up_late(topology: Topology, flights: Stream, _airlines: Table) -> None:
    versions = topology.table("versions", key="id STRING", value="v STRING", history="1 hour")
    flights.join(versions, grace="1 minute").to("kept")


def of_a_global_table(topology: Topology, flights: Stream, _airlines: Table) -> None:
    countries = topology.global_table("countries", key="code STRING", value="name STRING")
    flights.join(countries, on="carrier", prefix="c_").to("kept")


def payments(topology: Topology) -> Stream:
    return topology.stream("payments", key="id STRING", value="paid BIGINT")


def rows(flights: Stream) -> Table:
    return flights.select_key(code=col("dest")).to_table().named("rows")


WITHIN: Final[dict[str, Any]] = {"within": "1 minute", "grace": "1 minute", "prefix": "p_"}
KEPT: Final[dict[str, Kept]] = {
    "join": lambda t, f, _: f.join(payments(t), **WITHIN, select=["air", "p_paid"]).to("kept"),
    "narrow": lambda t, f, _: f.join(payments(t), **WITHIN, select={"n": col("p_paid")}).to("kept"),
    "left": lambda t, f, _: f.left_join(payments(t), **WITHIN).to("kept"),
    "outer": lambda t, f, _: f.outer_join(payments(t), **WITHIN).to("kept"),
    "eager": lambda t, f, _: f.outer_join(payments(t), **WITHIN, eager=True).to("kept"),
    "itself": lambda t, f, _: f.join(f, **WITHIN).to("kept"),
    "rekeyed": lambda t, f, _: f.select_key(id=col("dest")).join(payments(t), **WITHIN).to("kept"),
    "lookup": lambda t, f, a: f.join(a, on="carrier").to("kept"),
    "tables": lambda t, f, a: rows(f).left_join(a, prefix="a_").to("kept"),
    "foreign": lambda t, f, a: rows(f).left_join(a, on="carrier", prefix="a_").to("kept"),
    "foreign, inner": lambda t, f, a: rows(f).join(a, on="carrier", prefix="a_").to("kept"),
    "late": looked_up_late,
    "global": of_a_global_table,
    "shared": shared_store,
    "idle": lambda t, f, _: (
        f.group_by("dest")
        .windowed_by(tumbling("1 hour", grace="1 hour"), emit="on close", idle="1 minute")
        .count("n")
        .to("kept")
    ),
    "held back": lambda t, f, _: (
        f.group_by("dest")
        .windowed_by(session("1 hour", grace="1 hour"))
        .count("n")
        .suppress(until="window close")
        .to("kept")
    ),
    "sliding": lambda t, f, _: (
        f.group_by("dest").windowed_by(sliding("1 hour", grace="1 hour")).count("n").to("kept")
    ),
    "new key": lambda t, f, _: f.join(payments(t), **WITHIN).select_key(k=col("dest")).to("kept"),
    "sent": lambda t, f, _: f.repartition(partitions=1).select_key(k=col("dest")).to("kept"),
    "split": lambda t, f, _: f.split(a=col("air") > 1, default="z")["a"].to("kept"),
    "split inside": lambda t, f, _: (
        f.join(payments(t), **WITHIN).split(a=col("air") > 1, default="z")["a"].to("kept")
    ),
    "exploded": lambda t, f, _: (
        f.join(payments(t), **WITHIN)
        .explode(w=col("dest").split())
        .select_key(w=col("w"))
        .group_by_key()
        .count("n")
        .to("kept")
    ),
    "regrouped": lambda t, f, a: a.group_by("size").count("n").to("kept"),
}


def shadow_with_kept_step(kept: Kept) -> Shadow:
    """Return a shadow that rebuilds an aggregate of flights alongside a step that is kept."""

    def before(topology: Topology, flights: Stream, airlines: Table) -> None:
        flights.group_by("carrier").count("n").to("by-carrier")
        kept(topology, flights, airlines)

    def after(topology: Topology, flights: Stream, airlines: Table) -> None:
        before(topology, flights, airlines)
        flights.group_by("air").materialized("rebuilt").count("n").to("by-air")

    found = shadow(before, after, "kept")
    assert "rebuilt" in found.stores
    return found


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_kept_step_of_several_nodes_stays_complete_next_to_a_rebuilt_store(kept: Kept) -> None:
    spec = shadow_with_kept_step(kept).spec

    inside = subtopologies_of(spec)
    reached = {edge["node"] for edge in spec["edges"]}
    fresh = list(reached)
    while fresh:
        node = spec["nodes"][str(fresh.pop())]
        more = set(children_of(node, spec)) - reached
        reached |= more
        fresh += more
    left_out = {
        node["name"]
        for number, node in spec["nodes"].items()
        if node["kind"] not in {"sink", "print", "route"}
        and int(number) not in reached
        and any(store in str(node) for store in ("store", "newest"))
        and node["kind"] not in {"filter", "project", "select_key", "lookup", "process_output"}
    }
    assert not left_out
    assert inside


@pytest.mark.spark
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_the_kernel_can_build_a_shadow(spark: SparkSession, kept: Kept) -> None:
    assert spark is not None, "the chain finds the session of this run"
    spec = (
        shadow_with_kept_step(kept).spec
        | python_of(60_000, 1 << 30)
        | {"errors": ErrorHandling().spec()}
    )

    MemoryChain(spec).close()
