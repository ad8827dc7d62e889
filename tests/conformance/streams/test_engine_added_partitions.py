"""Add partitions to a topic while its application runs, and between two starts."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import Mode
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
KEYS: Final = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


def topology(name: str) -> Topology:
    """Count by key and join the last city: both are wrong if a key changes its task."""
    found = Topology(name)
    cities = found.table(f"{name}-cities", key="id STRING", value="city STRING")
    visits = found.stream(f"{name}-visits", key="id STRING", value="n BIGINT")
    visits.left_join(cities).group_by_key().count("visits").to(f"{name}-counts")
    visits.left_join(cities).to(f"{name}-joined")
    return found


@pytest.mark.parametrize(
    ("mode", "partitions"),
    [
        ("micro-batch", 4),
        pytest.param("micro-batch", 5, marks=pytest.mark.deep),
        pytest.param("real-time", 4, marks=pytest.mark.deep),
        pytest.param("real-time", 5, marks=pytest.mark.deep),
    ],
)
def test_keys_that_move_to_new_partitions_keep_their_state(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode, partitions: int
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    name = f"{mode}-{partitions}"
    client = Client(cluster.bootstrap_servers)
    for topic in ("cities", "visits", "counts", "joined"):
        client.create_topic(f"{name}-{topic}", partitions=2)
    config = EngineConfig(cluster.bootstrap_servers, tmp_path, epoch_ms=2000)
    engine = Engine(config)
    visits = Visits(cluster, client, name)
    write(cluster, f"{name}-cities", [(key, {"city": f"city-{key}"}) for key in range(KEYS)])

    query = engine.start(topology(name).build(), name, mode)
    visits.add(query)
    grow(cluster, f"{name}-visits", partitions)
    grow(cluster, f"{name}-cities", partitions)
    visits.add(query)
    query.stop()
    grow(cluster, f"{name}-visits", 2 * partitions)
    query = engine.start(topology(name).build(), name, mode)
    visits.add(query)
    query.stop()

    joined = client.read(f"{name}-joined")
    assert {(r.key_text, json.loads(r.value_text or "")["city"]) for r in joined} == {
        (f"key-{key}", f"city-{key}") for key in range(KEYS)
    }, "no record has missed its row"


class Visits:
    """Writes visits, and waits until each key's count equals the visits written."""

    def __init__(self, cluster: EmbeddedCluster, client: Client, name: str) -> None:
        self._cluster, self._client, self._name = cluster, client, name
        self._written: Counter[str] = Counter()

    def add(self, query: RunningQuery) -> None:
        rows = [(n % KEYS, {"n": n}) for n in range(100)]
        write(self._cluster, f"{self._name}-visits", rows)
        self._written.update(f"key-{key}" for key, _ in rows)
        deadline = time.monotonic() + WAIT_S
        while (counted := self._counted()) != self._written:
            assert query.exception() is None, query.exception()
            assert time.monotonic() < deadline, (counted, query.progress())
            time.sleep(0.2)

    def _counted(self) -> Counter[str]:
        records = self._client.read(f"{self._name}-counts")
        found = {r.key_text: json.loads(r.value_text or "")["visits"] for r in records}
        return Counter({key: visits for key, visits in found.items() if key is not None})


def grow(cluster: EmbeddedCluster, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)


def write(cluster: EmbeddedCluster, topic: str, rows: list[tuple[int, Any]]) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = Producer(settings | {"partitioner": "murmur2_random"})
    for key, value in rows:
        producer.produce(topic, json.dumps(value), f"key-{key}")
    assert producer.flush(30) == 0
