"""Results of vector functions are the same text whether written by column or value by value."""

import json
import math
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from duolog.functions import vectors
from duolog.functions.called import Called
from duolog.plan.expressions.python_functions import PythonFunction, Takes
from duolog.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Type


@pytest.mark.parametrize(
    ("of", "given", "by_column"),
    [
        (BIGINT, pa.array([1, -5, 2**60]), True),
        (BIGINT, pa.chunked_array([[1], [2, 3]]), True),
        (BIGINT, pa.array([1, None, 3]), False),
        (INT, pa.array([1, 2, 2**40]), False),
        (INT, pa.array([1, 2, 3], pa.int32()), True),
        (DOUBLE, pa.array([1.5, 1e300, -0.0]), True),
        (DOUBLE, pa.array([1.5, math.nan, math.inf]), False),
        (DOUBLE, pa.array([1, 2, 3]), False),
        (STRING, pa.array(["a", 'say "é"', "\n\u2028"]), True),
        (STRING, pa.array([b"a", b"b", b"c"]), False),
        (BOOLEAN, pa.array([True, False, True]), True),
        (DATE, pa.array([1, 2, 3], pa.date32()), False),
        (BIGINT, pd.Series([1, 2, 3]), True),
        (DOUBLE, pd.Series([1.0, math.nan, 2.0]), False),
        (STRING, pd.Series(["a", None, 3]), False),
        (STRING, [1, 2, 3], False),
        (BIGINT, pa.array([1, 2]), False),
    ],
    ids=lambda value: str(value).replace("\n", " ")[:40],
)
def test_results_by_column_equal_results_value_by_value(
    of: Type, given: Any, *, by_column: bool
) -> None:
    takes: Takes = "pandas" if isinstance(given, pd.Series) else "arrow"
    function = PythonFunction(lambda _numbers: given, (BIGINT,), of, takes)
    called = Called(function)
    rows = json.dumps([{"a0": n} for n in range(3)]).encode()

    found = called.lines(rows, lambda _count: None)

    one_by_one = called.encoded(called.outcomes(called.given(rows), lambda _count: None))
    assert found.decode().splitlines() == one_by_one.decode().splitlines()
    assert len(found.splitlines()) == 3
    assert (vectors.lines(function, given, 3) is not None) is by_column


def test_arguments_are_arrays_of_their_types() -> None:
    function = PythonFunction(
        lambda days, names: pa.array(
            [f"{day}{name}" for day, name in zip(days, names, strict=True)]
        ),
        (DATE, STRING),
        STRING,
        "arrow",
    )
    rows = b'[{"a0":"2024-02-29","a1":"x"},{"a0":null,"a1":"y"}]'

    assert Called(function).lines(rows, lambda _count: None) == (
        b'+{"r":"2024-02-29x"}\n+{"r":"Noney"}\n'
    )
