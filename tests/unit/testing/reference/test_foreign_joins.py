"""Foreign-key joins in the reference evaluator: one micro-batch through several tasks, and the driver."""

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest

from duolog import Topology, col, count
from duolog.testing import TopologyDriver
from duolog.testing.reference import ReferenceEvaluator, SourceRecord, latest

Changes = list[tuple[str, str, dict[str, Any] | None, int]]


def shop() -> Topology:
    topology = Topology("shop")
    orders = topology.table("orders", key="id STRING", value="customer STRING, n BIGINT")
    customers = topology.table("customers", key="name STRING", value="city STRING")
    orders.join(customers, on="customer").to("inner")
    orders.left_join(customers, on="customer").to("left")
    return topology


def run(evaluator: ReferenceEvaluator, changes: Iterable[Any], first: int = 0) -> list[Any]:
    return evaluator.run(
        SourceRecord(
            topic, 0, first + offset, time, key.encode(), value and json.dumps(value).encode()
        )
        for offset, (topic, key, value, time) in enumerate(changes)
    )


def test_an_answer_that_overtakes_its_request_is_not_lost() -> None:
    evaluator = ReferenceEvaluator(shop().build(), tasks=2)
    orders = [("x", "p", 100), ("y", "q", 5)]

    written = run(
        evaluator, [("orders", key, {"customer": of, "n": 1}, at) for key, of, at in orders]
    )

    assert {record.key for record in written if record.topic == "left"} == {b"x", b"y"}


@pytest.mark.parametrize("seed", range(60))
def test_the_last_rows_are_joined_in_any_order_of_tasks(seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311 - the same records each time
    tasks = drawn.randint(1, 4)
    evaluator = ReferenceEvaluator(shop().build(), tasks=tasks)
    rows: dict[str, dict[str, dict[str, Any]]] = {"orders": {}, "customers": {}}
    written = []
    for batch in range(4):
        changes = [random_change(drawn) for _ in range(drawn.randint(1, 40))]
        for topic, key, value, _ in changes:
            rows[topic].pop(key, None)
            if value is not None:
                rows[topic][key] = value
        written += run(evaluator, changes, batch * 100)

        joined = {
            key.encode(): order | customer
            for key, order in rows["orders"].items()
            if (customer := rows["customers"].get(order["customer"] or ""))
        }
        assert values(latest(written, "inner")) == joined
        every = {key.encode(): order | {"city": None} for key, order in rows["orders"].items()}
        assert values(latest(written, "left")) == every | joined


def random_change(drawn: random.Random) -> tuple[str, str, dict[str, Any] | None, int]:
    """Return a change; its timestamps are unordered, so that a task receives records in any order."""
    gone, time = drawn.random() < 0.3, drawn.randrange(50)
    if drawn.random() < 0.4:
        return (
            "customers",
            drawn.choice("ab"),
            None if gone else {"city": drawn.choice("xyz")},
            time,
        )
    order = {"customer": drawn.choice(["a", "b", None]), "n": drawn.randrange(3)}
    return "orders", drawn.choice("123"), None if gone else order, time


def values(table: dict[bytes | None, bytes]) -> dict[bytes | None, Any]:
    return {key: json.loads(value) for key, value in table.items()}


def test_every_row_with_a_foreign_key_receives_its_change() -> None:
    with TopologyDriver(shop()) as driver:
        orders, customers = driver.input_topic("orders"), driver.input_topic("customers")
        inner = driver.output_topic("inner")
        for key in ("1", "2", "3"):
            orders.pipe_input(key, {"customer": "c" if key == "3" else "a", "n": 1})
        assert inner.read_key_values() == []

        customers.pipe_input("a", {"city": "x"})
        assert inner.read_key_values() == [
            ("1", {"customer": "a", "n": 1, "city": "x"}),
            ("2", {"customer": "a", "n": 1, "city": "x"}),
        ]

        orders.pipe_input("1", {"customer": "c", "n": 1})
        customers.pipe_input("a", None)
        assert inner.read_key_values() == [("1", None), ("2", None)]


def test_a_row_that_matches_itself_is_emitted_once() -> None:
    topology = Topology("people")
    people = topology.table("people", key="name STRING", value="boss STRING, pay BIGINT")
    people.join(people, on="boss", prefix="boss_").to("out")
    with TopologyDriver(topology) as driver:
        given, out = driver.input_topic("people"), driver.output_topic("out")
        given.pipe_input("ann", {"boss": "ann", "pay": 1})
        given.pipe_input("bob", {"boss": "ann", "pay": 2})
        out.read_records()

        given.pipe_input("ann", {"boss": "ann", "pay": 3})

        joined = [(key, row["pay"], row["boss_pay"]) for key, row in out.read_key_values()]
        assert sorted(joined) == [("ann", 3, 3), ("bob", 2, 3)]


def test_a_foreign_key_can_use_key_and_value() -> None:
    topology = Topology("seats")
    seats = topology.table("seats", key="plane STRING, seat INT", value="guest STRING")
    planes = topology.table("planes", key="name STRING", value="wings INT")
    joined = seats.join(planes, on=col("plane"))
    joined.group_by("wings").aggregate(guests=count("guest")).to("by-wings")
    with TopologyDriver(topology) as driver:
        driver.input_topic("planes").pipe_input("p", {"wings": 2})
        driver.input_topic("seats").pipe_input(("p", 1), {"guest": "x"})
        driver.input_topic("seats").pipe_input(("p", 2), {"guest": "y"})

        assert driver.output_topic("by-wings").read_table() == {2: {"guests": 2}}


def test_rows_with_a_null_in_their_key_receive_their_match() -> None:
    topology = Topology("seats")
    seats = topology.table("seats", key="plane STRING, row STRING", value="guest STRING")
    planes = topology.table("planes", key="name STRING", value="wings INT")
    seats.join(planes, on=col("plane")).to("joined")
    with TopologyDriver(topology) as driver:
        driver.input_topic("seats").pipe_input(("p", "a"), {"guest": "x"})
        driver.input_topic("seats").pipe_input(("p", None), {"guest": "y"})
        driver.input_topic("planes").pipe_input("p", {"wings": 2})

        guests = [row["guest"] for _, row in driver.output_topic("joined").read_key_values()]

    assert guests == ["y", "x"]
