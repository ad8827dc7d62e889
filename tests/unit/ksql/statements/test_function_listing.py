"""SHOW FUNCTIONS and DESCRIBE FUNCTION."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.ksql.statements.state import Rows


def answered(statement: str) -> tuple[Rows, ...]:
    (done,) = SqlSession().run(statement)
    return done.rows


def test_scalar_aggregate_and_table_functions_are_shown_with_their_families() -> None:
    (shown,) = answered("SHOW FUNCTIONS;")

    assert {("UCASE", "STRING"), ("COUNT", "AGGREGATE"), ("EXPLODE", "TABLE")} <= set(shown.rows)


def test_operators_are_not_listed_as_functions() -> None:
    (shown,) = answered("LIST FUNCTIONS;")

    assert not {"ADD", "CUBE", "EQUAL"} & {name for name, _ in shown.rows}


def test_functions_are_shown_by_name() -> None:
    (shown,) = answered("SHOW FUNCTIONS;")

    names = [str(name) for name, _ in shown.rows]
    assert names == sorted(names)


def test_a_function_is_described_with_each_way_to_call_it() -> None:
    facts, variations = answered("DESCRIBE FUNCTION substring;")

    assert ("Name", "SUBSTRING") in facts.rows
    assert ("SUBSTRING(str STRING, pos INTEGER)", "STRING") in variations.rows
    assert ("SUBSTRING(bytes BYTES, pos INTEGER, length INTEGER)", "BYTES") in variations.rows


def test_lambdas_and_parameters_that_come_often_are_written_as_such() -> None:
    _, reduced = answered("DESCRIBE FUNCTION REDUCE;")
    _, top = answered("DESCRIBE FUNCTION TOPK;")

    assert any("=>" in str(call) for call, _ in reduced.rows)
    assert any("others ANY..., k INTEGER)" in str(call) for call, _ in top.rows)


def test_an_unknown_function_is_reported_with_its_position_and_the_nearest_name() -> None:
    with pytest.raises(SqlError, match="Can't find any functions with the name 'UCAS'") as raised:
        answered("DESCRIBE FUNCTION ucas;")

    assert "UCASE" in raised.value.hint
    assert raised.value.at is not None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_is_described_in_full_sentences(name: str) -> None:
    reported = FUNCTIONS[name].description

    assert reported[:1].isupper()
    assert reported.endswith(".")
