"""Packed rows restore what they were given, in the order of keys."""

import datetime as dt
import math
import tracemalloc
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from duolog.functions.processors.store import in_order
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    Type,
)
from duolog.plan.types import Decimal as DecimalType
from duolog.runtime.packed.packed_rows import PackedRow, PackedRows

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2013, 1, 2, 12, tzinfo=UTC)
KEYS: list[tuple[Type, list[Any]]] = [
    (BOOLEAN, [False, True, None]),
    (INT, [-(2**31), -1, 0, 2**31 - 1, None]),
    (BIGINT, [-(2**63), -1, 0, 1, 2**63 - 1, None]),
    (DOUBLE, [-math.inf, -1.5, 0.0, 1e300, math.inf, math.nan, None]),
    (STRING, ["", "\0", "\0\0", "a", "a\0", "ab", "é", "\uffff", "\U0001f600", None]),
    (BYTES, [b"", b"\0", b"\0\xff", b"a", b"\xff", None]),
    (DATE, [dt.date(1969, 1, 1), dt.date(2013, 1, 2), None]),
    (TIMESTAMP, [dt.datetime(1969, 1, 1, tzinfo=UTC), NOON, None]),
    (DecimalType(4, 2), [Decimal("-9.10"), Decimal("1.50"), Decimal("10.00"), None]),
]


def packed(types: list[Type], rows: list[PackedRow]) -> PackedRows:
    made = PackedRows(types)
    made.add(rows)
    return made


def rows_of(rows: PackedRows) -> list[PackedRow]:
    return [rows.row(key) for key in rows.keys()]  # noqa: SIM118 - not a dict


@pytest.mark.parametrize(("of", "values"), KEYS, ids=lambda given: str(given)[:12])
def test_rows_are_restored_in_the_order_of_their_keys(of: Type, values: list[Any]) -> None:
    rows: list[PackedRow] = [((one, "x"), (at,), at) for at, one in enumerate(values)]
    mixed = Random(1).sample(rows, len(rows))  # noqa: S311

    made = packed([of, STRING], mixed)

    assert repr(rows_of(made)) == repr(rows)
    assert len(made) == len(rows)
    assert repr([made.get(key) for key, _, _ in rows]) == repr(rows)


@pytest.mark.parametrize(
    "value",
    [
        (),
        (None, True, 1, -(2**80), 1.5, -0.0, "a\0\ud800", b"\xff"),
        ([1, [2, None]], {"b": {"c": [b"x"]}, "a": 1}),
        (Decimal("1.50"), NOON, dt.date(2013, 1, 2), [Decimal(1)], {"at": NOON}),
        (bytearray(b"x"),),
    ],
)
def test_values_are_restored_with_their_types(value: tuple[Any, ...]) -> None:
    found = packed([INT], [((1,), value, 7)]).get((1,))

    assert found is not None
    assert repr(found) == repr(((1,), value, 7))
    assert [type(one) for one in found[1]] == [type(one) for one in value]


def test_times_of_rows_may_be_negative_and_large() -> None:
    times = [-(2**63), -1, 0, 2**63 - 1]

    made = packed([INT], [((at,), (), at_ms) for at, at_ms in enumerate(times)])

    assert [row[2] for row in rows_of(made)] == times


def test_a_row_replaces_the_one_with_its_key_even_after_keys_were_sorted() -> None:
    made = packed([STRING], [(("b",), (1,), 1), (("a",), (2,), 2)])
    assert [row[0] for row in rows_of(made)] == [("a",), ("b",)]

    made.add([(("a",), (3,), 3), (("c",), (4,), 4)])

    assert rows_of(made) == [(("a",), (3,), 3), (("b",), (1,), 1), (("c",), (4,), 4)]


@pytest.mark.parametrize(
    ("of", "stored", "asked"),
    [
        (BIGINT, 1, 1.0),
        (BIGINT, 1, True),
        (DOUBLE, 1.0, 1),
        (DOUBLE, 0.0, -0.0),
        (DecimalType(4, 2), Decimal("1.50"), Decimal("1.5")),
        (DecimalType(4, 2), Decimal("1.50"), 1.5),
        (TIMESTAMP, NOON, NOON.astimezone(EAST)),
        (Array(INT), [1, 2], (1, 2)),
    ],
)
def test_equal_keys_find_a_row_as_in_a_dict(of: Type, stored: Any, asked: Any) -> None:
    made = packed([of], [((stored,), ("x",), 1)])

    assert made.get((asked,)) == ((stored,), ("x",), 1)


@pytest.mark.parametrize(
    ("of", "asked"),
    [
        (BIGINT, "1"),
        (BIGINT, 1.5),
        (BIGINT, 2**64 + 1),
        (BIGINT, math.inf),
        (DOUBLE, "1.0"),
        (DOUBLE, 10**400),
        (DOUBLE, 2**53 + 1),
        (STRING, 1),
        (STRING, b"1"),
        (BYTES, "1"),
        (DATE, NOON),
        (DATE, None),
    ],
)
def test_keys_that_no_row_has_find_nothing(of: Type, asked: Any) -> None:
    of_type: dict[Type, list[object]] = {
        BIGINT: [1],
        DOUBLE: [1.0, float(2**53)],
        STRING: ["1"],
        BYTES: [b"1"],
        DATE: [NOON.date()],
    }
    stored = of_type[of]
    made = packed([of, STRING], [((one, "x"), (), 1) for one in stored])

    assert made.get((asked, "x")) is None
    assert made.get((stored[0],)) is None
    assert made.get((stored[0], "x", None)) is None


def test_a_key_that_is_not_of_its_columns_type_is_kept_and_found() -> None:
    rows: list[PackedRow] = [((1,), ("a",), 1), ((1.5,), ("b",), 2), ((2**70,), ("c",), 3)]

    made = packed([BIGINT], rows[::-1])

    assert rows_of(made) == rows
    assert [made.get(key) for key, _, _ in rows] == rows
    assert rows_of(made.select(made.keys()[1:])) == rows[1:]


@pytest.mark.parametrize("types", [[STRING, BIGINT], [DATE, BIGINT], [STRING, Array(INT)]])
def test_all_keys_between_bounds_are_found_and_copied(types: list[Type]) -> None:
    random = Random(4)  # noqa: S311
    firsts = (
        [dt.date(2013, 1, day) for day in range(1, 9)] if types[0] == DATE else list("abcdefgh")
    )
    seconds: list[Any] = (
        [[n] for n in range(20)] if isinstance(types[1], Array) else list(range(20))
    )
    rows: list[PackedRow] = [((a, b), (), 1) for a in firsts for b in seconds]
    made = packed(types, random.sample(rows, len(rows)))

    for _ in range(50):
        low, high = random.choice(rows)[0], random.choice(rows)[0]
        low, high = low[: random.randint(1, 2)], high[: random.randint(1, 2)]
        found = rows_of(made.select(made.between(low, high)))
        wanted = [
            row
            for row in rows
            if in_order(low) <= in_order(row[0][: len(low)])
            and in_order(row[0][: len(high)]) <= in_order(high)
        ]
        if isinstance(types[1], Array):
            assert len(found) == len(rows), "these have no order that users know"
        else:
            assert found == wanted
    assert len(made.between(None, (firsts[0],))) in {20, len(rows)}
    assert len(made.between((object(),), None)) == len(rows), "not comparable"


def test_a_row_takes_less_than_130_bytes() -> None:
    tracemalloc.start()
    try:
        made = PackedRows([STRING])
        made.add(((f"customer-{n:07}",), (n, n / 7), 1_700_000_000_000 + n) for n in range(4_000))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(made) == 4_000
    assert held / 4_000 < 130
