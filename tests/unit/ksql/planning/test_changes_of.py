"""CHANGES OF: a table as a stream of its rows."""

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.join_queries import STRICT, planned, run, stream


def test_the_changes_of_a_table_are_a_stream_with_its_columns_and_key() -> None:
    written = run(
        "CREATE STREAM made AS CHANGES OF cities",
        ("cities", "Bonn", {"PEOPLE": 4}, 0),
        ("cities", "Bonn", {"PEOPLE": 5}, 1),
        ("cities", "Bonn", None, 2),
    )

    assert stream("CHANGES OF cities") == "`CITY` STRING KEY, `PEOPLE` INTEGER"
    assert written == [("Bonn", {"PEOPLE": 4}, 0), ("Bonn", {"PEOPLE": 5}, 1), ("Bonn", None, 2)]


def test_rows_of_a_table_are_inserted_into_a_stream() -> None:
    made = planned(
        "CREATE STREAM log (city STRING KEY, people INT) WITH (kafka_topic='log', format='JSON', partitions=1);"
        "INSERT INTO log CHANGES OF cities"
    )

    assert (made.topic, [source.name for source in made.sources]) == ("log", ["CITIES"])


def test_changes_are_read_like_any_stream() -> None:
    written = run(
        "CREATE STREAM made AS SELECT c.city, people AS p FROM CHANGES OF cities AS c",
        ("cities", "Bonn", {"PEOPLE": 4}, 0),
        ("cities", "Bonn", {"PEOPLE": 5}, 1),
    )

    assert written == [("Bonn", {"P": 4}, 0), ("Bonn", {"P": 5}, 1)]


def test_a_stream_may_be_called_changes() -> None:
    made = planned(
        "CREATE STREAM changes (id INT KEY, n INT) WITH (kafka_topic='c', format='JSON', partitions=1);"
        "CREATE STREAM made AS SELECT of.n, of.id FROM changes of WHERE n > 1"
    )

    assert [source.name for source in made.sources] == ["CHANGES"]


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        (
            "CREATE STREAM made AS CHANGES OF ends",
            "CHANGES OF requires a table, but ENDS is a stream.",
        ),
        ("CREATE TABLE made AS CHANGES OF cities", "Your SELECT query produces a STREAM."),
        ("CREATE STREAM made AS CHANGES OF nowhere", "NOWHERE does not exist."),
    ],
)
def test_sources_without_changes_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(statement)

    assert expected_message in caught.value.message


def test_strict_mode_cannot_parse_it() -> None:
    with pytest.raises(SqlError, match="Expecting 'SELECT', found 'CHANGES'"):
        planned("CREATE STREAM made AS CHANGES OF cities", STRICT)

    with pytest.raises(SqlError, match="Expecting a stream or table, found 'CHANGES'"):
        planned("CREATE STREAM made AS SELECT city, people FROM CHANGES OF cities", STRICT)
