"""State of SQL queries: changelogs of two services, a rebuilt query, a lost checkpoint."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

import waiting
from duolog.engine.upgrades.upgrader import Lowered, Upgrader
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(400)]

WAIT_S: Final = 120
TOTALS: Final = "TABLE totals WITH (kafka_topic='{0}totals') AS SELECT name, {1} AS total FROM orders GROUP BY name;"
ORDERS: Final = """CREATE STREAM IF NOT EXISTS orders (name STRING, n BIGINT)
WITH (kafka_topic='orders', partitions=2, value_format='json');"""


class Service:
    """One service on a broker, whose engine is restarted."""

    def __init__(
        self, cluster: EmbeddedCluster, data: Path, name: str, changelog: str = "on"
    ) -> None:
        self.client = Client(cluster.bootstrap_servers)
        self.data, self.name, self._changelog = data, name, changelog
        self._servers = cluster.bootstrap_servers

    def open(self) -> SqlEngine:
        pauses = {"ksql.query.retry.backoff.initial.ms": "500", "commit.interval.ms": "200"}
        settings = {"class.archive": "false", "state.changelog": self._changelog}
        return SqlEngine(
            self._servers,
            data=self.data,
            service_id=self.name,
            properties=pauses,
            engine_settings=settings,
        )

    def order(self, name: str, n: int) -> None:
        self.client.produce("orders", None, json.dumps({"NAME": name, "N": n}))

    def total(self, name: str) -> int | None:
        """Return the last total of a name in the table's topic."""
        records = self.client.read(f"{self.name}totals")
        found = [record.value for record in records if record.key == name.encode()]
        return json.loads(found[-1])["TOTAL"] if found and found[-1] else None

    def internal_topics(self) -> list[str]:
        admin = AdminClient({"bootstrap.servers": self._servers})
        named = f"_duolog-ksql-{self.name}_query_CTAS_"
        return sorted(
            topic.removeprefix(named)
            for topic in admin.list_topics(timeout=60).topics
            if topic.startswith(named) and not topic.endswith("-epochs")
        )

    def wait_committed(self, spark_dir: str = "spark") -> None:
        """Wait until all results are committed and the query is idle."""
        wait_for(lambda: any(self.checkpoint.glob(f"{spark_dir}/commits/[0-9]*")))
        offsets, commits = (self.checkpoint / spark_dir / log for log in ("offsets", "commits"))
        wait_for(lambda: len([*offsets.glob("[0-9]*")]) == len([*commits.glob("[0-9]*")]))

    @property
    def checkpoint(self) -> Path:
        (found,) = self.data.glob(f"{self.name}/checkpoints/CTAS_*")
        return found


def answers_of(engine: SqlEngine, text: str) -> list[object]:
    return [a.text if isinstance(a, Message) else list(a) for a in engine.execute(text)]


def wait_for(done: Callable[[], bool]) -> None:
    waiting.wait_until(done, "it did not come in time", WAIT_S)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        cluster_client = Client(cluster.bootstrap_servers)
        cluster_client.create_topic("orders", partitions=2)
        yield cluster


def test_services_on_one_cluster_restore_from_their_own_changelogs(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Regression: their queries have the same ids, so their topics had the same names."""
    assert spark is not None, "the engine finds the session of this run"
    sums = Service(cluster, tmp_path / "one", "one_")
    counts = Service(cluster, tmp_path / "two", "two_")
    sums.order("a", 20)
    for service, what, total in ((sums, "SUM(n)", 20), (counts, "COUNT(n)", 1)):
        with service.open() as engine:
            answers_of(engine, "SET 'auto.offset.reset' = 'earliest';" + ORDERS)
            answers_of(engine, "CREATE " + TOTALS.format(service.name, what))
            wait_for(lambda: service.total("a") == total)  # noqa: B023 - called in this iteration
            service.wait_committed()
    assert len(sums.internal_topics()) == 2
    assert sums.internal_topics() == counts.internal_topics()

    shutil.rmtree(sums.data)
    shutil.rmtree(counts.data)
    sums.order("a", 5)
    for service, total in ((counts, 2), (sums, 25)):
        with service.open() as engine:
            engine.start()
            wait_for(lambda: service.total("a") == total)  # noqa: B023 - as above
            service.wait_committed()
            if service is sums:
                answers_of(engine, "DROP TABLE totals;")
                wait_for(lambda: sums.internal_topics() == [])
    assert len(counts.internal_topics()) == 2, "what is dropped is the own service's"


def test_replaced_aggregate_is_rebuilt_alongside_the_running_query(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    shop = Service(cluster, tmp_path / "shop", "shop_")
    original = Upgrader.beside
    seen: list[int | None] = []

    def watched(upgrading: Upgrader, lowered: Lowered) -> None:
        original(upgrading, lowered)
        # The old query still emits results while the new one has caught up but not taken its
        # place.
        shop.order("b", 7)
        wait_for(lambda: shop.total("b") == 7)
        seen.append(shop.total("b"))

    monkeypatch.setattr(Upgrader, "beside", watched)
    with shop.open() as engine:
        answers_of(engine, ORDERS + "CREATE " + TOTALS.format("shop_", "SUM(n)"))
        for n in (20, 5):
            shop.order("a", n)
        wait_for(lambda: shop.total("a") == 25)

        answers_of(engine, "CREATE OR REPLACE " + TOTALS.format("shop_", "MAX(n)"))
        assert engine.wait_settled(WAIT_S)
        assert seen == [7]
        shop.order("a", 6)
        wait_for(lambda: shop.total("a") == 20)
        shop.wait_committed("spark-2")

    shutil.rmtree(shop.data)
    with shop.open() as engine:
        engine.start()
        shop.order("a", 21)
        wait_for(lambda: shop.total("a") == 21)
        shop.order("b", 6)
        shop.order("b", 8)
        wait_for(lambda: shop.total("b") == 8)


def test_query_with_a_lost_spark_directory_is_not_restarted_from_scratch(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    shop = Service(cluster, tmp_path / "lost", "lost_", changelog="off")
    with shop.open() as engine:
        answers_of(engine, ORDERS + "CREATE " + TOTALS.format("lost_", "SUM(n)"))
        shop.order("a", 20)
        wait_for(lambda: shop.total("a") == 20)
        shop.wait_committed()
    shutil.move(shop.checkpoint / "spark", tmp_path / "copy")
    written = len(shop.client.read("lost_totals"))

    with shop.open() as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)
        (queries,) = answers_of(engine, "SHOW QUERIES;")
        assert isinstance(queries, list)
        assert queries[0][2] == "ERROR"
        assert f'directory "{shop.checkpoint / "spark"}"' in queries[0][-1]
        assert len(shop.client.read("lost_totals")) == written

        shutil.move(tmp_path / "copy", shop.checkpoint / "spark")
        shop.order("a", 1)
        wait_for(lambda: shop.total("a") == 21)
