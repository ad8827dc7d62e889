"""Queries that go on and keep something: run by Spark, their rows read from a topic that goes with them."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing.cluster import EmbeddedCluster

pytestmark = pytest.mark.spark

_SOURCES = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='DELIMITED', partitions=1);
INSERT INTO s (ROWTIME, id, v) VALUES (1500, 1, 10);
INSERT INTO s (ROWTIME, id, v) VALUES (1600, 1, 20);
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlEngine]:
    path = tmp_path_factory.mktemp("transient")
    with (
        EmbeddedCluster(path / "broker") as cluster,
        SqlEngine(cluster.bootstrap_servers, data=path / "data") as engine,
    ):
        list(engine.execute(_SOURCES))
        yield engine


def test_groups_of_windows_come_as_they_are_selected_and_leave_nothing(engine: SqlEngine) -> None:
    (rows,) = engine.execute(
        "SELECT SUM(v) AS total, WINDOWSTART, id FROM s WINDOW TUMBLING (SIZE 1 SECOND) "
        "GROUP BY id EMIT CHANGES LIMIT 1;"
    )

    assert isinstance(rows, Rows)
    assert rows.columns == (("TOTAL", "INTEGER"), ("WINDOWSTART", "BIGINT"), ("ID", "INTEGER"))
    (first,) = rows
    assert first[1:] == (1000, 1)
    topics = AdminClient({"bootstrap.servers": engine.bootstrap}).list_topics(timeout=10).topics
    assert not [name for name in topics if name.startswith("__push-")]
    assert not [*(engine.data / "checkpoints").glob("push-*")]
