"""Subqueries: in FROM, in a join, and in WITH."""

from collections.abc import Callable
from typing import Any

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.join_queries import STRICT, in_kernel, planned, run, stream, table

Run = Callable[..., list[tuple[Any, Any, int]]]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_an_aggregate_of_an_aggregate_undoes_its_rows(run_it: Run) -> None:
    written = run_it(
        "CREATE TABLE made AS SELECT n, COUNT(*) AS cities FROM "
        "(SELECT home, COUNT(*) AS n FROM drivers GROUP BY home) AS c GROUP BY n",
        ("drivers", 1, {"HOME": "Bonn"}, 0),
        ("drivers", 2, {"HOME": "Kiel"}, 1),
        ("drivers", 3, {"HOME": "Bonn"}, 2),
    )

    assert written == [
        (1, {"CITIES": 1}, 0),
        (1, {"CITIES": 2}, 1),
        (1, {"CITIES": 1}, 2),
        (2, {"CITIES": 1}, 2),
    ]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_a_stream_is_joined_with_a_table_of_a_subquery(run_it: Run) -> None:
    query = (
        "WITH sums (id, total) AS (SELECT id, SUM(km) FROM ends GROUP BY id) "
        "SELECT p.id, cents, total FROM pays p LEFT JOIN sums s ON p.id = s.id"
    )

    written = run_it(
        f"CREATE STREAM made AS {query}",
        ("ends", 1, {"KM": 4}, 0),
        ("ends", 1, {"KM": 5}, 1),
        ("pays", 1, {"CENTS": 7}, 2),
        ("pays", 2, {"CENTS": 8}, 3),
    )

    assert written == [(1, {"CENTS": 7, "TOTAL": 9}, 2), (2, {"CENTS": 8, "TOTAL": None}, 3)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT * FROM (SELECT id AS ride, city, driver FROM rides) r",
         "`RIDE` INTEGER KEY, `CITY` STRING, `DRIVER` INTEGER"),
        ("SELECT r.id, n, ROWTIME AS t FROM (SELECT id, at->n AS n FROM rides PARTITION BY id) r",
         "`ID` INTEGER KEY, `N` INTEGER, `T` BIGINT"),
        ("WITH a AS (SELECT id, km FROM ends), b AS (SELECT id, km + 1 AS more FROM a) SELECT * FROM b",
         "`ID` INTEGER KEY, `MORE` INTEGER"),
        ("WITH ends AS (SELECT id, km AS k FROM ends) SELECT * FROM ends", "`ID` INTEGER KEY, `K` INTEGER"),
        ("WITH a AS (SELECT id, km FROM ends) SELECT x.id, x.km, y.km FROM a x JOIN a y WITHIN 1 HOUR ON x.id = y.id",
         "`X_ID` INTEGER KEY, `X_KM` INTEGER, `Y_KM` INTEGER"),
        ("SELECT * FROM (SELECT * FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id) j",
         "`E_ID` INTEGER KEY, `E_KM` INTEGER, `P_ID` INTEGER, `P_CENTS` INTEGER, `P_ROWKEY` INTEGER"),
    ],
)  # fmt: skip
def test_a_stream_has_the_columns_of_the_inner_query(query: str, wanted: str) -> None:
    assert stream(query) == wanted


def test_the_window_of_the_inner_query_is_in_the_keys_of_its_rows() -> None:
    inner = "SELECT id, COUNT(*) AS n FROM ends WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id"

    made = planned(f"CREATE TABLE made AS SELECT id, n, WINDOWSTART AS since FROM ({inner}) w")  # noqa: S608

    assert ", ".join(map(str, made.columns)) == "`ID` INTEGER KEY, `N` BIGINT, `SINCE` BIGINT"
    assert made.window is not None
    assert made.window.size_ms == 3_600_000
    assert (
        table(f"SELECT n, COUNT(*) AS ids FROM ({inner}) w GROUP BY n")  # noqa: S608
        == "`N` BIGINT KEY, `IDS` BIGINT"
    )


def test_a_query_reads_the_sources_of_those_within_it() -> None:
    made = planned(
        "CREATE STREAM made AS SELECT e.id, km, name FROM (SELECT id, km FROM ends) e "
        "JOIN (SELECT id, name FROM drivers) d ON e.id = d.id"
    )

    assert [source.name for source in made.sources] == ["ENDS", "DRIVERS"]


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SELECT * FROM (SELECT id, km FROM ends)", "A subquery in FROM needs an alias."),
        ("SELECT * FROM (SELECT id, km FROM ends LIMIT 3) e", "cannot read a subquery with LIMIT"),
        ("SELECT * FROM (SELECT id, km FROM ends ORDER BY km) e", "cannot have ORDER BY"),
        ("SELECT * FROM (SELECT id, km FROM ends WHERE km = (SELECT 1 FROM pays)) e", "cannot have a subquery"),
        ("SELECT * FROM (SELECT id, km FROM ends UNION SELECT id, cents FROM pays) e", "cannot have UNION"),
        ("SELECT * FROM (SELECT e.id, km FROM ends e CROSS JOIN pays p) e", "cannot have CROSS JOIN"),
        ("SELECT * FROM (SELECT km FROM ends) e", "The query used to build `E` must include the key column ID"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM ends) SELECT * FROM a", "B does not exist."),
        ("WITH a AS (SELECT * FROM ends), a AS (SELECT * FROM pays) SELECT * FROM a", "Two queries in WITH have the name 'A'."),
        ("WITH a (x) AS (SELECT id, km FROM ends) SELECT * FROM a", "WITH names 1 column, but the query selects 2."),
        ("SELECT e.id, ROWOFFSET AS o FROM (SELECT id, km FROM ends) e", "ROWOFFSET"),
    ],
)  # fmt: skip
def test_unsupported_inner_queries_are_refused(query: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE STREAM made AS {query}")

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("CREATE STREAM made AS WITH a AS (SELECT * FROM ends) SELECT * FROM a", "Expecting 'SELECT', found 'WITH'"),
        ("INSERT INTO ends WITH a AS (SELECT * FROM ends) SELECT * FROM a", "Expecting 'SELECT', found 'WITH'"),
        ("CREATE STREAM made AS SELECT * FROM (SELECT * FROM ends) e", "Expecting a stream or table, found '('"),
    ],
)  # fmt: skip
def test_strict_mode_cannot_parse_them(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(statement, STRICT)

    assert "Syntax Error" in caught.value.message
    assert expected_message in caught.value.message


def test_rows_of_an_inner_query_are_inserted() -> None:
    made = planned(
        "INSERT INTO ends WITH a AS (SELECT id, driver AS km FROM rides) SELECT * FROM a"
    )

    assert made.topic == "ends"
