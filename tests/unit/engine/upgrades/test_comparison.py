"""Stores of a checkpoint are kept, rebuilt or dropped under another topology; no JVM."""

from collections.abc import Callable

from duolog import Topology, col, count, sum_, tumbling
from duolog.dsl.streams import Stream, Table
from duolog.engine.json_object import Json
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.upgrades.comparison import Comparison, compare
from duolog.plan.cutting.levels import find_levels

Build = Callable[[Topology, Stream, Table], None]

FLIGHTS = "carrier STRING, dest STRING, delay BIGINT, air BIGINT"


def lowered(build: Build) -> tuple[Json, Names]:
    topology = Topology("app")
    flights = topology.stream("flights", key="id STRING", value=FLIGHTS)
    airlines = topology.table("airlines", key="code STRING", value="name STRING, size BIGINT")
    build(topology, flights, airlines)
    levels = find_levels(topology.build(), 2)
    return lower(levels, "app", cache_bytes_max=0), Names.of(levels)


def compared(before: Build, after: Build) -> Comparison:
    return compare(shape_of(*lowered(before)), *lowered(after))


def becomes(found: Comparison) -> dict[str, str]:
    return {change.store: change.becomes for change in found.stores}


def by_dest(_topology: Topology, flights: Stream, _airlines: Table) -> None:
    flights.group_by("dest").count("n").to("by-dest")


def test_a_renumbered_store_is_matched_with_the_checkpoint() -> None:
    def later(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        late = flights.filter(col("delay") > 15).filter(col("air") > 0)
        late.group_by("dest").count("n").to("by-dest")

    found = compared(by_dest, later)

    assert found.kept == {"aggregate-6-store": "aggregate-4-store"}
    assert found.begins_empty == []
    assert becomes(found) == {"aggregate-6-store": "keeps"}


def test_a_store_that_is_given_a_name_keeps_what_it_had_without_one() -> None:
    def named(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").materialized("dests").count("n").to("by-dest")

    assert compared(by_dest, named).kept == {"dests": "aggregate-4-store"}
    assert compared(named, by_dest).kept == {"aggregate-4-store": "dests"}


def test_a_store_downstream_of_a_renumbered_store_is_kept_too() -> None:
    """Its layout names the renumbered store."""

    def two_levels(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").count("n").group_by("n").count("m").to("often")

    def later(topology: Topology, flights: Stream, airlines: Table) -> None:
        two_levels(topology, flights.filter(col("air") > 0), airlines)

    found = compared(two_levels, later)

    assert found.kept == {
        "aggregate-5-store": "aggregate-4-store",
        "aggregate-7-store": "aggregate-6-store",
    }


def test_another_aggregate_on_the_place_of_one_is_not_taken_for_it() -> None:
    """It has the former name of the other one, which moves to the next number."""

    def two(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("carrier").count("n").to("by-carrier")
        flights.group_by("dest").count("n").to("by-dest")

    found = compared(by_dest, two)

    (moved,) = found.kept
    assert found.kept == {moved: "aggregate-4-store"}
    assert [change.store for change in found.begins_empty] == ["aggregate-4-store"]
    assert found.subtopologies[moved] != found.subtopologies["aggregate-4-store"]


def test_a_table_that_keeps_other_columns_is_new_to_those_that_group_by_them() -> None:
    """Column 0 of the store is another column, although computations on column 0 look the same."""

    def joined(column: str) -> Build:
        def build(topology: Topology, flights: Stream, _airlines: Table) -> None:
            value = f"{column} STRING"
            table = topology.table("carriers", key="code STRING", value=value, store="carriers")
            joined = flights.join(table, on="carrier")
            joined.group_by(column).materialized("counts").count("n").to("out")

        return build

    found = compared(joined("name"), joined("land"))

    assert becomes(found) == {"carriers": "changed", "counts": "changed"}


def test_a_filter_downstream_of_a_table_changes_its_aggregate_and_not_the_table() -> None:
    def counted(*, filtered: bool) -> Build:
        def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            rows = flights.select_key("carrier").map_values("dest").to_table(store="rows")
            changed = rows.filter(col("dest") != "x") if filtered else rows
            changed.group_by("dest").materialized("counts").count("n").to("out")

        return build

    found = compared(counted(filtered=False), counted(filtered=True))

    assert becomes(found) == {"rows": "keeps", "counts": "changed"}


def test_an_aggregate_of_a_table_is_kept_only_with_that_table() -> None:
    """It reads only the key of the table, and would add each row again: to an empty table, all rows are new."""

    def counted(other: str) -> Build:
        def build(topology: Topology, _flights: Stream, _airlines: Table) -> None:
            value = f"a BIGINT, {other}"
            table = topology.table("rows", key="id STRING", value=value, store="rows")
            table.group_by("id").materialized("counts").count("n").to("out")

        return build

    found = compared(counted("b BIGINT"), counted("c STRING"))

    assert becomes(found) == {"rows": "changed", "counts": "changed"}
    assert "depends on store" in found.of("changed")[1].why


def test_stores_of_a_stream_join_are_kept_together_or_not_at_all() -> None:
    def joined(value: str, *, filtered: bool = False) -> Build:
        def build(topology: Topology, flights: Stream, _airlines: Table) -> None:
            other = topology.stream("landings", key="id STRING", value="a BIGINT, b BIGINT")
            stream = flights.filter(col("air") > 0) if filtered else flights
            own = stream.map_values("delay")
            own.outer_join(other.map_values(value), within="1 hour").to("out")

        return build

    same = compared(joined("a"), joined("a", filtered=True))
    assert set(becomes(same).values()) == {"keeps"}
    assert len(same.kept) == 4, "both sides, and what waits for a partner on both"
    assert all(new != old for new, old in same.kept.items())
    other = compared(joined("a"), joined("b"))
    assert set(becomes(other).values()) == {"changed"}
    assert other.kept == {}


def test_stores_of_a_foreign_key_join_are_kept_together_or_not_at_all() -> None:
    def joined(column: str) -> Build:
        def build(topology: Topology, _flights: Stream, airlines: Table) -> None:
            value = "airline STRING, seats BIGINT, age BIGINT"
            planes = topology.table("planes", key="plane STRING", value=value, store="planes")
            planes.join(airlines, on="airline", select=[column, "name"]).to("out")

        return build

    same = compared(joined("seats"), joined("seats"))
    assert set(becomes(same).values()) == {"keeps"}
    other = becomes(compared(joined("seats"), joined("age")))
    assert [other.pop(table) for table in ("table-2-store", "planes")] == ["keeps", "keeps"]
    assert set(other.values()) == {"changed"}


def test_a_store_of_topics_that_were_not_read_before_has_missed_nothing() -> None:
    def more(topology: Topology, flights: Stream, airlines: Table) -> None:
        by_dest(topology, flights, airlines)
        landings = topology.stream("landings", key="id STRING", value="a BIGINT")
        landings.group_by("a").count("n").to("landed")

    found = compared(by_dest, more)

    assert sorted(becomes(found).values()) == ["keeps", "new"]
    assert found.begins_empty == []
    assert found.new_topics == ("flights", "landings")


def test_unused_stores_are_dropped_and_other_windows_are_another_store() -> None:
    def windowed(size: str) -> Build:
        def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            grouped = flights.group_by("dest").windowed_by(tumbling(size))
            grouped.materialized("w").aggregate(s=sum_("air"), n=count()).to("out")

        return build

    assert becomes(compared(by_dest, windowed("1 h"))) == {
        "w": "new",
        "aggregate-4-store": "dropped",
    }
    found = compared(windowed("1 h"), windowed("2 h"))
    assert becomes(found) == {"w": "changed"}
    assert "its windows was" in found.stores[0].why
