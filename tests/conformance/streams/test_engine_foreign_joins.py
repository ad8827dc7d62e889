"""Foreign-key joins on Spark equal a join of the final tables, in both modes."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
RESULTS: Final = ("inner", "left", "of-boss", "by-city")
Rows = dict[str, dict[str, Any]]
Tables = dict[str, Rows]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_foreign_key_joins_equal_a_join_of_the_final_tables(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("orders", "customers", *RESULTS):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    rows: Tables = {"orders": {}, "customers": {}}
    drawn = random.Random(7)  # noqa: S311 - the same records each time

    for mode in modes:
        query = engine.start(topology().build(), "shop", mode)
        for _ in range(3):
            change(drawn, client, rows)
            wait_for(client, expected(rows))
        query.stop()


def topology() -> Topology:
    found = Topology("shop")
    orders = found.table("orders", key="id STRING", value="customer STRING, amount BIGINT")
    customers = found.table("customers", key="name STRING", value="city STRING, boss STRING")
    joined = orders.join(customers, on="customer", select=["amount", "city"])
    joined.to("inner")
    joined.group_by("city").count().to("by-city")
    orders.left_join(customers, on="customer", select=["amount", "city"]).to("left")
    customers.join(customers, on="boss", prefix="of_", select=["city", "of_city"]).to("of-boss")
    return found


def change(drawn: random.Random, client: Client, rows: Tables) -> None:
    for _ in range(200):
        topic, keys = drawn.choice([("orders", 40), ("customers", 6)])
        key = str(drawn.randrange(keys))
        row = None if drawn.random() < 0.2 else new_row(drawn, topic)
        rows[topic].pop(key, None)
        if row is not None:
            rows[topic][key] = row
        client.produce(topic, key, None if row is None else json.dumps(row))


def new_row(drawn: random.Random, topic: str) -> dict[str, Any]:
    other = drawn.choice([None, *map(str, range(6))])
    if topic == "orders":
        return {"customer": other, "amount": drawn.randrange(100)}
    return {"city": drawn.choice(["Rome", "Oslo"]), "boss": other}


def expected(rows: Tables) -> Tables:
    orders, customers = rows["orders"], rows["customers"]
    left = {
        key: {"amount": row["amount"], "city": customers.get(row["customer"], {}).get("city")}
        for key, row in orders.items()
    }
    inner = {key: row for key, row in left.items() if row["city"]}
    of_boss = {
        key: {"city": row["city"], "of_city": customers[row["boss"]]["city"]}
        for key, row in customers.items()
        if row["boss"] in customers
    }
    cities = Counter(row["city"] for row in inner.values())
    by_city = {city: {"count": count} for city, count in cities.items()}
    return {"inner": inner, "left": left, "of-boss": of_boss, "by-city": by_city}


def wait_for(client: Client, wanted: Tables) -> None:
    waiting.wait_for_equal(lambda: tables(client), wanted, WAIT_S)


def tables(client: Client) -> Tables:
    found = {topic: table(client, topic) for topic in RESULTS}
    found["by-city"] = {city: row for city, row in found["by-city"].items() if row["count"]}
    return found


def table(client: Client, topic: str) -> Rows:
    found: Rows = {}
    for record in client.read(topic):
        found.pop(str(record.key_text), None)
        if record.value_text is not None:
            found[str(record.key_text)] = json.loads(record.value_text)
    return found
