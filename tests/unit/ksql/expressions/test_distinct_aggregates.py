"""Aggregates with DISTINCT."""

from collections.abc import Callable
from typing import Any

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.join_queries import STRICT, Given, in_kernel, planned, run, table

CALLS = (
    "COUNT(DISTINCT km) AS n, SUM(DISTINCT km) AS s, AVG(DISTINCT km) AS a, MAX(DISTINCT km) AS m"
)

Run = Callable[..., list[tuple[Any, Any, int]]]


def kms(*of: int | None) -> list[Given]:
    return [("ends", 1, {"KM": km}, at) for at, km in enumerate(of)]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_each_distinct_value_of_a_stream_counts_once_and_null_never(run_it: Run) -> None:
    written = run_it(
        f"CREATE TABLE made AS SELECT id, {CALLS}, SUM(km) AS total FROM ends GROUP BY id",  # noqa: S608
        *kms(None, 4, 4, 7, None),
    )

    assert [value for _, value, _ in written] == [
        {"N": 0, "S": 0, "A": 0.0, "M": None, "TOTAL": 0},
        {"N": 1, "S": 4, "A": 4.0, "M": 4, "TOTAL": 4},
        {"N": 1, "S": 4, "A": 4.0, "M": 4, "TOTAL": 8},
        {"N": 2, "S": 11, "A": 5.5, "M": 7, "TOTAL": 15},
        {"N": 2, "S": 11, "A": 5.5, "M": 7, "TOTAL": 15},
    ]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_a_value_of_a_table_is_removed_with_its_last_row(run_it: Run) -> None:
    written = run_it(
        "CREATE TABLE made AS SELECT COUNT(DISTINCT people) AS n, SUM(DISTINCT people) AS s FROM cities",
        ("cities", "Bonn", {"PEOPLE": 4}, 0),
        ("cities", "Kiel", {"PEOPLE": 4}, 1),
        ("cities", "Bonn", None, 2),
        ("cities", "Kiel", None, 3),
    )

    assert [value for _, value, _ in written] == [
        {"N": 1, "S": 4},
        {"N": 1, "S": 4},
        {"N": 1, "S": 4},
        {"N": 0, "S": 0},
    ]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_merged_sessions_have_the_values_of_both(run_it: Run) -> None:
    written = run_it(
        "CREATE TABLE made AS SELECT COUNT(DISTINCT km) AS n, SUM(DISTINCT km) AS s FROM ends "
        "WINDOW SESSION (10 MILLISECONDS)",
        ("ends", 1, {"KM": 4}, 0),
        ("ends", 1, {"KM": 4}, 15),
        ("ends", 1, {"KM": 5}, 16),
        ("ends", 1, {"KM": 6}, 8),
    )

    assert written[-1][1] == {"N": 3, "S": 15}


def test_distinct_does_not_change_the_result_type() -> None:
    given = f"SELECT id, {CALLS} FROM ends GROUP BY id"  # noqa: S608

    assert table(given) == table(given.replace("DISTINCT ", ""))


@pytest.mark.parametrize(
    ("call", "expected_message"),
    [
        ("COLLECT_LIST(DISTINCT km)", "COLLECT_LIST does not support DISTINCT"),
        ("TOPK(DISTINCT km, 3)", "TOPK does not support DISTINCT"),
        ("COUNT(*) + ABS(DISTINCT id)", "ABS does not support DISTINCT"),
        ("SUM(DISTINCT km, km)", "SUM does not support DISTINCT with several arguments"),
        ("SUM(DISTINCT 'x')", "Function 'SUM' does not accept parameters (STRING)."),
    ],
)
def test_distinct_without_effect_is_refused(call: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE TABLE made AS SELECT id, {call} AS x FROM ends GROUP BY id")  # noqa: S608

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    "begin", ["CREATE TABLE made AS SELECT id, ", "CREATE TABLE made AS SELECT id, 1 + "]
)
def test_strict_mode_reports_the_syntax_error_of_ksqldb(begin: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"{begin}COUNT(DISTINCT km) AS n FROM ends GROUP BY id", STRICT)

    assert "Syntax Error\nExpecting an expression, found 'DISTINCT'" in caught.value.message
