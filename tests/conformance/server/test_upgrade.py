"""The steps of an upgrade of two servers, as the guide gives them: the other server takes over."""

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

import duolog
import waiting
from conformance.server.processes import SqlServerProcess
from duolog.client import Connection
from duolog.testing import EmbeddedCluster

EARLIEST = {"auto.offset.reset": "earliest"}
ORDERS = "CREATE STREAM orders (id STRING KEY, n INT) WITH (kafka_topic='orders', partitions=1, value_format='json')"
ALL = "SELECT * FROM counts"
COUNTS = "CREATE TABLE counts AS SELECT id, COUNT(*) AS orders FROM orders GROUP BY id"


def connected(server: SqlServerProcess) -> Connection:
    host, port = server.address
    return duolog.connect(f"http://{host}:{port}", properties=EARLIEST)


def wait_for_count(connection: Connection, count: int) -> None:
    waiting.wait_until(
        lambda: list(connection.execute("SELECT orders FROM counts WHERE id = 'a'")) == [(count,)],
        lambda: f"not {count}: {connection.execute(ALL).fetchall()}",
        deadline_s=120,
    )


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_other_server_continues_from_the_checkpoint_of_the_first(tmp_path: Path) -> None:
    """The records that were counted are deleted: who counts again from the topic is found out."""
    with (
        EmbeddedCluster(tmp_path / "broker") as cluster,
        SqlServerProcess(cluster.bootstrap_servers, tmp_path) as first,
        SqlServerProcess(cluster.bootstrap_servers, tmp_path) as second,
        connected(first) as old,
        connected(second) as new,
    ):
        old.execute(ORDERS)
        old.execute(COUNTS)
        old.insert("orders", [{"ID": "a", "N": 1}, {"ID": "a", "N": 2}])
        wait_for_count(new, 2)
        waiting.wait_until(
            lambda: list(tmp_path.glob("sql/*/checkpoints/*/spark/commits/[0-9]*")),
            "the first server has committed",
        )
        assert first.stop(60) == 0
        end = TopicPartition("orders", 0, -1)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.delete_records([end])[end].result(60)

        new.insert("orders", [{"ID": "a", "N": 3}])

        wait_for_count(new, 3)
