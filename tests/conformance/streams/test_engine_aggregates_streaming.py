"""Collecting aggregates on Spark, in both modes, equal the final table after a restart."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, count_distinct, first, last, max_, min_, percentile, top_k
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
Rows = dict[str, dict[str, Any]]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_aggregates_retract_values_after_a_restart(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("orders", "by-shop"):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    rows: Rows = {}
    drawn = random.Random(7)  # noqa: S311 - the same records each time

    for mode in modes:
        query = engine.start(topology().build(), "shops", mode)
        for _ in range(2):
            change(drawn, client, rows)
            wait_for(client, expected(rows))
        query.stop()


def topology() -> Topology:
    found = Topology("shops")
    orders = found.table("orders", key="id STRING", value="shop STRING, note STRING, amount BIGINT")
    orders.group_by("shop").aggregate(
        low=min_("amount"),
        high=max_("note"),
        top=top_k("amount", 3),
        notes=count_distinct("note"),
        oldest=first("amount", by="time"),
        newest=last("amount", by="time"),
        median=percentile("amount", 0.5),
    ).to("by-shop")
    return found


def change(drawn: random.Random, client: Client, rows: Rows) -> None:
    """Give one shop more distinct notes than fit a row, and another one a few."""
    for _ in range(300):
        key = str(drawn.randrange(400))
        rows.pop(key, None)
        if drawn.random() > 0.2:
            amount = drawn.randrange(1, 1 << 30)
            shop = "large" if drawn.random() < 0.9 else "small"
            rows[key] = {"shop": shop, "note": f"note {amount}", "amount": amount}
        row = rows.get(key)
        client.produce("orders", key, None if row is None else json.dumps(row))


def expected(rows: Rows) -> Rows:
    found: Rows = {}
    for shop in {row["shop"] for row in rows.values()}:
        amounts = [row["amount"] for row in rows.values() if row["shop"] == shop]
        ordered = sorted(amounts)
        found[shop] = {
            "low": ordered[0],
            "high": max(f"note {amount}" for amount in amounts),
            "top": ordered[::-1][:3],
            "notes": len(set(amounts)),
            "median": pytest.approx(ordered[(len(ordered) - 1) // 2], rel=0.0101),
        }
    return found


def wait_for(client: Client, wanted: Rows) -> None:
    waiting.wait_for_equal(lambda: table(client), wanted, WAIT_S)


def table(client: Client) -> Rows:
    found: Rows = {}
    for record in client.read("by-shop"):
        found[str(record.key_text)] = row = json.loads(record.value_text or "")
        # The order of records with one timestamp is not deterministic here.
        for one in (row.pop("oldest"), row.pop("newest")):
            assert row["notes"] == 0 or one >= row["low"]
    return {shop: row for shop, row in found.items() if row["notes"]}
