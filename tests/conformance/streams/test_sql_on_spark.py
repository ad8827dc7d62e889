"""Persistent SQL queries on Spark survive a restart, a lost data directory, a failed query."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.processing_log import STREAM_AUTO_CREATE
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

WAIT_S: Final = 60
TEXT: Final = """
CREATE STREAM orders (name STRING, n BIGINT) WITH (kafka_topic='orders', partitions=2, value_format='json');
INSERT INTO orders (name, n) VALUES ('a', 1000);
CREATE STREAM large AS SELECT * FROM orders WHERE n > 10;
CREATE TABLE totals AS SELECT name, SUM(n) AS total FROM orders GROUP BY name;
"""


class Shop:
    """One service on one broker, whose engine is restarted."""

    def __init__(self, cluster: EmbeddedCluster, data: Path) -> None:
        self.client = Client(cluster.bootstrap_servers)
        self.data = data
        self._servers = cluster.bootstrap_servers

    def open(self) -> SqlEngine:
        return SqlEngine(
            self._servers,
            data=self.data,
            service_id="shop_",
            properties={
                "ksql.query.retry.backoff.initial.ms": "500",
                "commit.interval.ms": "200",
                STREAM_AUTO_CREATE: "true",
            },
            engine_settings={"class.archive": "false"},
        )

    def order(self, name: str, n: int) -> None:
        self.client.produce("orders", None, json.dumps({"NAME": name, "N": n}))

    def total(self, name: str) -> int | None:
        """Return the last total of a name in the table's topic."""
        found = [r.value for r in self.client.read("TOTALS") if r.key == name.encode()]
        return json.loads(found[-1])["TOTAL"] if found and found[-1] else None

    def larges(self) -> list[int]:
        return sorted(json.loads(r.value or b"{}")["N"] for r in self.client.read("LARGE"))


def answers_of(engine: SqlEngine, text: str) -> list[object]:
    return [a.text if isinstance(a, Message) else list(a) for a in engine.execute(text)]


def wait_for(done: Callable[[], bool]) -> None:
    waiting.wait_until(done, "it did not come in time", WAIT_S)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


def test_queries_survive_a_restart_lost_data_and_a_failed_query(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    shop = Shop(cluster, tmp_path / "data")

    with shop.open() as engine:
        answers_of(engine, TEXT)
        assert engine.wait_settled(WAIT_S)
        shop.order("a", 20)
        wait_for(lambda: (shop.total("a"), shop.larges()) == (20, [20]))

        # INSERT VALUES evaluates functions in the engine, as queries do.
        answers_of(engine, "INSERT INTO orders (name, n) VALUES (LCASE('B'), 3);")
        wait_for(lambda: shop.total("b") == 3)

        shop.client.produce("orders", None, "{no json")
        shop.order("a", 1)
        wait_for(lambda: shop.total("a") == 21)
        wait_for(lambda: len(shop.client.read("shop_ksql_processing_log")) == 2)
        entry = json.loads(shop.client.read("shop_ksql_processing_log")[0].value or b"")
        assert entry["level"] == "ERROR"
        assert entry["message"]["type"] == 0
        assert entry["message"]["deserializationError"]["topic"] == "orders"
        assert entry["message"]["deserializationError"]["target"] == "value"
        engine.start()
        _, rows, _ = answers_of(
            engine,
            "SET 'auto.offset.reset' = 'earliest';"
            "SELECT logger, message->type, message->deserializationError->`topic` "
            "FROM ksql_processing_log EMIT CHANGES LIMIT 2;"
            "UNSET 'auto.offset.reset';",
        )
        assert isinstance(rows, list)
        assert sorted(rows) == [
            ("processing.CSAS_LARGE_0.source", 0, "orders"),
            ("processing.CTAS_TOTALS_1.source", 0, "orders"),
        ]

        # It continues from its state, also after a pause and with another condition.
        answers_of(engine, "PAUSE CTAS_TOTALS_1;")
        assert engine.wait_settled(WAIT_S)
        shop.order("a", 4)
        answers_of(engine, "RESUME CTAS_TOTALS_1;")
        answers_of(engine, "CREATE OR REPLACE STREAM large AS SELECT * FROM orders WHERE n > 100;")
        wait_for(lambda: shop.total("a") == 25)
        assert engine.wait_settled(WAIT_S)
        shop.order("a", 50)
        wait_for(lambda: shop.total("a") == 75)
        assert shop.larges() == [20]

    shop.order("a", 5)
    with shop.open() as engine:
        engine.start()
        wait_for(lambda: shop.total("a") == 80)

    shutil.rmtree(shop.data)
    shop.order("a", 500)
    with shop.open() as engine:
        engine.start()
        wait_for(lambda: shop.total("a") == 580)
        wait_for(lambda: 500 in shop.larges())

    see_a_failure_that_harms_no_other(shop)


def see_a_failure_that_harms_no_other(shop: Shop) -> None:
    """Damage the checkpoint of one query, and repair it while its engine runs."""
    pin = next(shop.data.glob("*/checkpoints/CSAS_LARGE_0/application.json"))
    kept = pin.read_text()
    pin.write_text("{}")
    with shop.open() as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)
        (queries,) = answers_of(engine, "SHOW QUERIES;")
        assert isinstance(queries, list)
        assert [(row[0], row[2]) for row in queries] == [
            ("CSAS_LARGE_0", "ERROR"),
            ("CTAS_TOTALS_1", "RUNNING"),
        ]
        assert "application.json" in queries[0][-1]
        shop.order("a", 600)
        wait_for(lambda: shop.total("a") == 1180)
        assert 600 not in shop.larges()

        pin.write_text(kept)
        wait_for(lambda: 600 in shop.larges())
