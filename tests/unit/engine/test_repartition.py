from collections.abc import Callable

import pytest

from duolog import Processor, Record, Topology, collect_list, key_value_store, session, tumbling
from duolog.engine.errors import NotRepartitionable
from duolog.engine.lower import lower
from duolog.engine.repartition import movable_stores
from duolog.plan.levels import find_levels
from fault.journeys import topology as journeys

KEY, VALUE = "k STRING", "n BIGINT, other STRING"


def spec_of(topology: Topology, tasks: int = 4) -> dict[str, object]:
    return lower(find_levels(topology.build(), tasks), topology.name, cache_bytes_max=0)


def test_tables_and_aggregates_are_moved_by_the_bytes_that_chose_their_task() -> None:
    stores = movable_stores(spec_of(journeys("")))

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
        (joins, ["lists", "lists", "unmatched", "versions", "waiting"]),
        (foreign_key, ["expiring", "numbers", "rows", "rows", "rows", "rows", "subscriptions"]),
    ],
)
def test_each_kind_of_store_says_where_the_keys_of_its_entries_are(
    build: Callable[[Topology], None], forms: list[str]
) -> None:
    topology = Topology("t")
    build(topology)

    stores = movable_stores(spec_of(topology))

    assert sorted(store.form for store in stores) == forms


def on_close(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE).group_by_key()
    visits.windowed_by(tumbling("1 minute", grace="0 s"), emit="on close").count("n").to("out")


class Counting(Processor):
    def process(self, record: Record) -> None: ...


def processor(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE)
    store = key_value_store("seen", key="k STRING", value="n BIGINT")
    visits.process(Counting, stores=[store], key=KEY, value="n BIGINT").to("out")


def everywhere(topology: Topology) -> None:
    visits = topology.stream("visits", key=KEY, value=VALUE)
    everyone = topology.global_table("everyone", key="id STRING", value="m BIGINT")
    visits.join(everyone, on="other").to("out")


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (on_close, "aggregate-3 tells results on close, each task up to a time of its own"),
        (processor, "keeps what its own code has chosen the keys of"),
        (everywhere, "chooses tasks otherwise than by the key"),
    ],
)
def test_what_belongs_to_no_task_of_a_key_is_refused_by_name(
    build: Callable[[Topology], None], why: str
) -> None:
    topology = Topology("t")
    build(topology)

    with pytest.raises(NotRepartitionable, match=f"{why}, so its state cannot be given"):
        movable_stores(spec_of(topology))
