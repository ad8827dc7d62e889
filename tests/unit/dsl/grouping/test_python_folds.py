"""Aggregates by Python functions, in the reference evaluator and in the kernel."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from duolog import Topology, col, session, tumbling
from duolog.core.errors import StatementError
from duolog.dsl.streams import Grouped
from duolog.testing import TopologyDriver

ENGINES = ["reference", pytest.param("kernel", marks=pytest.mark.spark)]


@dataclass
class Basket:
    items: list[str]
    total: int


def empty() -> Basket:
    return Basket([], 0)


def put(basket: Basket, item: str, n: int) -> Basket:
    return Basket(sorted([*basket.items, item]), basket.total + n)


def take(basket: Basket, item: str, n: int) -> Basket:
    basket.items.remove(item)
    return Basket(basket.items, basket.total - n)


def both(basket: Basket, other: Basket) -> Basket:
    return Basket(sorted(basket.items + other.items), basket.total + other.total)


def grouped() -> tuple[Topology, Grouped]:
    topology = Topology("baskets")
    bought = topology.stream("bought", key="who STRING", value="item STRING, n BIGINT")
    return topology, bought.group_by_key()


def table_of(topology: Topology, engine: Any, *given: tuple[str, Any, int]) -> dict[Any, Any]:
    with TopologyDriver(topology, engine=engine) as driver:
        topic = driver.input_topic("bought")
        for who, value, at in given:
            topic.pipe_input(who, value, at)
        return driver.output_topic("out").read_table()


PEAR = {"item": "pear", "n": 2}
FIG = {"item": "fig", "n": 3}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_fields_of_the_state_are_the_columns_of_the_table(engine: Any) -> None:
    topology, group = grouped()
    group.aggregate(initializer=empty, adder=put).to("out")

    found = table_of(topology, engine, ("ann", PEAR, 0), ("ann", FIG, 1), ("bob", FIG, 2))

    assert found == {
        "ann": {"items": ["fig", "pear"], "total": 5},
        "bob": {"items": ["fig"], "total": 3},
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_old_rows_of_a_table_are_subtracted(engine: Any) -> None:
    topology = Topology("baskets")
    bought = topology.table("bought", key="who STRING", value="item STRING, n BIGINT")
    by_item = bought.group_by(first=col("item").substring(1, 1))
    by_item.aggregate(initializer=empty, adder=put, subtractor=take).to("out")

    given = ("ann", PEAR, 0), ("bob", {"item": "plum", "n": 9}, 1), ("ann", FIG, 2)

    assert table_of(topology, engine, *given) == {
        "p": {"items": ["plum"], "total": 9},
        "f": {"items": ["fig"], "total": 3},
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_sessions_are_merged(engine: Any) -> None:
    topology, group = grouped()
    sessions = group.windowed_by(session(timedelta(milliseconds=10), grace="1 s"))
    sessions.aggregate(initializer=empty, adder=put, merger=both).to("out")

    found = table_of(topology, engine, ("ann", PEAR, 0), ("ann", FIG, 20), ("ann", PEAR, 10))

    assert list(found.values()) == [{"items": ["fig", "pear", "pear"], "total": 7}]


def test_a_plain_type_is_one_column_and_each_window_starts_from_the_initial_value() -> None:
    topology, group = grouped()
    counted = group.windowed_by(tumbling("1 s")).aggregate(initializer=lambda: 0, adder=longest_of)
    counted.to("out")

    found = table_of(topology, "reference", ("ann", PEAR, 0), ("ann", FIG, 1500))

    assert list(found.values()) == [{"value": 4}, {"value": 3}]


def longest_of(so_far: int, item: str) -> int:
    return max(so_far, len(item))


def test_steps_that_do_not_fit_are_refused() -> None:
    _, group = grouped()

    def elsewhere(basket: Basket, weight: int) -> Basket:
        return basket

    with pytest.raises(StatementError, match="some steps of the aggregate are functions"):
        group.aggregate(initializer={"n": col("n")}, adder=put)
    with pytest.raises(StatementError, match="column for the parameter of"):
        group.aggregate(initializer=empty, adder=elsewhere)
    with pytest.raises(StatementError, match="needs an initializer and an adder"):
        group.aggregate(adder=put)
