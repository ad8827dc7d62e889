"""SQL's functions are translated to Spark expressions."""

import pytest

from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.engine.lowering.spark_sql.pinned_texts import unpinned_texts
from duolog.engine.lowering.sql_functions.registry import LOWERINGS, lower_sql_function
from duolog.plan.expressions import Call, ColumnRef, Expression, Lambda, Literal, Variable
from duolog.plan.schema import parse_schema
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.types import INT, parse_type

_NAMES = Names.of(parse_schema("id STRING", "xs ARRAY<INT>, m MAP<STRING, INT>"))


def _lowered(expression: Expression) -> str:
    return lower_expression(expression, _NAMES)


def test_each_function_of_the_plan_is_lowered() -> None:
    assert SQL_FUNCTIONS.keys() - LOWERINGS.keys() == set()


def test_a_fold_over_a_map_names_the_parts_of_each_entry() -> None:
    s, k, v = Variable("S", INT), Variable("K", parse_type("STRING")), Variable("V", INT)
    body = Call("+", (s, v))
    fold = Call("sql:REDUCE", (ColumnRef("m"), Literal(0, INT), Lambda((s, k, v), body)))

    lowered = _lowered(fold)

    assert "aggregate(map_entries(v1), 0, (`p_S`, entry) -> " in lowered
    assert "`p_V` -> CAST((`p_S` + `p_V`) AS INT)" in lowered


@pytest.mark.parametrize("element", ["MAP<STRING, INT>", "ARRAY<INT>", "BYTES"])
def test_a_set_function_of_elements_that_spark_cannot_hash_is_our_own(element: str) -> None:
    array = parse_type(f"ARRAY<{element}>")

    lowered = lower_sql_function("ARRAY_DISTINCT", ["v0"], [array], array)

    assert "duolog_array_distinct(v0, 'ARRAY<" in lowered


def test_a_set_function_of_numbers_is_the_one_of_spark() -> None:
    numbers = parse_type("ARRAY<INT>")

    lowered = lower_sql_function("ARRAY_DISTINCT", ["v0"], [numbers], numbers)

    assert "duolog_try(array_distinct(v0)" in lowered


def test_arrays_of_maps_keep_the_text_that_checkpoints_have() -> None:
    maps = parse_type("ARRAY<MAP<STRING, INT>>")

    with unpinned_texts():
        lowered = lower_sql_function("ARRAY_DISTINCT", ["v0"], [maps], maps)

    assert "array_sort(transform(map_entries(" in lowered
    assert "array_distinct" not in lowered


@pytest.mark.parametrize(
    ("places", "written"),
    [
        ([], "duolog_round_decimal(v0, 0, 4, 0)"),
        (["2"], "duolog_round_decimal(v0, 2, 4, 0)"),
    ],
)
def test_a_decimal_is_rounded_to_the_size_of_its_result(places: list[str], written: str) -> None:
    types = [parse_type("DECIMAL(6,2)"), *[INT for _ in places]]

    lowered = lower_sql_function("ROUND", ["v0", *places], types, parse_type("DECIMAL(4,0)"))

    assert written in lowered
