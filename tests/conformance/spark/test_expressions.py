"""Spark computes what the reference evaluator computes: value for value, on rows of edge cases.

Method: forty random expressions (from a fixed seed) of each type are computed by Spark in one
query, lowered by the engine, and by `duolog.testing.reference.evaluation`; so are casts of odd
texts.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from duolog.engine.lowering.expressions.expressions import Names, lower_as_declared
from duolog.plan.expressions import Call, Cast, ColumnRef, Expression, Scope, literal
from duolog.plan.schema import Schema
from duolog.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, parse_columns, parse_type
from duolog.testing.reference.evaluation import Values, compile_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PRICE: Final = parse_type("DECIMAL(10,2)")
COLUMNS: Final = parse_columns("i INT, b BIGINT, d DOUBLE, s STRING, f BOOLEAN, p DECIMAL(10,2)")
SCHEMA: Final = Schema((), COLUMNS)
ROWS: Final[list[tuple[object, ...]]] = [
    (1, 2, 0.5, "Newark", True, Decimal("1.25")),
    (0, 0, 0.0, "", False, Decimal("0.00")),
    (-7, 3, -2.5, "50%_x", None, Decimal("-99999999.99")),
    (2**31 - 1, 2**63 - 1, 1e30, " é ß ", True, Decimal("99999999.99")),
    (-(2**31), -(2**63), math.nan, "1.9", False, Decimal("0.01")),
    (None, None, None, None, None, None),
    (5, None, math.inf, "-12", None, None),
    (None, -1, -math.inf, "NaN", True, Decimal("-0.50")),
    (100, 10**12, 1e-5, "true", None, Decimal("3.00")),
]
SEED: Final = 20130101
Make = Callable[[int], Expression]


class Expressions:
    """Random expressions by type, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - tests, not secrets
        self._numbers = (INT, BIGINT, DOUBLE, PRICE)

    def of(self, wanted: Type, depth: int) -> Expression:
        if depth == 0 or self._random.random() < 0.15:
            return self._leaf(wanted)
        makers: dict[Type, list[Make]] = {
            BOOLEAN: [self._compare, self._logic, self._test, self._among, self._like],
            INT: [self._arithmetic(INT), self._length],
            BIGINT: [self._arithmetic(BIGINT), self._whole],
            DOUBLE: [self._arithmetic(DOUBLE), self._quotient, self._round],
            STRING: [self._text, self._substring, self._written],
            PRICE: [self._written_price],
        }
        general: list[Make] = [self._choice(wanted), self._coalesce(wanted)]
        return self._random.choice(makers[wanted] + general)(depth - 1)

    def _leaf(self, wanted: Type) -> Expression:
        name = next(column.name for column in COLUMNS if column.type == wanted)
        values: dict[Type, list[bool | int | float | str | Decimal]] = {
            BOOLEAN: [True, False],
            INT: [0, 1, -3, 2**31 - 1],
            BIGINT: [2**40, -(2**62)],
            DOUBLE: [0.0, -1.5, 3.0, 1e7],
            STRING: ["", "e", "Newark", "5"],
            PRICE: [Decimal("12345678.25"), Decimal("10000000.05")],
        }
        if self._random.random() < 0.7:
            return ColumnRef(name)
        return literal(self._random.choice(values[wanted]))

    def _call(self, function: str, *args: Expression) -> Expression:
        return Call(function, args)

    def _number(self, depth: int) -> Expression:
        return self.of(self._random.choice(self._numbers), depth)

    def _compare(self, depth: int) -> Expression:
        sign = self._random.choice(["=", "<>", "<", "<=", ">", ">="])
        if self._random.random() < 0.3:
            return self._call(sign, self.of(STRING, depth), self.of(STRING, depth))
        of = self._random.choice(self._numbers)
        return self._call(sign, self.of(of, depth), self.of(of, depth))

    def _logic(self, depth: int) -> Expression:
        if self._random.random() < 0.3:
            return self._call("NOT", self.of(BOOLEAN, depth))
        sign = self._random.choice(["AND", "OR"])
        return self._call(sign, self.of(BOOLEAN, depth), self.of(BOOLEAN, depth))

    def _test(self, depth: int) -> Expression:
        return self._call(self._random.choice(["IS_NULL", "IS_NOT_NULL"]), self._number(depth))

    def _among(self, depth: int) -> Expression:
        function = self._random.choice(["IN", "BETWEEN"])
        of = self._random.choice(self._numbers)
        return self._call(function, *(self.of(of, depth) for _ in range(3)))

    def _like(self, depth: int) -> Expression:
        if self._random.random() < 0.5:
            function = self._random.choice(["CONTAINS", "STARTS_WITH", "ENDS_WITH"])
            return self._call(function, self.of(STRING, depth), self.of(STRING, depth))
        pattern = self._random.choice(["%e%", "_e%", "50\\%\\_x", "%", "", "1.9"])
        return self._call("LIKE", self.of(STRING, depth), literal(pattern))

    def _arithmetic(self, of: Type) -> Make:
        def make(depth: int) -> Expression:
            if self._random.random() < 0.3:
                return self._call(self._random.choice(["-", "ABS"]), self.of(of, depth))
            sign = self._random.choice(["+", "-", "*", "%"])
            return self._call(sign, self.of(of, depth), self.of(of, depth))

        return make

    def _quotient(self, depth: int) -> Expression:
        of = self._random.choice([INT, BIGINT, DOUBLE])
        return self._call("/", self.of(of, depth), self.of(of, depth))

    def _round(self, depth: int) -> Expression:
        return self._call("ROUND", self.of(DOUBLE, depth), literal(self._random.randint(0, 3)))

    def _whole(self, depth: int) -> Expression:
        return self._call(self._random.choice(["FLOOR", "CEIL"]), self.of(DOUBLE, depth))

    def _length(self, depth: int) -> Expression:
        return self._call("LENGTH", self.of(STRING, depth))

    def _text(self, depth: int) -> Expression:
        function = self._random.choice(["UPPER", "LOWER", "TRIM", "CONCAT", "REPLACE"])
        count = {"CONCAT": 2, "REPLACE": 3}.get(function, 1)
        return self._call(function, *(self.of(STRING, depth) for _ in range(count)))

    def _substring(self, depth: int) -> Expression:
        bounds = [literal(self._random.randint(-8, 8)), literal(self._random.randint(-1, 5))]
        count = self._random.randint(1, 2)
        return self._call("SUBSTRING", self.of(STRING, depth), *bounds[:count])

    def _written(self, depth: int) -> Expression:
        return Cast(self.of(self._random.choice([INT, BIGINT, BOOLEAN]), depth), STRING)

    def _written_price(self, depth: int) -> Expression:
        sign = self._random.choice(["+", "-", "*", "/", "%"])
        return Cast(self._call(sign, self.of(PRICE, depth), self.of(PRICE, depth)), PRICE)

    def _choice(self, of: Type) -> Make:
        def make(depth: int) -> Expression:
            condition, one, two = self.of(BOOLEAN, depth), self.of(of, depth), self.of(of, depth)
            if self._random.random() < 0.5:
                return self._call("IF", condition, one, two)
            return self._call("CASE", condition, one, self.of(BOOLEAN, depth), two)

        return make

    def _coalesce(self, of: Type) -> Make:
        def make(depth: int) -> Expression:
            function = self._random.choice(["COALESCE", "GREATEST", "LEAST"])
            return self._call(function, self.of(of, depth), self.of(of, depth))

        return make


def by_spark(spark: "SparkSession", expressions: Sequence[Expression]) -> list[tuple[object, ...]]:
    names = Names.of(SCHEMA)
    ddl = ", ".join(f"v{number} {column.type}" for number, column in enumerate(COLUMNS))
    rows = spark.createDataFrame(ROWS, ddl)
    texts = [
        f"{lower_as_declared(expression, names)} AS c{number}"
        for number, expression in enumerate(expressions)
    ]
    return [tuple(row) for row in rows.coalesce(1).selectExpr(*texts).collect()]


def by_reference(expressions: Sequence[Expression]) -> list[tuple[object, ...]]:
    compiled = [compile_expression(expression, Scope(COLUMNS)) for expression in expressions]
    rows = [dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS]
    return [tuple(evaluate(Values(row)) for evaluate in compiled) for row in rows]


def differences(expressions: Sequence[Expression], spark: "SparkSession") -> list[str]:
    pairs = zip(by_spark(spark, expressions), by_reference(expressions), ROWS, strict=True)
    return [
        f"{expression} over {row}: Spark {ours!r}, reference {theirs!r}"
        for spark_row, reference_row, row in pairs
        for expression, ours, theirs in zip(expressions, spark_row, reference_row, strict=True)
        if repr(ours) != repr(theirs) and not ours == theirs  # noqa: SIM201 - NaN differs from itself
    ]


@pytest.mark.spark
@pytest.mark.parametrize("of", [BOOLEAN, INT, BIGINT, DOUBLE, STRING, PRICE], ids=str)
def test_random_expressions_have_the_same_values(spark: "SparkSession", of: Type) -> None:
    source = Expressions(SEED)
    expressions = [source.of(of, depth=3) for _ in range(40)]

    assert differences(expressions, spark) == []


@pytest.mark.spark
def test_in_and_between_on_doubles_are_the_same(spark: "SparkSession") -> None:
    given: list[Expression] = [ColumnRef(name) for name in ("d", "i", "b", "p")]
    given += [literal(math.nan), literal(-0.0), literal(1.5), Cast(literal(None), DOUBLE)]
    expressions: list[Expression] = [
        Call(function, (value, one, other))
        for function in ("IN", "BETWEEN")
        for value in (ColumnRef("d"), literal(0.0), literal(math.nan))
        for one in given
        for other in given
    ]

    assert differences(expressions, spark) == []


@pytest.mark.spark
def test_casts_of_odd_values_are_the_same(spark: "SparkSession") -> None:
    texts = [" 12 ", "1.9", "-.5", ".", "", "+7", "1e3", "2147483648", "x", "0x1", "1_0", "- 1",
             "9223372036854775808", "Infinity", "nan", "T", "YES", "off", "1", "12.345", "1.2.3", "-", "-."]  # fmt: skip
    targets = ["INT", "BIGINT", "DOUBLE", "BOOLEAN", "DECIMAL(6,2)", "BYTES"]
    numbers = [1e30, -1e30, 2.5, -0.0, 12.345, 1e7, 1e-4, 123456.789]
    casts: list[Expression] = [
        Cast(literal(text), parse_type(target)) for text in texts for target in targets
    ]
    casts += [
        Cast(literal(number), parse_type(target))
        for number in numbers
        for target in ["INT", "BIGINT", "STRING", "BOOLEAN", "DECIMAL(6,2)"]
    ]
    casts += [
        Cast(ColumnRef(name), parse_type(t)) for name in "ibd" for t in [*targets[:5], "STRING"]
    ]

    assert differences(casts, spark) == []
