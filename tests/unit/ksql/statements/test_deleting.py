"""DELETE FROM a table, and tombstones written by INSERT."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import InsertedRow
from duolog.runtime.sql.reply.inserts import Inserted, constant_record

BEGIN = """
    CREATE TABLE users (name STRING PRIMARY KEY, age INT) WITH (kafka_topic='users', value_format='JSON');
    CREATE TABLE seats (train INT PRIMARY KEY, seat BIGINT PRIMARY KEY, free BOOLEAN) WITH (kafka_topic='seats', format='JSON');
    CREATE TABLE days (day DATE PRIMARY KEY, n INT) WITH (kafka_topic='days', format='JSON');
    CREATE TABLE hours (id INT PRIMARY KEY, n INT)
        WITH (kafka_topic='hours', format='JSON', window_type='TUMBLING', window_size='1 HOUR');
    CREATE SOURCE TABLE fixed (id INT PRIMARY KEY, n INT) WITH (kafka_topic='fixed', format='JSON');
    CREATE STREAM rides (id INT KEY, km INT) WITH (kafka_topic='rides', format='JSON');
    CREATE STREAM keyless (km INT) WITH (kafka_topic='keyless', value_format='JSON');
    CREATE TABLE ages AS SELECT name, age FROM users WHERE age > 3;
"""
STRICT = {"ksql.compatibility": "strict"}


def rows(statement: str) -> tuple[InsertedRow, ...]:
    *_, done = SqlSession().run(f"{BEGIN}{statement};")
    return done.inserted


def seat(train: int, number: int) -> bytes:
    return f'{{"TRAIN":{train},"SEAT":{number}}}'.encode()


@pytest.mark.parametrize(
    ("statement", "keys"),
    [
        ("DELETE FROM users WHERE name = 'ann'", [b"ann"]),
        ("DELETE FROM users WHERE ('ann' = users.name)", [b"ann"]),
        ("DELETE FROM users WHERE name IN ('ann', 'bob')", [b"ann", b"bob"]),
        ("delete from seats where seat = 7 and train = 1", [seat(1, 7)]),
        (
            "DELETE FROM seats WHERE train IN (1, 2) AND seat IN (7, 8)",
            [seat(1, 7), seat(1, 8), seat(2, 7), seat(2, 8)],
        ),
        ("INSERT INTO users (name) NULL VALUES KEY ('ann')", [b"ann"]),
        ("INSERT INTO users NULL VALUES KEY ('ann')", [b"ann"]),
        ("INSERT INTO rides NULL VALUES KEY (1)", [b"1"]),
    ],
)
def test_a_tombstone_is_written_for_each_key(statement: str, keys: list[bytes]) -> None:
    records = [constant_record(row) for row in rows(statement)]

    assert records == [Inserted(key, None, None) for key in keys]


def test_a_tombstone_has_a_key_and_no_value_and_the_time_that_it_is_given() -> None:
    (row,) = rows("INSERT INTO users (ROWTIME, name) NULL VALUES KEY (12, 'ann')")

    assert constant_record(row) == Inserted(b"ann", None, 12)


def test_a_row_of_nulls_is_not_a_tombstone() -> None:
    (row,) = rows("INSERT INTO users (name, age) VALUES ('ann', NULL)")

    assert constant_record(row) == Inserted(b"ann", b'{"AGE":null}', None)


def test_a_key_is_converted_to_the_type_of_its_column() -> None:
    (row,) = rows("DELETE FROM days WHERE day = '2024-02-29'")

    assert row.tombstone
    with pytest.raises(SqlError, match="Expected type DATE for field `DAY`"):
        rows("DELETE FROM days WHERE day = 'never'")


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("DELETE FROM nothing WHERE a = 1", "NOTHING does not exist."),
        ("DELETE FROM rides WHERE id = 1", "Cannot delete rows of RIDES: it is a stream"),
        ("DELETE FROM ages WHERE name = 'ann'", "Cannot delete rows of AGES: query CTAS_AGES_1 writes it"),
        ("DELETE FROM fixed WHERE id = 1", "Cannot delete rows of read-only table: FIXED"),
        ("DELETE FROM hours WHERE id = 1", "Cannot delete rows of HOURS: its keys are windowed"),
        ("DELETE FROM users", "DELETE requires a WHERE clause with the key of USERS."),
        ("DELETE FROM users WHERE age = 1", "`AGE` is not a key column."),
        ("DELETE FROM users WHERE agee = 1", "there is no column `AGEE`."),
        ("DELETE FROM users WHERE name = 'a' AND age = 1", "`AGE` is not a key column."),
        ("DELETE FROM users WHERE name = 'a' AND name = 'b'", "`NAME` has two."),
        ("DELETE FROM users WHERE name = 'a' OR name = 'b'", "DELETE accepts only `column = value`"),
        ("DELETE FROM users WHERE name <> 'a'", "DELETE accepts only `column = value`"),
        ("DELETE FROM users WHERE NOT name IN ('a')", "DELETE accepts only `column = value`"),
        ("DELETE FROM users WHERE UCASE(name) = 'a'", "DELETE accepts only `column = value`"),
        ("DELETE FROM users WHERE name = NULL", "Key column `NAME` of USERS cannot be null"),
        ("DELETE FROM users WHERE name = 1", "Expected type STRING for field `NAME`"),
        ("DELETE FROM seats WHERE train = 1", "DELETE requires the whole key of SEATS: SEAT is missing."),
        ("INSERT INTO ages NULL VALUES KEY ('a')", "Cannot delete rows of AGES: query CTAS_AGES_1 writes it"),
        ("INSERT INTO keyless NULL VALUES KEY (1)", "requires a key, but KEYLESS has none."),
        ("INSERT INTO users (name, age) NULL VALUES KEY ('a', 1)", "`AGE` is not a key column of USERS."),
        ("INSERT INTO rides (ROWTIME) NULL VALUES KEY (1)", "Value for key column(s) ID is required for a tombstone"),
        ("INSERT INTO seats (train) NULL VALUES KEY (1)", "Value for primary key column(s) SEAT is required for tables"),
    ],
)  # fmt: skip
def test_invalid_deletes_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        rows(statement)

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        (
            "DELETE FROM users WHERE name = 'a'",
            "line 1:1: Syntax Error\nUnknown statement 'DELETE'",
        ),
        ("INSERT INTO users NULL VALUES KEY ('a')", "Expecting 'VALUES', found 'NULL'"),
    ],
)
def test_strict_mode_cannot_parse_it(statement: str, expected_message: str) -> None:
    session = SqlSession(given=STRICT)
    list(session.run(BEGIN))

    with pytest.raises(SqlError) as caught:
        list(session.run(f"{statement};"))

    assert expected_message in caught.value.message
