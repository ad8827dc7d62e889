"""Settings that restore the older semantics of SUBSTRING and CAST."""

from collections.abc import Callable

import pytest
from sqlglot import exp

from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.settings import Settings
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable

Ask = Callable[[str], object]


@pytest.fixture(scope="module")
def ask() -> Ask:
    session, connection = SqlSession(), connect()
    list(
        session.run(
            "CREATE TABLE t (k INT PRIMARY KEY, s STRING, n INT) WITH (kafka_topic='t', value_format='JSON');"
        )
    )
    (source,) = session.catalog.sources.values()
    columns = source_columns(source)
    row = (1, "stream", *(None for _ in columns[2:]))
    DuckTable(connection, "T", columns).add([0], [row])
    settings = Settings(
        {
            "ksql.functions.substring.legacy.args": "true",
            "ksql.cast.strings.preserve.nulls": "false",
        }
    )

    def answer(expression: str) -> object:
        (node,) = parse(" ".join(["SELECT", expression, "AS found FROM t;"]))
        asked = with_legacy_semantics(node, settings)
        assert isinstance(asked, exp.Query)
        query = Translator(session.catalog, lambda source: source.name).query(asked)
        ((found,),) = answered(connection, query)
        return found

    return answer


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("SUBSTRING(s, 1, 3)", "tr"),
        ("SUBSTRING(s, 0)", "stream"),
        ("SUBSTRING(s, 6)", ""),
        ("SUBSTRING(s, 7)", None),
        ("SUBSTRING(s, 0, 7)", None),
        ("SUBSTRING(s, -1)", None),
        ("SUBSTRING(SUBSTRING(s, 1, 5), 1, 2)", "r"),
        ("CAST(n AS STRING)", "null"),
        ("CAST(CAST(n AS STRING) AS STRING)", "null"),
        ("CAST(k AS STRING)", "1"),
        ("CAST(n AS BIGINT)", None),
    ],
)
def test_a_setting_restores_the_legacy_semantics(ask: Ask, expression: str, value: object) -> None:
    assert ask(expression) == value


def test_a_statement_is_unchanged_without_a_setting() -> None:
    (node,) = parse("SELECT SUBSTRING(s, 1), CAST(n AS STRING) FROM t;")

    assert with_legacy_semantics(node, Settings()) is node


def test_a_persistent_query_has_the_semantics_of_its_session() -> None:
    session = SqlSession()
    text = (
        "CREATE STREAM s (k INT KEY, t STRING) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
        "SET 'ksql.functions.substring.legacy.args' = 'true';"
        "CREATE STREAM o AS SELECT k, SUBSTRING(t, 0, 2) AS part FROM s;"
    )

    *_, done = session.run(text)

    assert done.query is not None
    assert "CASE" in str(done.query.planned.plan)
