"""UNION ALL of streams."""

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.join_queries import STRICT, planned, run, stream, table


def test_records_of_all_queries_have_the_columns_of_the_first() -> None:
    written = run(
        "CREATE STREAM made AS SELECT id, km AS n, 'end' AS kind FROM ends "
        "UNION ALL SELECT id, cents, 'pay' FROM pays UNION ALL SELECT id, driver, city FROM rides",
        ("ends", 1, {"KM": 5}, 0),
        ("pays", 2, {"CENTS": 6}, 1),
        ("rides", 3, {"DRIVER": 7, "CITY": "Bonn"}, 2),
    )

    assert written == [
        (1, {"N": 5, "KIND": "end"}, 0),
        (2, {"N": 6, "KIND": "pay"}, 1),
        (3, {"N": 7, "KIND": "Bonn"}, 2),
    ]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT km, id FROM ends UNION ALL SELECT cents, id FROM pays", "`ID` INTEGER KEY, `KM` INTEGER"),
        ("SELECT id, km FROM ends UNION ALL SELECT id, CAST(cents AS BIGINT) FROM pays", "`ID` INTEGER KEY, `KM` BIGINT"),
        ("SELECT id, km FROM ends UNION ALL SELECT id, 0.5 FROM pays UNION ALL SELECT id, CAST(1 AS BIGINT) FROM pays",
         "`ID` INTEGER KEY, `KM` DECIMAL(20, 1)"),
        ("SELECT id AS km, km AS id FROM ends UNION ALL SELECT id, cents FROM pays", "`KM` INTEGER KEY, `ID` INTEGER"),
        ("WITH a AS (SELECT id, km FROM ends) SELECT * FROM a UNION ALL (SELECT id, cents FROM pays)",
         "`ID` INTEGER KEY, `KM` INTEGER"),
    ],
)  # fmt: skip
def test_columns_are_matched_by_position_and_widened(query: str, wanted: str) -> None:
    assert stream(query) == wanted


def test_a_union_is_grouped_in_an_outer_query() -> None:
    union = "SELECT id, km FROM ends UNION ALL SELECT id, cents FROM pays"
    query = f"SELECT id, SUM(km) AS s FROM ({union}) u GROUP BY id"  # noqa: S608

    written = run(
        f"CREATE TABLE made AS {query}", ("ends", 1, {"KM": 5}, 0), ("pays", 1, {"CENTS": 6}, 1)
    )

    assert table(query) == "`ID` INTEGER KEY, `S` INTEGER"
    assert written == [(1, {"S": 5}, 0), (1, {"S": 11}, 1)]


def test_columns_of_later_queries_may_have_any_name() -> None:
    """Two of one name were refused, though the names of the first query are the result's."""
    query = "SELECT id, city, driver FROM rides UNION ALL SELECT id, 'x', cents FROM pays UNION ALL SELECT id, 'y', km AS id2 FROM ends"
    twice = "SELECT id, km, km AS more FROM ends UNION ALL SELECT id, cents, cents FROM pays"

    assert stream(query) == "`ID` INTEGER KEY, `CITY` STRING, `DRIVER` INTEGER"
    assert run(f"CREATE STREAM made AS {twice}", ("pays", 1, {"CENTS": 6}, 0)) == [
        (1, {"KM": 6, "MORE": 6}, 0)
    ]


def test_a_query_reads_the_sources_of_all() -> None:
    made = planned(
        "INSERT INTO ends SELECT id, cents AS km FROM pays UNION ALL SELECT id, driver FROM rides"
    )

    assert [source.name for source in made.sources] == ["PAYS", "RIDES"]


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SELECT id, km FROM ends UNION ALL SELECT id, cents, 1 FROM pays", "have 2 and 3 columns"),
        ("SELECT id, km FROM ends UNION ALL SELECT cents, id FROM pays", "different keys"),
        ("SELECT id, km FROM ends UNION ALL SELECT id, city FROM rides", "Column 2 of UNION ALL is INTEGER and STRING."),
        ("SELECT id, name FROM drivers UNION ALL SELECT id, number FROM phones", "requires streams, not tables"),
        ("SELECT id, km FROM ends UNION ALL SELECT id, cents FROM pays LIMIT 3", "LIMIT"),
        ("SELECT * FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id UNION ALL SELECT id, km, 1, 2, 'x' FROM ends",
         "Column 5 of UNION ALL is INTEGER and STRING."),
    ],
)  # fmt: skip
def test_incompatible_queries_are_refused(query: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE STREAM made AS {query}")

    assert expected_message in caught.value.message


def test_strict_mode_cannot_parse_it() -> None:
    with pytest.raises(SqlError, match="Syntax Error") as caught:
        planned("CREATE STREAM made AS SELECT * FROM ends UNION ALL SELECT * FROM pays", STRICT)

    assert "found 'UNION'" in caught.value.message
