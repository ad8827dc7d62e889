import datetime as dt
import math
from decimal import Decimal

import pytest

from duolog import coalesce, col, concat, greatest, least, lit, when
from duolog.dsl.expressions.columns import Expr
from duolog.plan.expressions import Scope
from duolog.plan.types import parse_columns
from duolog.testing.reference.evaluation import Values, compile_expression

COLUMNS = parse_columns(
    "i INT, b BIGINT, d DOUBLE, s STRING, flag BOOLEAN, price DECIMAL(10,2), none BIGINT, "
    "unknown BOOLEAN"
)
VALUES = Values(
    {
        "i": 2**31 - 1,
        "b": 2**63 - 1,
        "d": -2.5,
        "s": "Newark_50%",
        "flag": True,
        "price": Decimal("1.50"),
        "none": None,
        "unknown": None,
    },
    timestamp_ms=7,
)
FLAG, UNKNOWN = col("flag"), col("unknown")


def value_of(expression: Expr) -> object:
    return compile_expression(expression.expression, Scope(COLUMNS))(VALUES)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("i") + 1, -(2**31)),
        (col("b") + 1, -(2**63)),
        (col("b") * 2, -2),
        (-(-col("b") - 1), -(2**63)),
        (abs(-col("b") - 1), -(2**63)),
        (col("i") + lit(2**40), 2**40 + 2**31 - 1),
        (lit(7) / 2, 3.5),
        (lit(7) / 0, None),
        (lit(1.5) / 0, None),
        (lit(7) % 0, None),
        (lit(-7) % 3, -1),
        (lit(7) % -3, 1),
        (lit(-7.5) % 2, -1.5),
        (col("none") + 1, None),
        (col("price") + 1, Decimal("2.50")),
        (col("price") * col("price"), Decimal("2.2500")),
        (col("price") / 3, Decimal("0.5000000000000")),
        (col("price") / 0, None),
        (lit(Decimal("-1.25")).round(1).cast("STRING"), "-1.30"),
        (lit(2.5).round(), 3.0),
        (lit(-2.5).round(), -3.0),
        (lit(1.005).round(2), 1.01),
        (lit(1234).round(-2), 1200),
        (col("d").floor(), -3),
        (col("d").ceil(), -2),
        (lit(1e30).floor(), 2**63 - 1),
        (col("price").ceil(), Decimal(2)),
    ],
    ids=repr,
)
def test_arithmetic_is_the_same_as_in_spark(expression: Expr, expected: object) -> None:
    found = value_of(expression)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (FLAG & UNKNOWN, None),
        (~FLAG & UNKNOWN, False),
        (FLAG | UNKNOWN, True),
        (~FLAG | UNKNOWN, None),
        (~UNKNOWN, None),
        (col("none") == 1, None),
        (col("none").is_null(), True),
        (col("none").is_not_null(), False),
        (lit(1).isin(2, None), None),
        (lit(1).isin(1, None), True),
        (lit(1).isin(2, 3), False),
        (col("none").isin(1), None),
        (lit(5).between(1, None), None),
        (lit(0).between(1, None), False),
        (lit(math.nan) == lit(math.nan), False),
        (lit(math.nan) != lit(math.nan), True),
        (lit(math.nan) > math.inf, False),
        (lit(math.nan) <= math.inf, False),
        (lit(1.0).between(0, math.nan), False),
        (lit(math.nan).isin(math.nan, 1.0), False),
        (lit(-0.0) == 0.0, True),
        (lit(1) < 1.5, True),
        (col("s").like("Newark\\_50\\%"), True),
        (col("s").like("N%_"), True),
        (col("s").like("n%"), False),
        (when(UNKNOWN, 1).when(FLAG, 2).otherwise(3), 2),
        (when(~FLAG, 1), None),
    ],
    ids=repr,
)
def test_conditions_use_three_valued_logic(expression: Expr, expected: bool | None) -> None:  # noqa: FBT001
    assert value_of(expression) is expected or value_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (coalesce(col("none"), col("i"), 1.5), float(2**31 - 1)),
        (greatest(col("none"), 1, 3), 3),
        (least(col("none"), lit(None)), None),
        (greatest(lit(math.nan), 1.0).cast("STRING"), "NaN"),
        (concat("a", col("s")), "aNewark_50%"),
        (concat("a", lit(None)), None),
        (lit(" x\t ").trim(), "x\t"),
        (lit("Straße").upper(), "STRASSE"),
        (lit("Spark").substring(2, 3), "par"),
        (lit("Spark").substring(0, 2), "Sp"),
        (lit("Spark").substring(-3), "ark"),
        (lit("abc").substring(-5, 3), "a"),
        (lit("abc").substring(2, -1), ""),
        (lit("é").length(), 1),
    ],
    ids=repr,
)
def test_functions_of_texts_and_choices(expression: Expr, expected: object) -> None:
    assert value_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lit(" 12 ").cast("INT"), 12),
        (lit("1.9").cast("BIGINT"), 1),
        (lit("2147483648").cast("INT"), None),
        (lit("1e3").cast("INT"), None),
        (lit(".").cast("INT"), 0),
        (lit("-").cast("INT"), None),
        (lit("x").cast("DOUBLE"), None),
        (lit("1_0").cast("DOUBLE"), None),
        (lit("Infinity").cast("DOUBLE"), math.inf),
        (lit(1.9).cast("BIGINT"), 1),
        (lit(1e30).cast("BIGINT"), 2**63 - 1),
        (lit(-math.inf).cast("INT"), -(2**31)),
        (lit(math.nan).cast("INT"), 0),
        (lit(2**31).cast("INT"), -(2**31)),
        (lit("yes").cast("BOOLEAN"), True),
        (lit("2").cast("BOOLEAN"), None),
        (lit(2).cast("BOOLEAN"), True),
        (lit(value=True).cast("INT"), 1),
        (lit(value=False).cast("STRING"), "false"),
        (lit(1e7).cast("STRING"), "1.0E7"),
        (lit(12.345).cast("DECIMAL(4,2)"), Decimal("12.35")),
        (lit(123.4).cast("DECIMAL(4,2)"), None),
        (lit("abc").cast("DECIMAL(4,2)"), None),
        (lit("2013-01-01").cast("DATE"), dt.date(2013, 1, 1)),
        (lit("soon").cast("DATE"), None),
        (lit("2013-01-01 10:00:00").cast("TIMESTAMP"), dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC)),
        (lit(dt.date(2013, 1, 1)).cast("TIMESTAMP").cast("STRING"), "2013-01-01 00:00:00"),
        (lit(None).cast("INT"), None),
    ],
    ids=repr,
)
def test_an_impossible_cast_is_null(expression: Expr, expected: object) -> None:
    assert value_of(expression) == expected


NESTED = parse_columns(
    "page STRUCT<url STRING, site STRUCT<name STRING>>, stops ARRAY<STRING>, tags MAP<STRING, INT>, "
    "by_id MAP<BIGINT, STRING>, by_share MAP<DOUBLE, STRING>, at BIGINT"
)
GIVEN: dict[str, object] = {
    "page": {"url": "/a", "site": {"name": "shop"}},
    "stops": ["EWR", None, "SFO"],
    "tags": {"red": 1, "none": None},
    "by_id": {7 + 2**40: "many"},
    "by_share": {math.nan: "nan", 0.0: "zero"},
    "at": 2,
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("page")["url"], "/a"),
        (col("page")["site"]["name"].upper(), "SHOP"),
        (col("stops")[0], "EWR"),
        (col("stops")[1], None),
        (col("stops")[3], None),
        (col("stops")[-1], "SFO"),
        (col("stops")[-4], None),
        (col("stops")[col("at")], "SFO"),
        (col("stops")[col("at") + 2**32], None),
        (col("tags")["red"] + 1, 2),
        (col("tags")["none"], None),
        (col("tags")["blue"], None),
        (col("tags")[col("page")["url"]], None),
        (col("by_id")[7 + 2**40], "many"),
        (col("by_id")[2**40], None),
        (col("by_share")[-0.0], "zero"),
        (col("by_share")[float("nan")], "nan"),
    ],
)
def test_missing_parts_of_values_are_null(expression: Expr, expected: object) -> None:
    compute = compile_expression(expression.expression, Scope(NESTED))

    assert compute(Values(GIVEN)) == expected
    assert compute(Values(dict.fromkeys(GIVEN))) is None
