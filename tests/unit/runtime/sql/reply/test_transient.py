"""Push queries on Spark, with a temporary topic."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.answers import DeletedRow, Rows
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
        SqlEngine(
            cluster.bootstrap_servers,
            data=path / "data",
            # As in a server, whose queries may move.
            engine_settings={"state.changelog": "on"},
        ) as engine,
    ):
        list(engine.execute(_SOURCES))
        yield engine


def test_windowed_groups_are_returned_as_selected_and_leave_nothing(engine: SqlEngine) -> None:
    (rows,) = engine.execute(
        "SELECT SUM(v) AS total, WINDOWSTART, id FROM s WINDOW TUMBLING (SIZE 1 SECOND) "
        "GROUP BY id EMIT CHANGES LIMIT 1;"
    )

    assert isinstance(rows, Rows)
    assert rows.columns == (("TOTAL", "INTEGER"), ("WINDOWSTART", "BIGINT"), ("ID", "INTEGER"))
    (first,) = rows
    assert first[1:] == (1000, 1)
    topics = AdminClient({"bootstrap.servers": engine.bootstrap}).list_topics(timeout=60).topics
    assert not [name for name in topics if "push-" in name]
    assert not [*(engine.data / "checkpoints").glob("push-*")]


def test_each_distinct_row_is_returned_once(engine: SqlEngine) -> None:
    list(
        engine.execute(
            "CREATE STREAM d (id INT KEY, v INT) WITH (kafka_topic='d', value_format='JSON', partitions=3);"
            "INSERT INTO d VALUES (1, 7); INSERT INTO d VALUES (2, 7); INSERT INTO d VALUES (3, 8);"
        )
    )
    (rows,) = engine.execute("SELECT DISTINCT v FROM d EMIT CHANGES;")
    assert isinstance(rows, Rows)
    found = [next(rows.rows), next(rows.rows)]
    list(engine.execute("INSERT INTO d VALUES (4, 8); INSERT INTO d VALUES (5, 9);"))

    assert rows.columns == (("V", "INTEGER"),)
    assert sorted(found) == [(7,), (8,)]
    assert next(rows.rows) == (9,)
    rows.close()


def test_changes_of_a_table_include_deletes(engine: SqlEngine) -> None:
    list(
        engine.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);"
            "INSERT INTO t VALUES (1, 7); INSERT INTO t VALUES (1, 8); DELETE FROM t WHERE id = 1;"
        )
    )
    (rows,) = engine.execute("SELECT v + 1 AS w, id FROM CHANGES OF t EMIT CHANGES LIMIT 3;")

    assert isinstance(rows, Rows)
    found = list(rows)
    assert found == [(8, 1), (9, 1), (None, 1)]
    assert [isinstance(row, DeletedRow) for row in found] == [False, False, True]
    with pytest.raises(SqlError, match="cannot read CHANGES OF"):
        list(engine.execute("SELECT * FROM CHANGES OF t;"))
