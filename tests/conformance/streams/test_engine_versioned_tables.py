"""Versioned tables on Spark, in both modes: versions and buffered records survive a stop."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology
from duolog.core.units import MINUTE_MS
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
ITEMS: Final = [f"item-{number}" for number in range(20)]
HOLDS_BACK: Final = 100
"""Behind it no order of the test is to wait."""


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_buffered_orders_find_the_price_of_their_time_after_a_restart(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("orders", "prices", "priced", "at-once"):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))

    prices(client, {1: 10, 8: 80})
    orders(client, 6)
    query = engine.start(topology().build(), "shop", modes[0])
    wait_for(client, "at-once", {f"{item}@6": 10 for item in ITEMS})
    query.stop()
    assert found(client, "priced") == {}

    prices(client, {5: 50})
    query = engine.start(topology().build(), "shop", modes[1])
    prices(client, {4: None})
    orders(client, 4)
    orders(client, HOLDS_BACK)
    wait_for(client, "priced", {f"{item}@{at}": p for item in ITEMS for at, p in WAITED.items()})
    query.stop()


WAITED: Final = {6: 50, 4: None}


def topology() -> Topology:
    """The latest order advances stream time and stays buffered itself."""
    topology = Topology("shop")
    orders = topology.stream("orders", key="item STRING", value="id STRING")
    prices = topology.table("prices", key="item STRING", value="price BIGINT", history="1 day")
    orders.left_join(prices).to("at-once")
    orders.left_join(prices, grace="10 minutes").to("priced")
    return topology


def prices(client: Client, by_minute: dict[int, int | None]) -> None:
    for minute, price in by_minute.items():
        for item in ITEMS:
            value = None if price is None else json.dumps({"price": price})
            client.produce("prices", item, value, timestamp_ms=minute * MINUTE_MS)


def orders(client: Client, minute: int) -> None:
    for item in ITEMS:
        order = json.dumps({"id": f"{item}@{minute}"})
        client.produce("orders", item, order, timestamp_ms=minute * MINUTE_MS)


def wait_for(client: Client, topic: str, expected: dict[str, Any]) -> None:
    waiting.wait_for_equal(lambda: found(client, topic), expected, WAIT_S)


def found(client: Client, topic: str) -> dict[str, Any]:
    """The first result of each order, except the one that stays buffered."""
    rows = [json.loads(str(record.value_text)) for record in reversed(client.read(topic))]
    return {row["id"]: row["price"] for row in rows if not row["id"].endswith(f"@{HOLDS_BACK}")}
