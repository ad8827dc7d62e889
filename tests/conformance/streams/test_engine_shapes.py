"""Merged and cogrouped streams on Spark, in both modes and over a restart."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, acc, array, col, concat, greatest, lit
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
DEAR: Final = 50
SOURCES: Final = ("web", "shop", "back")
RESULTS: Final = (
    *("all", "balance", "last", "spread", "a-orders", "b-orders"),
    *("odd-twice", "even", "dearest"),
)
Order = tuple[str, str, str, int]
"""Topic, key, customer and amount."""


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_merged_streams_equal_the_result_of_all_records(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in (*SOURCES, *RESULTS):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    drawn = random.Random(11)  # noqa: S311 - the same records each time
    orders: list[Order] = []

    for mode in modes:
        query = engine.start(topology().build(), "orders", mode)
        for _ in range(2):
            orders += produce(drawn, client)
            wait_for(client, expected(orders))
        query.stop()


def topology() -> Topology:
    found = Topology("orders")
    value = "customer STRING, n BIGINT"
    sold = found.stream(["web", "shop"], key="id STRING", value=value)
    back = found.stream("back", key="id STRING", value=value)
    both = sold.merge(back.map_values("customer", n=col("n") * -1))
    both.to("all")
    both.to_table("last-rows").to("last")
    both.repartition().to("spread")
    sold.to(concat(col("customer"), "-orders"), topics=["a-orders", "b-orders"])
    added = sold.group_by("customer").cogroup({"n": acc("n") + col("n")})
    added = added.cogroup(back.group_by("customer"), {"n": acc("n") - col("n")})
    added.aggregate(initializer={"n": lit(0)}).to("balance")
    parts = sold.split(odd=col("n") % 2 == 1, default="even")
    parts["odd"].flat_map_values(n=array(col("n"), -col("n"))).to("odd-twice")
    parts["even"].to("even")
    dear = sold.filter_not(col("n") < DEAR).group_by("customer")
    dear.reduce({"n": greatest(acc("n"), col("n"))}).to("dearest")
    return found


def produce(drawn: random.Random, client: Client) -> list[Order]:
    orders = [
        (drawn.choice(SOURCES), str(drawn.randrange(30)), drawn.choice("ab"), drawn.randrange(100))
        for _ in range(150)
    ]
    for topic, key, customer, n in orders:
        client.produce(topic, key, json.dumps({"customer": customer, "n": n}))
    return orders


def expected(orders: list[Order]) -> dict[str, Any]:
    signed = [(key, who, -n if topic == "back" else n) for topic, key, who, n in orders]
    sold = [(who, n) for topic, _, who, n in orders if topic != "back"]
    return {
        "all": Counter(signed),
        "spread": Counter(signed),
        "keys": {key for key, _, _ in signed},
        "balance": {who: sum(n for _, of, n in signed if of == who) for who in "ab"},
        "a-orders": Counter(n for who, n in sold if who == "a"),
        "b-orders": Counter(n for who, n in sold if who == "b"),
        "odd-twice": Counter(part for _, n in sold if n % 2 == 1 for part in (n, -n)),
        "even": Counter(n for _, n in sold if n % 2 == 0),
        "dearest": {who: max(n for of, n in sold if of == who and n >= DEAR) for who in "ab"},
    }


def wait_for(client: Client, wanted: dict[str, Any]) -> None:
    deadline = time.monotonic() + WAIT_S
    while (missing := differences(results(client), wanted)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not missing


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the differences, ignoring results that a stop caused to be written twice."""
    return {
        topic: (found[topic], of)
        for topic, of in wanted.items()
        if found[topic] != of and not (isinstance(of, Counter) and _is_once_more(found[topic], of))
    }


def _is_once_more(found: Counter[Any], wanted: Counter[Any]) -> bool:
    return found.keys() == wanted.keys() and found >= wanted


def results(client: Client) -> dict[str, Any]:
    rows = {topic: read(client, topic) for topic in RESULTS}
    return {
        "all": Counter((key, row["customer"], row["n"]) for key, row in rows["all"]),
        "spread": Counter((key, row["customer"], row["n"]) for key, row in rows["spread"]),
        "keys": {key for key, _ in rows["last"]},
        "balance": {key: row["n"] for key, row in rows["balance"]},
        "a-orders": Counter(row["n"] for _, row in rows["a-orders"]),
        "b-orders": Counter(row["n"] for _, row in rows["b-orders"]),
        "odd-twice": Counter(row["n"] for _, row in rows["odd-twice"]),
        "even": Counter(row["n"] for _, row in rows["even"]),
        "dearest": {key: row["n"] for key, row in rows["dearest"]},
    }


def read(client: Client, topic: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (str(record.key_text), json.loads(record.value_text or "null"))
        for record in client.read(topic)
    ]
