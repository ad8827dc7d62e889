"""Groups that ksqlDB does not have: aggregates of all records, and SELECT DISTINCT."""

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.join_queries import STRICT, planned, run, table


def test_aggregates_without_group_by_form_one_group() -> None:
    query = "SELECT COUNT(*) AS n, SUM(km) AS km FROM ends"

    written = run(
        f"CREATE TABLE made AS {query}",
        ("ends", 1, {"KM": 5}, 10),
        ("ends", 2, {"KM": 7}, 5),
        ("ends", 2, None, 20),
    )

    assert table(query) == "`ROWKEY` INTEGER KEY, `N` BIGINT, `KM` INTEGER"
    assert written == [(0, {"N": 1, "KM": 5}, 10), (0, {"N": 2, "KM": 12}, 10)]


def test_a_single_group_of_a_table_undoes_its_rows() -> None:
    written = run(
        "CREATE TABLE made AS SELECT COUNT(home) AS n FROM drivers",
        ("drivers", 1, {"HOME": "Bonn"}, 0),
        ("drivers", 2, {"HOME": "Bonn"}, 1),
        ("drivers", 1, {"HOME": None}, 2),
        ("drivers", 2, None, 3),
    )

    assert [value for _, value, _ in written] == [{"N": 1}, {"N": 2}, {"N": 1}, {"N": 0}]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT ROWKEY AS one, COUNT(*) AS n FROM ends", "`ONE` INTEGER KEY, `N` BIGINT"),
        ("SELECT COUNT(*) AS n, MAX(ROWKEY) AS m FROM pays", "`ROWKEY_1` INTEGER KEY, `N` BIGINT, `M` INTEGER"),
        ("SELECT SUM(km) + 1 AS s FROM ends HAVING COUNT(*) > 1", "`ROWKEY` INTEGER KEY, `S` INTEGER"),
        ("SELECT COUNT(*) AS n, WINDOWSTART AS since FROM ends WINDOW TUMBLING (SIZE 1 HOUR)",
         "`ROWKEY` INTEGER KEY, `N` BIGINT, `SINCE` BIGINT"),
        ("SELECT SUM(cents) AS c FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "`ROWKEY_1` INTEGER KEY, `C` INTEGER"),
        ("SELECT DISTINCT city, driver FROM rides", "`CITY` STRING KEY, `DRIVER` INTEGER KEY"),
        ("SELECT DISTINCT UCASE(city) AS town FROM rides", "`TOWN` STRING KEY"),
        ("SELECT DISTINCT city, COUNT(*) AS n FROM rides GROUP BY city", "`CITY` STRING KEY, `N` BIGINT"),
    ],
)  # fmt: skip
def test_the_key_of_groups_without_group_by(query: str, wanted: str) -> None:
    assert table(query) == wanted


def test_distinct_rows_are_keys_of_a_table() -> None:
    written = run(
        "CREATE TABLE made AS SELECT DISTINCT home FROM drivers",
        ("drivers", 1, {"HOME": "Bonn"}, 0),
        ("drivers", 2, {"HOME": "Bonn"}, 1),
        ("drivers", 3, {"HOME": "Kiel"}, 2),
        ("drivers", 4, {"HOME": None}, 3),
    )

    assert written == [("Bonn", {}, 0), ("Bonn", {}, 1), ("Kiel", {}, 2)]


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        (
            "SELECT COUNT(*) FROM ends",
            "does not support aggregate function [COUNT(ROWTIME)] without a GROUP BY clause.",
        ),
        ("SELECT km FROM ends HAVING COUNT(*) > 1", "HAVING clause requires a GROUP BY clause."),
        ("SELECT DISTINCT km FROM ends", "Syntax Error\nExpecting an expression, found 'DISTINCT'"),
    ],
)
def test_strict_mode_refuses_them_with_the_text_of_ksqldb(
    query: str, expected_message: str
) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE TABLE made AS {query}", STRICT)

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        (
            "SELECT km, COUNT(*) FROM ends",
            "Non-aggregate SELECT expression(s) not part of GROUP BY: KM",
        ),
        ("SELECT km FROM ends HAVING km > 1", "HAVING clause requires a GROUP BY clause."),
        ("SELECT DISTINCT marks FROM rides", "MAP"),
    ],
)
def test_invalid_groups_are_refused(query: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE TABLE made AS {query}")

    assert expected_message in caught.value.message
