"""CHANGES OF: a table as a stream of its rows."""

import pytest

from duolog.ksql.errors import SqlError
from unit.ksql.joined import STRICT, planned, run, stream


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


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("CREATE STREAM made AS CHANGES OF ends", "ENDS is a stream: CHANGES OF is of tables."),
        ("CREATE TABLE made AS CHANGES OF cities", "Your SELECT query produces a STREAM."),
        ("CREATE STREAM made AS CHANGES OF nowhere", "NOWHERE does not exist."),
    ],
)
def test_what_has_no_changes_is_refused(statement: str, told: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(statement)

    assert told in caught.value.message


def test_strict_cannot_read_it() -> None:
    with pytest.raises(SqlError, match="Expecting 'SELECT', found 'CHANGES'"):
        planned("CREATE STREAM made AS CHANGES OF cities", STRICT)
