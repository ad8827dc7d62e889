"""Global tables on Spark, in both modes and over two starts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, col
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
CURRENCIES: Final = 100
MICRO_BATCH: Final = 40
LATER_MS: Final = 1_000_000_000


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_every_task_finds_initial_and_later_rows_of_a_global_table(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    """The rows have later timestamps than the orders and do not fit one micro-batch."""
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("orders", "rates", "valued"):
        client.create_topic(topic, partitions=2)
    config = EngineConfig(cluster.bootstrap_servers, tmp_path, offsets_per_trigger_max=MICRO_BATCH)
    engine = Engine(config)
    expected: dict[str, int | None] = {}

    def write_rates(factor: int) -> None:
        for number in range(CURRENCIES):
            value = json.dumps({"rate": number * factor})
            client.produce("rates", f"C{number}", value, timestamp_ms=LATER_MS)

    def order(name: str, factor: int) -> None:
        for number in range(CURRENCIES):
            paid = json.dumps({"paid": f"c{number}"})
            client.produce("orders", f"{name}{number}", paid, timestamp_ms=number)
            expected[f"{name}{number}"] = number * factor

    for factor, mode in enumerate(modes, 1):
        write_rates(factor)
        order(f"at start {factor}-", factor)
        query = engine.start(topology().build(), "shop", mode)
        wait_for(client, expected)
        client.produce("rates", "C0", json.dumps({"rate": -factor}), timestamp_ms=0)
        client.produce("rates", "C1", None, timestamp_ms=0)
        order(f"later {factor}-", factor)
        expected |= {f"later {factor}-0": -factor, f"later {factor}-1": None}
        wait_for(client, expected)
        query.stop()


def topology() -> Topology:
    found = Topology("shop")
    rates = found.global_table("rates", key="currency STRING", value="rate BIGINT")
    orders = found.stream("orders", key="id STRING", value="paid STRING")
    orders.left_join(rates, on=col("paid").upper()).to("valued")
    return found


def wait_for(client: Client, expected: dict[str, int | None]) -> None:
    waiting.wait_for_equal(lambda: valued(client), expected, WAIT_S)


def valued(client: Client) -> dict[str, Any]:
    """Return the first write of each: a restart within an epoch looks up later rows."""
    return {
        str(record.key_text): json.loads(str(record.value_text))["rate"]
        for record in reversed(client.read("valued"))
    }
