"""Calls in pull queries respect the size limits of ADR 0091."""

from collections.abc import Callable

import pytest
from sqlglot import exp

from conformance.ksql.limits import ABOVE_LIMIT, AT_LIMIT
from duolog.ksql.session import SqlSession, parse
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
            "CREATE TABLE one (id INT PRIMARY KEY) WITH (kafka_topic='one', value_format='JSON');"
        )
    )
    columns = source_columns(session.catalog.sources["ONE"])
    DuckTable(connection, "ONE", columns).add([0], [(1, "one", 0, 0, 0)])

    def answer(call: str) -> object:
        (node,) = parse(f"SELECT {call} AS found FROM one;")
        assert isinstance(node, exp.Query)
        query = Translator(session.catalog, lambda source: source.name).query(node)
        ((found,),) = answered(connection, query)
        return found

    return answer


@pytest.mark.parametrize(("call", "value"), AT_LIMIT.items())
def test_a_call_may_produce_up_to_the_limit(ask: Ask, call: str, value: object) -> None:
    assert ask(call) == value


@pytest.mark.parametrize("call", ABOVE_LIMIT)
def test_a_call_beyond_the_limit_is_null(ask: Ask, call: str) -> None:
    assert ask(call) is None
