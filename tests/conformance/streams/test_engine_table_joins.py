"""Table-table joins on Spark equal a join of the final tables, in both modes."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, count
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
TOPICS: Final = ("orders", "notes")
Rows = dict[str, dict[str, Any]]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_table_joins_equal_a_join_of_the_final_tables(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in (*TOPICS, "noted", "by-note"):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    rows: dict[str, Rows] = {topic: {} for topic in TOPICS}
    drawn = random.Random(7)  # noqa: S311 - the same records each time

    for mode in modes:
        query = engine.start(topology().build(), "shop", mode)
        for _ in range(3):
            change(drawn, client, rows)
            wait_for(client, *expected(rows))
        query.stop()


def topology() -> Topology:
    found = Topology("shop")
    orders = found.table("orders", key="id STRING", value="customer STRING, amount BIGINT")
    notes = found.table("notes", key="id STRING", value="note STRING")
    noted = orders.outer_join(notes)
    noted.to("noted")
    noted.group_by("note").aggregate(orders=count("customer")).to("by-note")
    return found


def change(drawn: random.Random, client: Client, rows: dict[str, Rows]) -> None:
    for _ in range(200):
        topic = drawn.choice(TOPICS)
        key = str(drawn.randrange(40))
        row = None if drawn.random() < 0.2 else new_row(drawn, topic)
        rows[topic].pop(key, None)
        if row is not None:
            rows[topic][key] = row
        client.produce(topic, key, None if row is None else json.dumps(row))


def new_row(drawn: random.Random, topic: str) -> dict[str, Any]:
    if topic == "orders":
        return {"customer": drawn.choice([None, "a", "b"]), "amount": drawn.randrange(100)}
    return {"note": drawn.choice(["late", "gift", "paid"])}


def expected(rows: dict[str, Rows]) -> tuple[Rows, dict[str, int]]:
    orders, notes = (rows[topic] for topic in TOPICS)
    nothing = {"customer": None, "amount": None}
    noted = {
        key: orders.get(key, nothing) | notes.get(key, {"note": None}) for key in orders | notes
    }
    ordered = [row["note"] for row in noted.values() if row["note"] and row["customer"]]
    return noted, {note: ordered.count(note) for note in ordered}


def wait_for(client: Client, noted: Rows, by_note: dict[str, int]) -> None:
    deadline = time.monotonic() + WAIT_S
    wanted = (noted, by_note)
    while (found := tables(client)) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found == wanted


def tables(client: Client) -> tuple[Rows, dict[str, int]]:
    counted = {key: row["orders"] for key, row in table(client, "by-note").items()}
    return table(client, "noted"), {note: orders for note, orders in counted.items() if orders}


def table(client: Client, topic: str) -> Rows:
    found: Rows = {}
    for record in client.read(topic):
        found.pop(str(record.key_text), None)
        if record.value_text is not None:
            found[str(record.key_text)] = json.loads(record.value_text)
    return found
