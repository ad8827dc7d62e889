"""Global tables: their position in cut plans, and errors."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.joins.global_tables import GlobalTable
from duolog.dsl.streams import Stream
from duolog.plan.cutting.levels import Levels, find_levels


def levels_of(topology: Topology) -> Levels:
    return find_levels(topology.build())


def edges_of(levels: Levels) -> list[tuple[str, list[str], int, bool]]:
    return [
        (edge.parent.name, [to.name for to in edge.consumers], edge.target, edge.everywhere)
        for edge in levels.edges
    ]


def both(topology: Topology) -> tuple[GlobalTable, Stream]:
    rates = topology.global_table("rates", key="currency STRING", value="rate DOUBLE")
    return rates, topology.stream("orders", key="id BIGINT", value="paid STRING")


def test_a_global_table_is_sent_to_every_task_and_the_stream_to_the_task_of_its_key() -> None:
    topology = Topology("t")
    rates, orders = both(topology)
    orders.join(rates, on="paid").to("out")

    assert edges_of(levels_of(topology)) == [
        ("global-table-1", ["global-table-1"], 0, True),
        ("stream-2", ["global-join-3"], 0, False),
    ]


def test_a_record_is_joined_in_its_task_even_if_its_key_has_changed() -> None:
    topology = Topology("t")
    rates, orders = both(topology)
    counted = orders.group_by("paid").count("n").to_stream().select_key(n=col("n"))
    counted.join(rates, on="paid").to("out")

    assert edges_of(levels_of(topology)) == [
        ("global-table-1", ["global-table-1"], 0, True),
        ("group-by-3", ["aggregate-4"], 0, False),
    ]


def test_a_join_and_its_aggregate_share_a_shuffle() -> None:
    topology = Topology("t")
    rates, orders = both(topology)
    orders.select_key("paid").join(rates, on="paid", prefix="r_").group_by("paid").count().to("out")

    assert len(levels_of(topology).levels) == 1


def test_a_table_that_two_levels_look_up_is_stored_in_each() -> None:
    topology = Topology("t")
    rates, orders = both(topology)
    counted = orders.join(rates, on="paid").group_by("rate").count("n").to_stream()
    counted.join(rates, on=col("n").cast("STRING"), prefix="r_").to("out")

    levels = levels_of(topology)

    assert [part.stores for part in levels.subtopologies] == [
        ("global-table-1-store",),
        ("aggregate-5-store", "global-table-1-store-2"),
    ]
    everywhere = [edge.target for edge in levels.edges if edge.everywhere]
    assert everywhere == [0, 1]


def test_a_key_of_another_type_is_refused_naming_both_types() -> None:
    rates, orders = both(Topology("t"))

    with pytest.raises(StatementError) as refused:
        orders.join(rates, on=col("id") + 1)

    assert str(refused.value.detail) == (
        "(id + 1) of type (BIGINT) is matched with the table's key (currency STRING)."
    )


def test_keys_of_other_names_are_not_guessed() -> None:
    rates, orders = both(Topology("t"))

    with pytest.raises(StatementError, match="different names") as refused:
        orders.join(rates)

    assert refused.value.hint == (
        'Choose the columns that match currency: join(table, on="id"), or another column of the stream.'
    )


@pytest.mark.parametrize("kind", ["stream", "table"])
def test_a_topic_cannot_be_both_a_global_table_and_another_source(kind: str) -> None:
    topology = Topology("t")
    rates, orders = both(topology)
    orders.join(rates, on="paid").to("out")
    getattr(topology, kind)("rates", key="currency STRING", value="rate DOUBLE").to("again")

    with pytest.raises(StatementError, match='topic "rates" is read as a global table'):
        topology.build()


def test_an_unknown_method_of_a_global_table_is_refused_with_a_hint() -> None:
    rates, _ = both(Topology("t"))

    with pytest.raises(AttributeError, match='a global table has no "filter"') as caught:
        rates.filter(col("rate") > 1)  # type: ignore[attr-defined]

    assert "stream.join(table, on=...)" in str(caught.value)
