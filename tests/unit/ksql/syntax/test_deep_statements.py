# ruff: noqa: S608 - the statements are ours
"""Statements nested deeper than Python's recursion limit are refused without side effects."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession

SOURCE = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
DEEP = 3000


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE STREAM d AS SELECT k, {'+'.join(['v'] * DEEP)} AS w FROM s;",
        f"CREATE STREAM d AS SELECT k, {'(' * DEEP}v{')' * DEEP} AS w FROM s;",
        f"CREATE STREAM d AS SELECT * FROM s WHERE {' OR '.join(['v = 1'] * DEEP)};",
        f"CREATE STREAM d AS SELECT * FROM {'(SELECT * FROM ' * DEEP}s{') AS x' * DEEP};",
        f"INSERT INTO s VALUES ('a', {'1+' * DEEP}1);",
        f"SELECT {'+'.join(['v'] * DEEP)} AS w FROM s EMIT CHANGES;",
    ],
)
def test_a_statement_that_is_nested_too_deeply_is_refused(statement: str) -> None:
    session = SqlSession()
    list(session.run(SOURCE))

    with pytest.raises(SqlError, match="nested too deeply"):
        list(session.run(statement))

    assert list(session.catalog.sources) == ["S"]
    assert [done.message for done in session.run("DROP STREAM s;")] != []
