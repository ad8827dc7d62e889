"""String functions in statements: results and accepted arguments."""

import pytest

from duolog.engine.lowering.sql_functions.registry import LOWERINGS
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.session import parse
from duolog.plan.sql.registry import SQL_FUNCTIONS


def type_of(expression: str) -> str:
    (statement,) = parse(f"SELECT {expression} FROM S;")  # noqa: S608 - the test's own text
    return str(Binder(SqlScope(()), {}).bind(statement.expressions[0]).type)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("CONCAT('a', NULL)", "STRING"),
        ("CONCAT(NULL, TO_BYTES('a', 'utf8'))", "BYTES"),
        ("SPLIT(TO_BYTES('a', 'utf8'), TO_BYTES('', 'utf8'))", "ARRAY<BYTES>"),
        ("split_to_map('a:1', ',', ':')", "MAP<STRING, STRING>"),
        ("REGEXP_EXTRACT_ALL('a', 'b', 1)", "ARRAY<STRING>"),
        ("URL_EXTRACT_PORT('http://a:1')", "INT"),
        ("BIGINT_FROM_BYTES(TO_BYTES('', 'hex'))", "BIGINT"),
        ("TO_JSON_STRING(SPLIT('a', 'b'))", "STRING"),
        ("UUID()", "STRING"),
    ],
)
def test_the_result_type_depends_on_the_argument_types(expression: str, result: str) -> None:
    assert type_of(expression) == result


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("LEN(1)", "INTEGER"),
        ("INSTR('a', 'b', 3000000000)", "STRING, STRING, BIGINT"),
        ("LPAD('a', 1, TO_BYTES('b', 'utf8'))", "STRING, INTEGER, BYTES"),
        ("MASK('a', 'X')", "STRING, STRING"),
        ("ENCODE('a', 'hex')", "STRING, STRING"),
        ("JSON_CONCAT('1', 2)", "STRING, INTEGER"),
    ],
)
def test_a_call_with_other_arguments_is_refused_with_their_types(call: str, given: str) -> None:
    name = call.partition("(")[0].lower()

    with pytest.raises(SqlError) as reported:
        type_of(call)

    assert f"Function '{name}' does not accept parameters ({given})." in reported.value.message


def test_each_function_is_described_and_can_be_computed() -> None:
    assert SQL_FUNCTIONS.keys() <= LOWERINGS.keys()
    assert all(one.hidden or one.description.endswith(".") for one in SQL_FUNCTIONS.values())
