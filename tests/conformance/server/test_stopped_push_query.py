"""A push query that Spark evaluates, while its server stops."""

import signal
from pathlib import Path

import pytest

import duolog
from conformance.server.processes import SqlServerProcess
from duolog.client import OperationalError
from duolog.testing import EmbeddedCluster

EARLIEST = {"auto.offset.reset": "earliest"}
WORDS = (
    "CREATE STREAM words (id STRING KEY, n BIGINT) "
    "WITH (kafka_topic='words', partitions=1, value_format='json')"
)
COUNTED = "SELECT id, COUNT(*) AS n FROM words GROUP BY id EMIT CHANGES"


def test_a_subscription_on_spark_learns_that_its_server_stops(tmp_path: Path) -> None:
    with (
        EmbeddedCluster(settings={"durability": "os"}) as cluster,
        SqlServerProcess(cluster.bootstrap_servers, tmp_path) as server,
    ):
        host, port = server.address
        with duolog.connect(f"http://{host}:{port}", properties=EARLIEST) as connection:
            connection.execute(WORDS)
            connection.insert("words", [{"ID": "a", "N": 1}])
            with connection.subscribe(COUNTED) as changes:
                first = next(changes)
                server.signal(signal.SIGTERM)
                with pytest.raises(OperationalError) as raised:
                    list(changes)
        assert server.wait() == 0

    assert tuple(first) == ("a", 1)
    assert raised.value.code == 50302
    assert "cannot be continued" in raised.value.hint
