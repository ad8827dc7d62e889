import pytest

from duolog.engine.lowering.expressions.expressions import (
    Names,
    lower_as_declared,
    lower_expression,
)
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    RowTime,
    TableColumnRef,
    literal,
)
from duolog.plan.schema import parse_schema
from duolog.plan.types import DOUBLE, parse_columns

NAMES = Names.of(
    parse_schema("carrier STRING", "dep_delay BIGINT, `a b``c` STRING"),
    table_columns=parse_columns("name STRING"),
    accumulators=parse_columns("n BIGINT"),
)
DELAY = ColumnRef("dep_delay")


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (ColumnRef("carrier"), "k0"),
        (ColumnRef("a b`c"), "v1"),
        (TableColumnRef("name"), "r0"),
        (AccumulatorRef("n"), "a0"),
        (RowTime(), "ts"),
        (Cast(DELAY, DOUBLE), "CAST(v0 AS DOUBLE)"),
        (Call("-", (DELAY,)), "-(v0)"),
        (Call("AND", (Call("IS_NULL", (DELAY,)), literal(True), literal(False))), "((v0 IS NULL) AND true AND false)"),  # noqa: FBT003 - a value, not a flag
        (Call("IN", (DELAY, literal(1), literal(2))), "(v0 IN (1, 2))"),
        (Call("BETWEEN", (DELAY, literal(1), literal(2))), "(v0 BETWEEN 1 AND 2)"),
        (Call("IN", (DELAY, literal(1.5), literal(2))), "duolog_among(v0, 1.5D, 2)"),
        (Call("BETWEEN", (DELAY, literal(1), literal(2.5))), "duolog_between(v0, 1, 2.5D)"),
        (Call("CASE", (Call(">", (DELAY, literal(0))), literal("late"))), "CASE WHEN (v0 > 0) THEN 'late' END"),
        (Call("CASE", (Call(">", (DELAY, literal(0))), literal("late"), literal("on time"))), "CASE WHEN (v0 > 0) THEN 'late' ELSE 'on time' END"),
        (Call("NOT", (Call("LIKE", (ColumnRef("carrier"), literal("A%"))),)), "(NOT (k0 LIKE 'A%'))"),
        (Call("COALESCE", (DELAY, literal(2**40))), "COALESCE(v0, 1099511627776L)"),
    ],
)  # fmt: skip
def test_expressions_become_spark_sql_over_positions(expression: Expression, sql: str) -> None:
    assert lower_expression(expression, NAMES) == sql


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (Item(ColumnRef("page"), literal("the `url`")), "(v0).`the ``url```"),
        (Item(ColumnRef("tags"), literal("it's")), r"try_element_at(v1, 'it\'s')"),
        (Item(ColumnRef("stops"), literal(0)), "get(v2, 0)"),
        (Item(ColumnRef("stops"), literal(-1)), "get(v2, size(v2) + -1)"),
    ],
)
def test_parts_of_values_become_spark_sql(expression: Expression, sql: str) -> None:
    value = "page STRUCT<`the ``url``` STRING>, tags MAP<STRING, INT>, stops ARRAY<INT>"

    assert lower_expression(expression, Names.of(parse_schema("", value))) == sql


def test_a_text_literal_cannot_leave_its_quotes() -> None:
    hostile = "x' OR \\'1\\'='1"

    assert lower_expression(literal(hostile), NAMES) == r"'x\' OR \\\'1\\\'=\'1'"


def test_a_computed_column_has_the_type_that_the_plan_declares() -> None:
    half = Call("/", (DELAY, literal(2)))

    assert lower_as_declared(half, NAMES) == "CAST((v0 / 2) AS DOUBLE)"
    assert lower_as_declared(DELAY, NAMES) == "v0"
