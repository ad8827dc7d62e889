from collections.abc import Callable
from typing import Any

import pytest

from duolog import Processor, Record, Topology, collect_list, key_value_store, session, tumbling
from duolog.engine.errors import NotRepartitionable
from duolog.engine.lowering.lower import lower
from duolog.engine.repartition import Movable, movable_stores, places_of_stores
from duolog.plan.cutting.levels import find_levels
from fault.journeys import topology as journeys

KEY, VALUE = "k STRING", "n BIGINT, other STRING"


def spec_of(topology: Topology, tasks: int = 4) -> dict[str, object]:
    return lower(find_levels(topology.build(), tasks), topology.name, cache_bytes_max=0)


def movable(topology: Topology) -> list[Movable]:
    return movable_stores(spec_of(topology), topology.build())


def test_tables_and_aggregates_are_moved_by_the_bytes_that_chose_their_task() -> None:
    stores = movable(journeys(""))

    assert [(store.name, store.key_bytes, store.key_types) for store in stores] == [
        (name, "CAST(k0 AS BINARY)", ["STRING"])
        for name in (
            "aggregate-10-store",
            "aggregate-13-store",
            "aggregate-7-store",
            "table-2-store",
            "table-3-store",
        )
    ]


def windows(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE).group_by_key()
    visits.windowed_by(tumbling("1 minute", grace="1 minute")).count("n").suppress(
        until="window close"
    ).to("out")
    visits.windowed_by(session("1 minute")).count("n").to("sessions")
    visits.aggregate(all=collect_list("n")).to("lists")


def on_close(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE)
    for windows in (tumbling("1 minute", grace="0 s"), session("1 minute", grace="0 s")):
        visits.group_by_key().windowed_by(windows, emit="on close").count("n").to("out")


def joins(topology: Topology) -> None:
    one = topology.stream("one", key=KEY, value="n BIGINT")
    two = topology.stream("two", key=KEY, value="m BIGINT")
    one.left_join(two, within="1 minute").to("out")
    one.join(topology.table("three", key=KEY, value="o BIGINT", history="1 hour"), grace="0 s").to(
        "priced"
    )


def foreign_key(topology: Topology) -> None:
    one = topology.table("one", key=KEY, value="other STRING")
    two = topology.table("two", key=KEY, value="m BIGINT")
    one.join(two, on="other").to("out")
    brief = topology.table("brief", key=KEY, value="b BIGINT", ttl="1 hour")
    topology.stream("visits", key=KEY, value="v BIGINT").join(brief).to("visited")


@pytest.mark.parametrize(
    ("build", "forms"),
    [
        (windows, ["rows", "windows", "windows", "windows"]),
        (on_close, ["closing", "closing"]),
        (joins, ["lists", "lists", "unmatched", "versions", "waiting"]),
        (foreign_key, ["expiring", "numbers", "rows", "rows", "rows", "rows", "subscriptions"]),
    ],
)
def test_each_kind_of_store_defines_the_keys_of_its_entries(
    build: Callable[[Topology], None], forms: list[str]
) -> None:
    topology = Topology("t")
    build(topology)

    stores = movable(topology)

    assert sorted(store.form for store in stores) == forms


class Counting(Processor):
    def process(self, record: Record) -> None: ...


def of_processor(*keys: str) -> Callable[[Topology], None]:
    """Return what builds a processor with stores that have these keys."""

    def build(topology: Topology) -> None:
        visits = topology.stream("visits", key=KEY, value=VALUE)
        stores = [key_value_store(f"seen-{key}", key=key, value="n BIGINT") for key in keys]
        visits.process(Counting, stores=stores, key=KEY, value="n BIGINT", name="counting").to(
            "out"
        )

    return build


def test_the_key_of_a_record_is_found_among_the_columns_of_a_key_that_a_processor_has_chosen() -> (
    None
):
    topology = Topology("t")
    of_processor(KEY, "day DATE, k STRING")(topology)

    stores = {store.name: store for store in movable(topology)}

    named = "'c0 DATE, c1 STRING'"
    assert stores["seen-k STRING"].keys == ["duolog_from_json(k0, 'c0 STRING').c0"]
    assert stores["seen-day DATE, k STRING"].keys == [f"duolog_from_json(k0, {named}).c1"]
    assert stores["seen-day DATE, k STRING"].key_types == ["STRING"]
    assert stores["counting-schedules"].form == "schedules"


def everywhere(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE)
    everyone = topology.global_table("everyone", key="id STRING", value="m BIGINT")
    visits.join(everyone, on="other").to("out")


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (
            of_processor(KEY, "other STRING"),
            r"has keys of other STRING, among which .* \(k STRING\) is not",
        ),
        (of_processor("k BIGINT"), r"has keys of k BIGINT, among which .* \(k STRING\) is not"),
        (everywhere, "does not choose tasks by the key"),
    ],
)
def test_state_without_a_key_is_refused_by_name(
    build: Callable[[Topology], None], why: str
) -> None:
    topology = Topology("t")
    build(topology)

    with pytest.raises(NotRepartitionable, match=f"{why}, so its state cannot be moved"):
        movable(topology)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"lost_ms": 1000}, "loses results if time jumps"),
        ({"on_close": "CAST(k0 AS STRING)"}, "in the order of other bytes than those of its key"),
    ],
)
def test_results_on_close_that_may_get_lost_or_have_another_order_are_refused(
    changed: dict[str, object], why: str
) -> None:
    topology = Topology("t")
    on_close(topology)
    spec: dict[str, Any] = spec_of(topology)
    folds = [node for node in spec["nodes"].values() if node["kind"] == "window_fold"]
    folds[0] |= changed

    with pytest.raises(NotRepartitionable, match=f"aggregate-3 .*{why}"):
        movable_stores(spec, topology.build())


@pytest.mark.parametrize(
    "build", [windows, on_close, joins, foreign_key, everywhere, of_processor("other STRING")]
)
def test_every_store_can_be_moved_to_the_same_number_of_tasks(
    build: Callable[[Topology], None],
) -> None:
    topology = Topology("t")
    build(topology)
    spec: dict[str, Any] = spec_of(topology)

    places = places_of_stores(spec)

    assert sorted(places) == sorted(spec["stores"])
    known = {part for level in spec["levels"] for part in level}
    assert set(places.values()) <= known


@pytest.mark.parametrize("build", [windows, on_close, joins, foreign_key, of_processor(KEY)])
def test_moved_state_is_complete(build: Callable[[Topology], None]) -> None:
    topology = Topology("t")
    build(topology)

    places = places_of_stores(spec_of(topology))

    assert {store.name: store.subtopology for store in movable(topology)} == places
