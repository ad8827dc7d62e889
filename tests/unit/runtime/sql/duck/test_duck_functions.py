"""Functions return the same in pull queries as in continuous ones: the engine's samples."""

import math
import re
from collections.abc import Callable
from typing import Final

import pytest
from sqlglot import exp

from duolog.ksql.session import SqlSession, parse
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from unit.engine.lowering.sql_functions import text_samples, value_samples

_OF_JAVA_ALONE: Final = "REGEXP_EXTRACT('(a|b)*', RPAD('', 100000, 'ab'))"
"""Java's expressions run out of stack there, Python's do not."""
_FAMILIES: Final = {
    name: family
    for module in (text_samples, value_samples)
    for name, family in vars(module).items()
    if name.isupper()
}

Ask = Callable[[str], object]


@pytest.fixture(scope="module")
def ask() -> Ask:
    session, connection = SqlSession(), connect()
    list(
        session.run(
            "CREATE TABLE t (k INT PRIMARY KEY, a INT) WITH (kafka_topic='t', value_format='JSON');"
        )
    )
    (source,) = session.catalog.sources.values()
    columns = source_columns(source)
    row = (1, 2, *(None for _ in columns[2:]))
    DuckTable(connection, "T", columns).add([0], [row])

    def answer(expression: str) -> object:
        (node,) = parse(f"SELECT {expression} AS found FROM t;")
        assert isinstance(node, exp.Query)
        query = Translator(session.catalog, lambda source: source.name).query(node)
        ((found,),) = answered(connection, query)
        return found

    return answer


@pytest.mark.parametrize("name", _FAMILIES)
def test_functions_return_the_values_of_the_engine(ask: Ask, name: str) -> None:
    family: dict[str, object] = _FAMILIES[name]

    found = {one: ask(one) for one in family if one != _OF_JAVA_ALONE}

    wanted = {one: value for one, value in family.items() if one in found}
    assert found == (pytest.approx(wanted) if name == "NUMBERS" else wanted)


@pytest.mark.parametrize("expression", ["SQRT(-1E0)", "LN(-1E0)", "ACOS(2E0)", "LOG(-1E0, 2E0)"])
def test_undefined_results_are_nan_and_not_null(ask: Ask, expression: str) -> None:
    found = ask(expression)

    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "expression",
    [
        "ARRAY_CONCAT(CAST(NULL AS ARRAY<INT>), CAST(NULL AS ARRAY<INT>))",
        "AS_MAP(ARRAY['a'], CAST(NULL AS ARRAY<INT>))",
    ],
)
def test_aggregates_of_nulls_only_are_null(ask: Ask, expression: str) -> None:
    assert ask(expression) is None


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("CAST(RPAD('', 200000, '1') + 'x' AS DOUBLE)", None),
        ("CAST('0x' + RPAD('', 200000, '1') + 'x' AS DOUBLE)", None),
        ("RPAD('', 20000, 'a') LIKE '%a%a%a%a%a!%' ESCAPE '!'", False),
        ("RPAD('', 20000, 'ab') LIKE '%ab%_!%' ESCAPE '!'", False),
        ("RPAD('', 20000, 'ab') + '%' LIKE 'ab%b_%!%' ESCAPE '!'", True),
    ],
)
def test_long_strings_take_linear_time(ask: Ask, expression: str, wanted: object) -> None:
    assert ask(expression) == wanted


def test_each_function_has_a_sample() -> None:
    said = " ".join(one for family in _FAMILIES.values() for one in family)
    called = set(re.findall(r"\b([A-Z][A-Z0-9_]*)\(", said))

    public = {name for name, function in SQL_FUNCTIONS.items() if not function.hidden}
    assert public - called == set()
