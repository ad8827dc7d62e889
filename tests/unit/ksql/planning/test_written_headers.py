"""Headers written by statements."""

import json

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import Done, SqlSession
from duolog.runtime.sql.reply.inserts import Inserted, constant_record
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

BEGIN = """
    CREATE STREAM s (id STRING KEY, name STRING, n INT, old BYTES HEADER('old')) WITH (kafka_topic='s', value_format='JSON');
    CREATE STREAM dest (id STRING KEY, n INT, who BYTES HEADER('who')) WITH (kafka_topic='dest', value_format='JSON');
    CREATE STREAM whole (id STRING KEY, n INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
        WITH (kafka_topic='whole', value_format='JSON');
    CREATE TABLE t (id STRING PRIMARY KEY, n INT) WITH (kafka_topic='t', value_format='JSON');
"""
NEXT = "; CREATE STREAM next AS SELECT id, who FROM out"
STRICT = {"ksql.compatibility": "strict"}
GIVEN = (("old", b"1"), ("trace", b"\x00\xff"), ("old", b"2"))


def done(statement: str, given: dict[str, str] | None = None) -> Done:
    *_, last = SqlSession(given=given).run(f"{BEGIN}{statement};")
    return last


def columns(statement: str) -> list[tuple[str, str]]:
    query = done(statement).query
    assert query is not None
    return [(str(one), one.header) for one in query.planned.columns]


def written(statement: str) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of the record that a query writes for one with `GIVEN`."""
    query = done(statement).query
    assert query is not None
    value = json.dumps({"NAME": "bär", "N": 5}).encode()
    record = SourceRecord("s", 0, 0, 7, b"k", value, GIVEN)
    (out,) = ReferenceEvaluator(query.planned.plan).run([record])
    assert json.loads(out.value or b"") == {"N": 5}
    return out.headers


@pytest.mark.parametrize(
    ("select", "headers"),
    [
        # Those of its source a record has anyway.
        ("SELECT id, n FROM s", GIVEN),
        ("SELECT id, n, name AS who HEADER('who') FROM s", (*GIVEN, ("who", "bär".encode()))),
        # One that is written takes the place of all of its name.
        (
            "SELECT id, n, name HEADER('old') FROM s",
            (("trace", b"\x00\xff"), ("old", "bär".encode())),
        ),
        ("SELECT id, n, old AS last HEADER('last') FROM s", (*GIVEN, ("last", b"2"))),
        ("SELECT id, n, NULL AS none HEADER('none') FROM s", (*GIVEN, ("none", None))),
        (
            "SELECT id, n, 'x' a HEADER('b'), 'y' AS `c` HEADER('d') FROM s WHERE n IS NOT NULL",
            (*GIVEN, ("b", b"x"), ("d", b"y")),
        ),
    ],
)
def test_a_selected_header_is_written_to_the_record(
    select: str, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    assert written(f"CREATE STREAM out AS {select}") == headers


def test_headers_of_the_source_are_dropped_on_request() -> None:
    begin = "CREATE STREAM out WITH (inherit_headers = false) AS SELECT id, n"

    assert written(f"{begin} FROM s") == ()
    assert written(f"{begin}, old AS old HEADER('old') FROM s") == (("old", b"2"),)


def test_the_resulting_stream_has_the_header_as_a_column() -> None:
    made = "CREATE STREAM out AS SELECT id, n, name AS who HEADER('x-who') FROM s"

    assert columns(made) == [
        ("`ID` STRING KEY", ""),
        ("`N` INTEGER", ""),
        ("`WHO` BYTES", "x-who"),
    ]
    # To what reads it, it is a column as any other.
    assert columns(made + NEXT)[1] == ("`WHO` BYTES", "")


def test_inserted_rows_write_the_headers_that_the_stream_declares_and_others() -> None:
    assert written("INSERT INTO dest SELECT id, n, name AS who FROM s")[-1] == (
        "who",
        "bär".encode(),
    )
    assert written("INSERT INTO dest SELECT id, n FROM s") == GIVEN
    assert written("INSERT INTO whole SELECT id, n, 'y' AS x HEADER('x') FROM s")[-1] == ("x", b"y")
    begin = "INSERT INTO dest WITH (inherit_headers = false) SELECT id, n, name AS who"
    assert written(f"{begin} FROM s") == (("who", "bär".encode()),)


def test_a_row_is_inserted_with_headers() -> None:
    (row,) = done("INSERT INTO dest (id, n, who) VALUES ('a', 1, 'bär')").inserted
    (null,) = done("INSERT INTO dest (id, who) VALUES ('a', NULL)").inserted

    assert constant_record(row) == Inserted(b"a", b'{"N":1}', None, (("who", "bär".encode()),))
    assert constant_record(null) == Inserted(b"a", b'{"N":null}', None, (("who", None),))


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("CREATE STREAM out AS SELECT id, n, name || 'x' HEADER('x') FROM s", "A header needs a column name."),
        ("CREATE STREAM out AS SELECT id, name, n HEADER('x') FROM s", "Header 'x' must be BYTES or STRING, not INTEGER"),
        ("CREATE STREAM out AS SELECT id, n, name HEADER('') FROM s", "The name of a header cannot be empty."),
        ("CREATE STREAM out AS SELECT id, n, name AS n HEADER('x') FROM s", "Duplicate column names: `N`"),
        ("CREATE STREAM out AS SELECT id, n, name a HEADER('x'), name b HEADER('x') FROM s", "already contains a HEADER('x')"),
        ("CREATE STREAM out AS SELECT id, name HEADER('x') FROM s", "The projection contains no value columns."),
        ("CREATE TABLE out AS SELECT id, n, 'x' AS x HEADER('x') FROM t", "Headers can only be written to a stream"),
        ("CREATE TABLE out WITH (inherit_headers = false) AS SELECT id, n FROM t", "Headers can only be written to a stream"),
        ("CREATE TABLE out AS SELECT id, COUNT(*) AS n, 'x' AS x HEADER('x') FROM s GROUP BY id", "Headers can only be written to a stream"),
        ("CREATE STREAM out AS SELECT a.id, a.n FROM (SELECT id, n, name HEADER('x') FROM s) AS a", "HEADER is only allowed in"),
        ("SELECT id, name HEADER('x') FROM s EMIT CHANGES", "HEADER is only allowed in"),
        ("INSERT INTO dest SELECT id, n, n AS who FROM s", "Header 'who' must be BYTES or STRING, not INTEGER"),
        ("INSERT INTO dest (id, n, who) VALUES ('a', 1, 2)", "Header 'who' must be BYTES or STRING, not INTEGER"),
        ("INSERT INTO whole (id, h) VALUES ('a', NULL)", "Cannot insert into HEADER columns: H"),
        ("CREATE STREAM out WITH (inherit_headers = 'x') AS SELECT id, n FROM s", "Expected value to be either true or false"),
    ],
)  # fmt: skip
def test_invalid_headers_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        done(statement)

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("CREATE STREAM out AS SELECT id, n, name HEADER('x') FROM s", "Expecting ',' or 'FROM', found 'HEADER'"),
        ("CREATE STREAM out WITH (inherit_headers = false) AS SELECT id, n FROM s",
         "Invalid config variable(s) in the WITH clause: INHERIT_HEADERS"),
        ("INSERT INTO dest SELECT id, n, name AS who FROM s", "Cannot insert into DEST because it has header columns: WHO"),
        ("INSERT INTO dest (id, who) VALUES ('a', 'x')", "Cannot insert into HEADER columns: WHO"),
    ],
)  # fmt: skip
def test_strict_mode_writes_none(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        done(statement, STRICT)

    assert expected_message in caught.value.message
