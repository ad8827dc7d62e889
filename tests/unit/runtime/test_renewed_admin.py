"""Offsets, rows and writes after a restart of the broker, with the clients of before."""

from pathlib import Path

from duolog.runtime.sql.answers import Message, Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster

_TABLE = """
CREATE TABLE t (id INT PRIMARY KEY, v INT)
  WITH (kafka_topic='t', value_format='JSON', partitions=1);
INSERT INTO t (id, v) VALUES (1, 5);
"""


def _answer(engine: SqlEngine, text: str) -> list[tuple[object, ...]]:
    (answer,) = engine.execute(text)
    if isinstance(answer, Message):
        return []
    assert isinstance(answer, Rows)
    return list(answer)


def test_statements_work_after_a_kill_of_the_broker(tmp_path: Path) -> None:
    """Pull queries failed with "Leader epoch is older than broker epoch" until the engine ended."""
    with (
        EmbeddedCluster(tmp_path / "broker") as cluster,
        SqlEngine(cluster.bootstrap_servers, data=tmp_path / "engine") as engine,
    ):
        list(engine.execute(_TABLE))
        assert _answer(engine, "SELECT v FROM t WHERE id = 1;") == [(5,)]
        assert _answer(engine, "SELECT COUNT(*) FROM t;") == [(1,)]
        assert engine.topics.ends(["t"], {"t": 1}) == {"t": {0: 1}}

        for number in (2, 3):
            cluster.kill()
            cluster.restart()

            assert _answer(engine, "SELECT v FROM t WHERE id = 1;") == [(5,)]
            insert = f"INSERT INTO t (id, v) VALUES ({number}, 6);"  # noqa: S608 - a number
            assert _answer(engine, insert) == []
            assert _answer(engine, "SELECT COUNT(*) FROM t;") == [(number,)]
            assert engine.topics.ends(["t"], {"t": 1}) == {"t": {0: number}}
