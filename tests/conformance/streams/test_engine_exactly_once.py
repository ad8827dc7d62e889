"""Exactly-once results on Spark after any failure, in both modes, over several starts.

`tests/fault` tests kills. Here failures are simulated: files as after a crash, a second owner, a
record that cannot be processed.
"""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

import waiting
from duolog import Topology, col, count, sum_
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import CheckpointMismatch, QueryFailed
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import ErrorHandling, Mode
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WAIT_S: Final = 90
PARTITIONS: Final = 2
KEYS: Final = 12

Isolation = Literal["read_committed", "read_uncommitted"]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        for name in ("sales", "kept", "totals"):
            client.create_topic(name, partitions=PARTITIONS)
        yield cluster


def topology() -> Topology:
    """Two levels and two sinks: the records, and every update of a count by another key."""
    found = Topology("sales")
    sales = found.stream("sales", key="id STRING", value="shop STRING, amount BIGINT")
    sales.with_columns(again=col("shop")).to("kept")
    by_shop = sales.group_by("shop").aggregate(sales=count(), total=sum_("amount"))
    by_shop.to("totals")
    return found


class Run:
    """One application over several engines, as over several starts of a process."""

    def __init__(self, cluster: EmbeddedCluster, directory: Path, **changes: Any) -> None:
        self.cluster = cluster
        self.client = Client(cluster.bootstrap_servers)
        self.config = EngineConfig(
            cluster.bootstrap_servers,
            directory,
            cache_bytes_max=0,
            exactly_once=True,
            epoch_ms=1000,
            **changes,
        )
        self.sent = 0

    @property
    def spark_dir(self) -> Path:
        return self.config.checkpoint_dir / "sales" / "spark"

    def start(self, mode: Mode = "micro-batch") -> RunningQuery:
        return Engine(self.config).start(topology().build(), "sales", mode)

    def send(self, records: int) -> None:
        for n in range(self.sent, self.sent + records):
            value = json.dumps({"shop": f"shop-{n % KEYS}", "amount": 1})
            self.client.produce("sales", f"sale-{n}", value)
        self.sent += records

    def read(self, topic: str, isolation: Isolation = "read_committed") -> list[Any]:
        """Return key and value of all records, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap_servers,
                "group.id": "verifier",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        found: list[Any] = []
        at_end = 0
        while at_end < PARTITIONS:
            message = consumer.poll(60)
            assert message is not None, f"{topic} cannot be read to its end"
            if message.error():
                at_end += 1
                continue
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            found.append((key.decode(), json.loads(value)))
        consumer.close()
        return found

    def wait_for(self, records: int) -> None:
        wait_until(lambda: len(self.read("kept")) >= records)

    def ensure_each_once(self) -> None:
        """Check that every sale was written once, and each count of a shop once and in order."""
        kept = Counter(key for key, _ in self.read("kept"))
        assert kept == {f"sale-{n}": 1 for n in range(self.sent)}
        counts: dict[str, list[int]] = {}
        for shop, row in self.read("totals"):
            counts.setdefault(shop, []).append(row["sales"])
            assert row["sales"] == row["total"]
        expected = Counter(f"shop-{n % KEYS}" for n in range(self.sent))
        assert counts == {shop: list(range(1, n + 1)) for shop, n in expected.items()}


def wait_until(it_is_so: Callable[[], bool]) -> None:
    waiting.wait_until(it_is_so, "it took too long", WAIT_S)


def ensure_live(query: RunningQuery, mode: Mode) -> None:
    wait_until(lambda: query.mode == mode)


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_each_result_is_committed_once_over_two_restarts(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None
    run = Run(cluster, tmp_path)
    for _ in range(3):
        query = run.start(mode)
        ensure_live(query, mode)
        run.send(100)
        run.wait_for(run.sent)
        query.stop()
        run.ensure_each_once()
    assert run.read("totals", "read_uncommitted") == run.read("totals")


def test_epoch_is_not_recomputed_after_a_crash_past_its_transaction(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None
    run = Run(cluster, tmp_path)
    run.send(100)
    query = run.start()
    run.wait_for(100)
    query.stop()
    crash_behind_the_transaction(run)

    query = run.start()
    run.send(50)
    run.wait_for(150)
    query.stop()

    run.ensure_each_once()


def crash_behind_the_transaction(run: Run) -> None:
    """Leave the checkpoint as a crash does between the transaction's commit and Spark's."""
    last = max(int(path.name) for path in (run.spark_dir / "commits").glob("[0-9]*"))
    entry = run.spark_dir / "commits" / str(last)
    assert (run.spark_dir.parent / f"prepared.{last}").exists()
    entry.unlink()
    (entry.with_name(f".{last}.crc")).unlink()


def test_readers_see_nothing_of_a_failed_epoch(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None
    run = Run(cluster, tmp_path)
    query = run.start()
    run.send(50)
    run.wait_for(50)
    query.stop()
    for letter in "abcdefghijkl":  # Full batches are sent at once.
        run.client.produce("sales", letter, sale_of(letter * 100_000))
    run.client.produce("sales", "too large", sale_of("x" * 600_000))

    query = run.start()
    with pytest.raises(QueryFailed, match="cannot write"):
        query.wait(WAIT_S)

    assert len(run.read("kept", "read_uncommitted")) > 50, "it failed before it wrote"
    assert {key for key, _ in run.read("kept")} == {f"sale-{n}" for n in range(50)}
    assert len(run.read("totals")) == 50


def sale_of(shop: str) -> str:
    return json.dumps({"shop": shop, "amount": 1})


def test_a_new_checkpoint_does_not_write_results_again(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None
    run = Run(cluster, tmp_path / "one")
    run.send(20)
    query = run.start()
    run.wait_for(20)
    query.stop()

    with pytest.raises(CheckpointMismatch, match="does not know of"):
        Run(cluster, tmp_path / "two").start()

    query = run.start()
    run.send(20)
    run.wait_for(40)
    query.stop()
    run.ensure_each_once()


def test_fenced_application_stops_and_names_its_successor(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    run = Run(cluster, tmp_path)
    run.send(10)
    query = run.start()
    run.wait_for(10)
    take_over(spark, cluster, tmp_path)
    run.send(10)

    with pytest.raises(QueryFailed, match=r"process \d+ on host other-host") as failed:
        query.wait(WAIT_S)

    assert "/elsewhere/sales" in failed.value.message
    assert len(run.read("kept")) == 10


def take_over(spark: SparkSession, cluster: EmbeddedCluster, directory: Path) -> None:
    """Initialize transactions with the same id, as an application with another checkpoint."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to Java
    assert socket.gethostname() != "other-host"
    settings = java.java.util.HashMap()
    settings.put("bootstrap.servers", cluster.bootstrap_servers)
    transactions = kernel_class(java, "Transactions")
    other = str(directory / "elsewhere" / "sales" / "spark").replace(str(directory), "")
    transactions.open(other, "sales", "other-host", settings)
    transactions.close(other)


def test_oversized_result_is_skipped_and_the_epoch_continues(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None
    run = Run(cluster, tmp_path, errors=ErrorHandling(production="log_and_continue"))
    run.send(10)
    # Its stored form contains the shop twice.
    run.client.produce("sales", "large", sale_of("x" * 600_000))
    query = run.start()
    run.send(10)
    run.wait_for(20)
    progress = query.progress()
    query.stop()

    assert progress.skipped.get("production") == 1, "its copy in kept"
    assert {key for key, _ in run.read("kept")} == {f"sale-{n}" for n in range(20)}
    assert len(run.read("totals")) == 21


STATEMENTS: Final = """
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE STREAM sold (id STRING KEY, shop STRING, amount BIGINT)
  WITH (kafka_topic='sales', value_format='json');
CREATE STREAM large AS SELECT * FROM sold WHERE amount > 10;
UNSET 'processing.guarantee';
CREATE STREAM small AS SELECT * FROM sold WHERE amount <= 10;
"""


def test_exactly_once_sql_query_deletes_its_marker_when_terminated(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None
    client = Client(cluster.bootstrap_servers)
    marker = "_duolog-ksql-shop__query_CSAS_LARGE_0-epochs"
    properties = {"commit.interval.ms": "200"}
    for start in (1, 2):
        with SqlEngine(
            cluster.bootstrap_servers,
            data=tmp_path,
            service_id="shop_",
            properties=properties,
            engine_settings={"class.archive": "false"},
        ) as engine:
            engine.start()
            if start == 1:
                answers_of(engine, STATEMENTS)
            assert engine.wait_settled(WAIT_S)
            for amount in (5, 50):
                client.produce("sales", "a", json.dumps({"SHOP": "s", "AMOUNT": amount}))
            wait_until(lambda at=start: len(client.read("LARGE")) >= at)  # type: ignore[misc]
            wait_until(lambda at=start: len(client.read("SMALL")) >= at)  # type: ignore[misc]
            assert "exactly_once_v2" in answers_of(engine, "EXPLAIN CSAS_LARGE_0;")
            if start == 2:
                assert epochs_in(client, marker) == 2
                answers_of(engine, "TERMINATE CSAS_LARGE_0; DROP STREAM large;")
                assert engine.wait_settled(WAIT_S)
                wait_until(lambda: marker not in topics_of(cluster))
    assert [len(client.read(name)) for name in ("LARGE", "SMALL")] == [2, 2]
    assert "_duolog-ksql-shop__query_CSAS_SMALL_1-epochs" not in topics_of(cluster)


def answers_of(engine: SqlEngine, text: str) -> str:
    answers = engine.execute(text)
    return str([a.text if isinstance(a, Message) else list(a.rows) for a in answers])


def epochs_in(client: Client, topic: str) -> int:
    return sum(record.key == b"epoch" for record in client.read(topic))


def topics_of(cluster: EmbeddedCluster) -> set[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    return set(admin.list_topics(timeout=WAIT_S).topics)
