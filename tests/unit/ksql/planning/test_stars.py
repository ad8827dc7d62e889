"""Expansion of *, in joins of windowed sources and in push queries."""

from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.session import SqlSession, parse
from duolog.ksql.statements.push_ids import push_query_id
from duolog.runtime.sql.reply.transient import TransientPlan

_SOURCES = """
CREATE STREAM l (k INT KEY, v INT) WITH (kafka_topic='l', value_format='JSON', partitions=1,
  window_type='TUMBLING', window_size='2 SECONDS');
CREATE STREAM r (k INT KEY, v INT) WITH (kafka_topic='r', value_format='JSON', partitions=1,
  window_type='TUMBLING', window_size='2 SECONDS');
CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM p AS SELECT * FROM s;
"""
_JOIN = "FROM l JOIN r WITHIN 1 MINUTE ON l.k = r.k"


@pytest.fixture
def session() -> SqlSession:
    session = SqlSession(given={"ksql.compatibility": "strict"})
    list(session.run(_SOURCES))
    return session


def chosen(session: SqlSession, text: str) -> TransientPlan:
    (select,) = parse(text)
    assert isinstance(select, exp.Select)
    engine: Any = SimpleNamespace(session=session, catalog=session.catalog)
    return TransientPlan(engine, select, "answers")


def test_a_star_over_windowed_sources_that_are_joined_has_their_bounds(session: SqlSession) -> None:
    *_, done = session.run(f"CREATE STREAM o AS SELECT *, l.ROWTIME {_JOIN};")

    assert done.query is not None
    assert [column.name for column in done.query.planned.columns] == [
        *("L_K", "L_WINDOWSTART", "L_WINDOWEND", "L_V"),
        *("R_K", "R_WINDOWSTART", "R_WINDOWEND", "R_V", "L_ROWTIME"),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT ROWTIME, * FROM s EMIT CHANGES;", ["ROWTIME", "K", "V"]),
        ("SELECT *, ROWPARTITION FROM s EMIT CHANGES;", ["K", "V", "ROWPARTITION"]),
        ("SELECT * FROM l EMIT CHANGES;", ["K", "WINDOWSTART", "WINDOWEND", "V"]),
        ("SELECT COUNT(*) AS n FROM s EMIT CHANGES;", ["N"]),
        ("SELECT SUM(v) AS total, COUNT(*) AS n FROM s EMIT CHANGES;", ["TOTAL", "N"]),
    ],
)
def test_push_queries_have_their_columns_in_the_selected_order(
    session: SqlSession, text: str, names: list[str]
) -> None:
    assert [column.name for column in chosen(session, text).results] == names


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("SELECT k FROM p WHERE v > 1 EMIT CHANGES LIMIT 2;", "SCALABLE_PUSH_QUERY_P_"),
        ("SELECT k FROM s EMIT CHANGES;", "transient_S_"),
        ("SELECT k, COUNT(*) FROM p GROUP BY k EMIT CHANGES;", "transient_P_"),
    ],
)
def test_a_push_query_has_the_id_of_ksqldb(session: SqlSession, text: str, begins: str) -> None:
    (select,) = parse(text)
    assert isinstance(select, exp.Select)

    assert push_query_id(select, session.state).startswith(begins)


def test_a_push_query_from_the_earliest_record_is_not_scalable(session: SqlSession) -> None:
    (select,) = parse("SELECT k FROM p EMIT CHANGES;")
    assert isinstance(select, exp.Select)
    list(session.run("SET 'auto.offset.reset' = 'earliest';"))

    assert push_query_id(select, session.state).startswith("transient_")
