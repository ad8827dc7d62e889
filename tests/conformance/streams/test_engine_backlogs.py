"""Backlogs larger than one micro-batch are still merged by timestamp.

Kafka Streams reads on from whichever input has the earliest record, and waits for what the broker
has. Duolog's micro-batches are bounded, and no topic may be read past the end of another's batch.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.settings import Mode
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S = 120
PARTITIONS = {"orders": 3, "customers": 2}
CUSTOMERS = 40
ORDERS = 30
RECORDS_MAX = 50
LATE_MS = 5
START_MS = 1_700_000_000_000


class Shop:
    """Orders joined with customers, all of which are updated at once, repeatedly."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._client = {"bootstrap.servers": bootstrap_servers}
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        topics = [NewTopic(name, count, 1) for name, count in PARTITIONS.items()]
        for created in self._admin.create_topics([*topics, NewTopic("joined", 1, 1)]).values():
            created.result(30)
        self._now = START_MS
        self._orders = 0
        self.expected: dict[int, int] = {}
        """The version of its customer that each order is to find."""

    @staticmethod
    def topology() -> Topology:
        topology = Topology("shop")
        orders = topology.stream("orders", key="id BIGINT", value="customer STRING")
        customers = topology.table("customers", key="name STRING", value="version BIGINT")
        joined = orders.left_join(customers, on="customer")
        joined.map_values("id", "version").to("joined")
        return topology

    def produce(self, versions: range) -> None:
        """Update all customers to each version, then write orders, every seventh of them late."""
        producer = Producer(self._client)
        for version in versions:
            for customer in range(CUSTOMERS):
                self._now += 1
                self._send(producer, "customers", f"c{customer}", {"version": version})
            self._now += LATE_MS
            for _ in range(ORDERS):
                self._now += 1
                late_ms = LATE_MS if self._orders % 7 == 0 else 0
                row = {"customer": f"c{self._orders % CUSTOMERS}"}
                key = self._orders.to_bytes(8, "big")
                self._send(producer, "orders", key, row, late_ms=late_ms)
                self.expected[self._orders] = version
                self._orders += 1
            self._now += LATE_MS
        assert producer.flush(30) == 0

    def _send(
        self, producer: Producer, topic: str, key: str | bytes, row: object, *, late_ms: int = 0
    ) -> None:
        partition = self._now % PARTITIONS[topic]
        if topic == "customers":
            partition = int(str(key)[1:]) % PARTITIONS[topic]
        value = json.dumps(row).encode()
        producer.produce(topic, value, key, partition, timestamp=self._now - late_ms)

    def produce_all_at_once(self, customers: int) -> None:
        """Write many customers and, after all acknowledgements, orders of the last ones."""
        producer = Producer(self._client)
        for customer in range(customers):
            producer.produce("customers", b'{"version":1}', f"c{customer}", customer % 2)
        assert producer.flush(30) == 0
        for order in range(ORDERS):
            value = f'{{"customer":"c{customers - 1 - order}"}}'
            producer.produce("orders", value, order.to_bytes(8, "big"), order % 3)
            self.expected[order] = 1
        self._orders = ORDERS
        assert producer.flush(30) == 0

    def found(self) -> dict[int, list[int | None]]:
        """Return the versions written for each order."""
        consumer = Consumer(self._client | {"group.id": "shop"})
        consumer.assign([TopicPartition("joined", 0, 0)])
        messages = consumer.consume(self._orders, WAIT_S)
        rows = [json.loads(message.value() or b"") for message in messages]
        consumer.close()
        found: dict[int, list[int | None]] = defaultdict(list)
        for row in rows:
            found[row["id"]].append(row["version"])
        return dict(found)


@pytest.fixture
def shop() -> Iterator[tuple[Shop, str]]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield Shop(cluster.bootstrap_servers), cluster.bootstrap_servers


@pytest.mark.parametrize(
    "modes",
    [
        ("micro-batch", "auto"),
        pytest.param(("micro-batch", "micro-batch"), marks=pytest.mark.deep),
        pytest.param(("auto", "auto"), marks=pytest.mark.deep),
    ],
    ids=" and ".join,
)
def test_backlog_of_many_micro_batches_joins_like_a_single_batch(
    spark: SparkSession, shop: tuple[Shop, str], tmp_path: Path, modes: tuple[Mode, Mode]
) -> None:
    """Regression: a table longer than a micro-batch was read after much later orders."""
    assert spark is not None, "the engine finds the session of this run"
    made, servers = shop
    config = EngineConfig(servers, tmp_path, offsets_per_trigger_max=RECORDS_MAX)

    # A restart continues from committed offsets.
    for versions, mode in zip((range(3), range(3, 5)), modes, strict=True):
        made.produce(versions)
        query = Engine(config).start(Shop.topology().build(), "shop", mode)
        assert query.wait_until_caught_up(WAIT_S)
        query.stop()
        assert query.exception() is None

    assert made.found() == {order: [version] for order, version in made.expected.items()}


def test_live_record_waits_for_earlier_table_rows(
    spark: SparkSession, shop: tuple[Shop, str], tmp_path: Path
) -> None:
    """Regression: topics were read independently, and all orders overtook their customers."""
    assert spark is not None, "the engine finds the session of this run"
    made, servers = shop

    query = Engine(EngineConfig(servers, tmp_path)).start(Shop.topology().build(), "live", "auto")
    for _ in range(WAIT_S * 10):
        if query.mode == "real-time" or query.wait(0.1):
            break
    assert query.mode == "real-time"
    made.produce_all_at_once(20_000)
    found = made.found()
    query.stop()

    assert query.exception() is None
    assert found == {order: [version] for order, version in made.expected.items()}
