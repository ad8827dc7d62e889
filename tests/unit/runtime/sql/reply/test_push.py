"""Stateless push queries over topics of a real broker, without a JVM."""

import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql import settings
from duolog.ksql.errors import SqlError
from duolog.ksql.statements.queries import pushed_select
from duolog.runtime.sql.answers import DeletedRow, Message, Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.runtime.sql.reply.transient import TransientPlan
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing.cluster import EmbeddedCluster

_STREAM = (
    "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
)
_SOURCES = f"""
{_STREAM}
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
INSERT INTO s (id, v) VALUES (1, 10);
INSERT INTO s (id, v) VALUES (2, 20);
INSERT INTO t (id, v) VALUES (1, 5);
"""

_WATCHED = """
CREATE TABLE watched (id INT PRIMARY KEY, v INT) WITH (kafka_topic='watched', value_format='JSON', partitions=1);
INSERT INTO watched (id, v) VALUES (1, 6);
INSERT INTO watched (id, v) VALUES (1, 5);
INSERT INTO watched (id, v) VALUES (1, 7);
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlEngine]:
    path = tmp_path_factory.mktemp("push")
    with (
        EmbeddedCluster(path / "broker") as cluster,
        SqlEngine(cluster.bootstrap_servers, data=path / "data") as engine,
    ):
        assert all(isinstance(answer, Message) for answer in engine.execute(_SOURCES))
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        producer.produce("t", key=struct.pack(">i", 1), value=None)
        producer.flush()
        yield engine


def _rows(engine: SqlEngine, text: str, reset: str = "earliest") -> Rows:
    list(engine.execute(f"SET 'auto.offset.reset' = '{reset}';"))
    (answer,) = engine.execute(text)
    assert isinstance(answer, Rows)
    return answer


def test_rows_of_a_stream_are_returned_up_to_the_limit(engine: SqlEngine) -> None:
    rows = _rows(engine, "SELECT v * 2 AS w, id FROM s WHERE v > 5 EMIT CHANGES LIMIT 2;")

    assert rows.unbounded
    assert rows.columns == (("W", "INTEGER"), ("ID", "INTEGER"))
    assert list(rows) == [(20, 1), (40, 2)]


def test_a_deleted_row_is_its_key_with_nulls(engine: SqlEngine) -> None:
    rows = _rows(engine, "SELECT COALESCE(v, 7) AS w, id, v FROM t EMIT CHANGES LIMIT 2;")

    found = list(rows)
    assert found == [(5, 1, 5), (None, 1, None)]
    assert [isinstance(row, DeletedRow) for row in found] == [False, True]


def test_a_table_with_a_condition_shows_what_enters_changes_and_leaves(engine: SqlEngine) -> None:
    """It used to run on Spark, which took minutes on a busy machine."""
    list(engine.execute(_WATCHED))
    rows = _rows(
        engine,
        "SELECT v + 1 AS w, id AS number FROM watched WHERE v > 5 EMIT CHANGES;",
        reset="latest",
    )

    assert next(rows.rows) == (8, 1), "what is present comes first, and once"
    for values in ("(2, 4)", "(1, 9)", "(1, 3)", "(1, 2)", "(2, 6)"):
        list(engine.execute(f"INSERT INTO watched (id, v) VALUES {values};"))

    assert [next(rows.rows) for _ in range(3)] == [(10, 1), (None, 1), (7, 2)]
    rows.close()


def test_from_earliest_a_table_shows_the_history_of_its_rows(engine: SqlEngine) -> None:
    list(engine.execute(_WATCHED.replace("watched", "history")))

    rows = _rows(engine, "SELECT * FROM history WHERE v > 5 EMIT CHANGES LIMIT 3;")

    assert list(rows) == [(1, 6), (1, None), (1, 7)]


def test_by_default_only_new_records_are_shown(engine: SqlEngine) -> None:
    rows = _rows(engine, "SELECT v FROM s EMIT CHANGES LIMIT 1;", reset="latest")
    list(engine.execute("INSERT INTO s (id, v) VALUES (3, 30);"))

    assert list(rows) == [(30,)]


def test_closing_the_rows_wakes_a_waiting_reader(
    engine: SqlEngine,
) -> None:
    rows = _rows(engine, "SELECT v FROM s WHERE v < 0 EMIT CHANGES;")
    closing = threading.Timer(0.2, rows.close)
    closing.start()

    assert list(rows) == []
    closing.join()


def test_clauses_that_push_queries_do_not_support_are_refused(engine: SqlEngine) -> None:
    for text, said in (
        ("SELECT v FROM s ORDER BY v EMIT CHANGES;", "cannot have ORDER BY"),
        ("SELECT v FROM s UNION SELECT v FROM s EMIT CHANGES;", "cannot have UNION"),
        ("SELECT nope FROM s EMIT CHANGES;", "'NOPE' cannot be resolved"),
    ):
        with pytest.raises(SqlError, match=said):
            list(engine.execute(text))


def _continued(engine: SqlEngine, text: str, token: str | None) -> list[tuple[object, ...]]:
    runner = StatementRunner(
        engine.service, engine.service.session({settings.CONTINUATION_TOKEN: token or ""})
    )
    (answer,) = runner.execute(text)
    assert isinstance(answer, Rows)
    return list(answer)


def test_a_token_continues_a_query_in_another_session_and_after_a_restart(
    engine: SqlEngine, tmp_path: Path
) -> None:
    list(engine.execute(_STREAM.replace("STREAM s", "STREAM r").replace("'s'", "'r'")))
    for number in range(5):
        list(engine.execute(f"INSERT INTO r (id, v) VALUES ({number}, {number});"))
    rows = _rows(engine, "SELECT v FROM r EMIT CHANGES;").rows
    assert isinstance(rows, PushedRows)
    assert [next(rows), next(rows)] == [(0,), (1,)]
    token = rows.token()
    rows.close()
    assert rows.token() == token, "the token stays available after the end"

    text = "SELECT v FROM r EMIT CHANGES LIMIT 3;"
    assert _continued(engine, text, token) == [(2,), (3,), (4,)]
    with SqlEngine(engine.bootstrap, data=tmp_path) as later:
        assert _continued(later, text, token) == [(2,), (3,), (4,)]


def test_a_token_of_another_query_is_refused_with_words(engine: SqlEngine) -> None:
    rows = _rows(engine, "SELECT v FROM s EMIT CHANGES;").rows
    assert isinstance(rows, PushedRows)
    token = rows.token()
    rows.close()

    for text, said in (
        ("SELECT v + 1 AS w FROM s EMIT CHANGES LIMIT 1;", "belongs to another query"),
        (
            "SELECT id, COUNT(*) FROM s GROUP BY id EMIT CHANGES;",
            "cannot be continued with a token",
        ),
    ):
        with pytest.raises(SqlError, match=said) as raised:
            _continued(engine, text, token)
        assert raised.value.hint


class _Failing:
    """A source that has one row and then fails."""

    def __init__(self) -> None:
        self.closed = 0
        self._rows: list[list[tuple[Any, ...]]] = [[(1,)], []]

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        if not self._rows:
            raise DuologError("gone")
        return self._rows.pop(0)

    def close(self) -> None:
        self.closed += 1


def test_a_failing_source_is_closed_once_with_its_error() -> None:
    source = _Failing()
    rows = PushedRows(source)

    assert next(rows) == (1,)
    with pytest.raises(DuologError, match="gone"):
        next(rows)
    rows.close()

    assert source.closed == 1
    assert list(rows) == []


def test_a_source_is_closed_with_the_last_row_of_the_limit() -> None:
    source = _Failing()
    rows = PushedRows(source, 1)

    assert next(rows) == (1,)
    assert source.closed == 1
    assert list(rows) == []


def test_a_limit_of_zero_opens_no_source() -> None:
    source = _Failing()

    assert list(PushedRows(source, 0)) == []
    assert source.closed == 1


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT COUNT(*) AS n FROM s EMIT CHANGES;", ("N",)),
        ("SELECT x.w FROM (SELECT v + 1 AS w, id FROM s) AS x EMIT CHANGES;", ("W",)),
        ("WITH x AS (SELECT v, id FROM s) SELECT * FROM x EMIT CHANGES;", ("ID", "V")),
        (
            "SELECT id, v FROM s UNION ALL SELECT id, v * 2 FROM s EMIT CHANGES LIMIT 3;",
            ("ID", "V"),
        ),
    ],
)
def test_push_queries_support_the_clauses_of_persistent_ones(
    engine: SqlEngine, text: str, columns: tuple[str, ...]
) -> None:
    ((node, written),) = engine.session.read(text)
    assert isinstance(node, exp.Query)

    select = pushed_select(engine.session.state, node, written)

    assert tuple(name for name, _ in TransientPlan(engine, select, "topic").columns) == columns
