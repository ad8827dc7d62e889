"""Read without a shuffle until a record is in another task's partition, on Spark."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from duolog import Topology, col, count, sum_
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.query import RunningQuery
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
KEYS: Final = 40
PARTITIONS: Final = 3


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


def topology() -> Topology:
    """A join of two topics, a downstream aggregate, and a path that bypasses both."""
    found = Topology("orders")
    shops = found.table("shops", key="id STRING", value="city STRING")
    orders = found.stream("orders", key="id STRING", value="n BIGINT")
    orders.filter(col("n") < 0).to("refused")
    joined = orders.filter(col("n") >= 0).join(shops)
    joined.to("joined")
    joined.group_by("city").aggregate(orders=count(), total=sum_("n")).to("by-city")
    return found


@pytest.mark.parametrize("partitioner", ["murmur2_random", "consistent_random"])
def test_results_are_independent_of_the_partitioner(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, partitioner: str
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for name in ("shops", "orders", "refused", "joined", "by-city"):
        client.create_topic(name, partitions=PARTITIONS)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    write(cluster, partitioner, "shops", [(k, {"city": f"city-{k % 4}"}) for k in range(KEYS)])
    for start in (1, 2):
        query = engine.start(topology().build(), "orders", "micro-batch")
        try:
            write(cluster, partitioner, "orders", [(n % KEYS, {"n": n}) for n in range(400)])
            write(cluster, partitioner, "orders", [(n % KEYS, {"n": -1 - n}) for n in range(10)])
            wait_until(client, start)
            assert ("Exchange" in first_level(query)) == (partitioner != "murmur2_random"), start
            # Refused records follow all counted ones, and may be in the next micro-batch.
            assert query.wait_until_caught_up(WAIT_S)
            assert query.progress().records_in >= 410
        finally:
            query.stop()
    assert all(len(client.read(topic)) >= 10 for topic in ("refused", "joined"))


def first_level(query: RunningQuery) -> str:
    """Return Spark's plan nodes between the topics and the first level."""
    spark_query = query._run.spark_query  # noqa: SLF001 - only this test reads Spark's plan
    assert spark_query is not None
    extended = False
    plan: str = spark_query._jsq.explainInternal(extended)  # noqa: SLF001 - `explain` prints it
    return plan.rpartition("TransformWithState")[2]


def write(
    cluster: EmbeddedCluster, partitioner: str, topic: str, rows: list[tuple[int, Any]]
) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = Producer(settings | {"partitioner": partitioner})
    for key, value in rows:
        producer.produce(topic, json.dumps(value), f"key-{key}")
    assert producer.flush(30) == 0


def wait_until(client: Client, starts: int) -> None:
    expected = {
        f"city-{city}": {
            "orders": 100 * starts,
            "total": sum(n for n in range(400) if n % KEYS % 4 == city) * starts,
        }
        for city in range(4)
    }
    until = time.monotonic() + WAIT_S
    found: dict[str, Any] = {}
    while time.monotonic() < until:
        for record in client.read("by-city"):
            found[(record.key or b"").decode()] = json.loads(record.value or b"null")
        if found == expected:
            return
        time.sleep(0.2)
    assert found == expected
