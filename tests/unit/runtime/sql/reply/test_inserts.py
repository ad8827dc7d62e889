from decimal import Decimal as PythonDecimal
from itertools import product
from typing import Any
from uuid import uuid4

import pytest

from duolog.engine.evaluate_record import evaluate_record
from duolog.ksql.expressions.bound import call, type_as_argument
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.inserted_rows import TRIGGER_TOPIC, TRIGGER_VALUE, plan_of_row
from duolog.ksql.statements.state import InsertedRow
from duolog.plan.expressions import Literal
from duolog.plan.types import BIGINT, DOUBLE, INT, STRING, Decimal, Type
from duolog.runtime.sql.reply.constants import constant_of
from duolog.runtime.sql.reply.inserts import Inserted, constant_record

DECLARED = "CREATE STREAM s (k STRING KEY, a BIGINT, d DOUBLE, e DECIMAL(4,2), t TIMESTAMP, f ARRAY<INT>) WITH (kafka_topic='s', partitions=2, value_format='{}');"


def record(values: str, form: str = "json") -> Inserted | None:
    session = SqlSession()
    *_, done = session.run(DECLARED.format(form) + f"INSERT INTO s {values};")
    (row,) = done.inserted
    return constant_record(row)


@pytest.mark.parametrize(
    ("values", "key", "value"),
    [
        ("(k, a) VALUES ('x', 1)", b"x", b'{"A":1,"D":null,"E":null,"T":null,"F":null}'),
        ("(d, e) VALUES (2.5, 3.1)", None, b'{"A":null,"D":2.5,"E":3.10,"T":null,"F":null}'),
        (
            "(d, a) VALUES (7, 3000000000)",
            None,
            b'{"A":3000000000,"D":7.0,"E":null,"T":null,"F":null}',
        ),
    ],
)
def test_constants_are_serialized_without_a_jvm(
    values: str, key: bytes | None, value: bytes
) -> None:
    assert record(values) == Inserted(key, value, None)


def test_the_time_of_a_row_is_that_of_its_record() -> None:
    inserted = record("(ROWTIME, a) VALUES (1234, 1)")

    assert inserted is not None
    assert inserted.timestamp_ms == 1234


@pytest.mark.parametrize(
    "given",
    [
        "a) VALUES (LEN('x'))",
        "e) VALUES (CAST(1.239 AS DECIMAL(4,2)))",
        "a) VALUES (CAST('7' AS BIGINT))",
        "f) VALUES (ARRAY[LEN('x')])",
        "k) VALUES (FROM_BYTES(TO_BYTES('a', 'utf8'), 'hex'))",
    ],
)
def test_expressions_are_left_to_the_kernel(given: str) -> None:
    assert record(f"({given}") is None


KINDS = (
    "CREATE STREAM s (k STRING KEY, a BIGINT, d DOUBLE, e DECIMAL(6,2), b BOOLEAN, raw BYTES, "
    "day DATE, at TIME, ts TIMESTAMP{}) WITH (kafka_topic='s', partitions=2, value_format='{}');"
)
COMPOSITE = (
    ", f ARRAY<BIGINT>, g ARRAY<DECIMAL(6,2)>, m MAP<STRING, DOUBLE>, "
    "s STRUCT<x BIGINT, y STRING, z ARRAY<STRUCT<q BYTES>>, w DECIMAL(5,3)>"
)
SCALARS = [
    "(raw) VALUES (TO_BYTES('AP8=', 'base64'))",
    "(raw) VALUES (TO_BYTES('AP8', 'BASE64'))",
    "(raw) VALUES (TO_BYTES('0aFf', 'hex'))",
    "(raw) VALUES (TO_BYTES('ü', 'ascii'))",
    "(raw) VALUES (TO_BYTES('ü', 'utf8'))",
    "(raw) VALUES (TO_BYTES(CAST(NULL AS STRING), 'utf8'))",
    "(day) VALUES ('0001-01-01')",
    "(day) VALUES ('9999-12-31')",
    "(at) VALUES ('23:59:59.999')",
    "(ts) VALUES ('1969-12-31T23:59:59.9999')",
    "(ts) VALUES ('2020-01-01T00:00:00.001+05:45')",
    "(d, e) VALUES (CAST(1 AS DOUBLE), CAST(12 AS DECIMAL(6,2)))",
    "(d, b) VALUES (-7, TRUE)",
    "(a) VALUES (CAST(3000000000 AS BIGINT))",
    "(ROWTIME, a) VALUES (1234, 1)",
]
COMPOSITES = [
    "(f) VALUES (ARRAY[1, 3000000000])",
    "(f) VALUES (ARRAY[1, 2])",
    "(g) VALUES (ARRAY[CAST(1 AS DECIMAL(6,2)), CAST(2.5 AS DECIMAL(6,2))])",
    "(m) VALUES (MAP('a' := 1, 'b' := 2.25))",
    "(s) VALUES (STRUCT(x := 1))",
    "(s) VALUES (STRUCT(other := 1, y := 'z'))",
    "(s) VALUES (STRUCT(x := NULL, y := NULL))",
    "(s) VALUES (STRUCT(x := 1, z := ARRAY[STRUCT(q := TO_BYTES('AP8=', 'base64'))], w := 1.5))",
    "(s, raw) VALUES (NULL, NULL)",
]


def row_of(form: str, values: str) -> InsertedRow:
    session = SqlSession()
    declared = KINDS.format("" if form == "DELIMITED" else COMPOSITE, form)
    raw = declared.replace("raw BYTES, ", "") if "raw" not in values else declared
    *_, done = session.run(f"{raw} INSERT INTO s {values};")
    (row,) = done.inserted
    return row


@pytest.mark.parametrize(
    ("form", "values"),
    [
        *product(("JSON", "PROTOBUF_NOSR"), SCALARS + COMPOSITES),
        *product(("DELIMITED",), [one for one in SCALARS if "raw" not in one]),
    ],
)
def test_a_constant_row_is_the_row_of_the_kernel(form: str, values: str) -> None:
    row = row_of(form, values)

    here = constant_record(row)

    assert here is not None, "it needs no JVM"
    made = evaluate_record(plan_of_row(row), f"insert-{uuid4().hex}", TRIGGER_TOPIC, TRIGGER_VALUE)
    at_ms = None if row.timestamp is None else made.timestamp_ms
    assert here == Inserted(made.key, made.value, at_ms, made.headers)


@pytest.mark.parametrize(
    "values",
    [
        "(raw) VALUES (TO_BYTES('aP', 'hex'))",
        "(m) VALUES (MAP('a' := 1.5, 'a' := 2.5))",
        "(m) VALUES (MAP('a' := 1.5, CAST(NULL AS STRING) := 2.5))",
    ],
)
def test_a_value_that_the_kernel_may_refuse_is_left_to_it(values: str) -> None:
    assert constant_record(row_of("JSON", values)) is None


@pytest.mark.parametrize(
    ("value", "given", "wanted"),
    [
        (PythonDecimal("1.239"), Decimal(4, 3), Decimal(6, 2)),
        (12345, INT, Decimal(6, 2)),
        (2**31, BIGINT, INT),
        ("7", STRING, BIGINT),
        (1.5, DOUBLE, Decimal(6, 2)),
        (1, INT, STRING),
    ],
)
def test_a_conversion_that_changes_a_value_is_left_to_the_kernel(
    value: Any, given: Type, wanted: Type
) -> None:
    cast = call("CAST", Literal(value, given), type_as_argument(wanted))

    assert constant_of(cast) is None


def test_a_decimal_may_have_all_its_digits() -> None:
    number = PythonDecimal("123456789012345678901234567890123456.5")
    cast = call("CAST", Literal(number, Decimal(37, 1)), type_as_argument(Decimal(38, 2)))

    assert constant_of(cast) == (PythonDecimal(f"{number}0"), Decimal(38, 2))
