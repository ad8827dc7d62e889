"""Rows by position and by name, and the values of the server's JSON."""

import copy
import datetime as dt
import pickle
from decimal import Decimal

import pytest

from duolog.client.errors import DataError, Error, InterfaceError, OperationalError
from duolog.client.errors import ProgrammingError as Invalid
from duolog.client.requests import Entities, Header, Token, decoded, has_rows, refused
from duolog.client.rows import Row

HEADER = b'{"queryId":"q","columnNames":["ID","P","AT"],"columnTypes":["STRING","DECIMAL(10, 2)","TIMESTAMP"]}'


def test_a_row_is_a_tuple_with_names() -> None:
    row = Row.of(("ID", "N", "n"), ("a", 1, 2))

    assert tuple(row) == ("a", 1, 2)
    assert (row["N"], row["n"], row.id, row[0], row[1:]) == (1, 2, "a", "a", (1, 2))
    assert row.asdict() == {"ID": "a", "N": 1, "n": 2}
    assert repr(row) == "Row(ID='a', N=1, n=2)"
    for copied in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row)):  # noqa: S301 - our own
        assert copied.id == "a"


def test_a_name_that_fits_two_columns_or_none_is_an_error() -> None:
    row = Row.of(("Ab", "aB"), (1, 2))

    with pytest.raises(KeyError):
        row["ab"]
    with pytest.raises(AttributeError, match="it has Ab, aB"):
        _ = row.ab


def test_a_header_reads_rows_by_type() -> None:
    header = Header.of(HEADER)

    row = header.row(b'["a",12.30,"2026-01-02T03:04:05.678"]')

    assert row == ("a", Decimal("12.30"), dt.datetime.fromisoformat("2026-01-02T03:04:05.678"))
    assert str(row[1]) == "12.30"
    assert header.row(b"[null,null,null]") == (None, None, None)
    assert header.row(b'{"continuationToken":"t"}') == Token("t")


@pytest.mark.parametrize("line", [b'["a",1]', b'["a","x",null]', b'["a",1,5]'])
def test_a_row_that_does_not_fit_its_types_is_an_error(line: bytes) -> None:
    with pytest.raises(DataError, match="does not fit"):
        Header.of(HEADER).row(line)


def test_an_error_in_place_of_a_header_or_a_row_is_raised() -> None:
    failure = b'{"@type":"generic_error","error_code":50000,"message":"it broke\\nfor a reason"}'

    for read in (Header.of, Header.of(HEADER).row):
        with pytest.raises(Error, match="it broke") as raised:
            read(failure)
        assert raised.value.code == 50000
        assert raised.value.detail == "for a reason"
    with pytest.raises(InterfaceError, match="empty"):
        Header.of(None)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, Invalid), (401, OperationalError), (503, OperationalError)]
)
def test_a_refusal_has_the_class_of_its_status(status: int, kind: type[Error]) -> None:
    body = b'{"error_code":40001,"message":"no","statementText":"SELECT;"}'

    error = refused(status, body)

    assert type(error) is kind
    assert isinstance(error, Error)
    assert (error.code, error.statement) == (40001, "SELECT;")


def test_an_answer_of_another_server_is_an_error() -> None:
    with pytest.raises(InterfaceError, match="not JSON"):
        decoded(b"<html>")
    assert "404" in str(refused(404, b"<html>"))
    assert "the address of a SQL server" in str(refused(404, b"<html>"))


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT 1", True),
        ("  /* a */ -- b\n select * from t", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("(SELECT 1)", True),
        ("print 'topic'", True),
        ("SHOW TABLES", False),
        ("SELECTED", False),
        ("-- SELECT\nDROP TABLE t", False),
        ("", False),
    ],
)
def test_statements_with_rows(statement: str, *, rows: bool) -> None:
    assert has_rows(statement) is rows


def test_entities_become_rows_or_a_message() -> None:
    shown = Entities.of(
        b'[{"@type":"streams","statementText":"","streams":[{"name":"A","n":1},{"name":"B"}]}]'
    )
    made = Entities.of(
        b'[{"@type":"currentStatus","commandStatus":{"status":"SUCCESS","message":"made"},"commandSequenceNumber":3}]'
    )

    assert shown.rows == [("A", 1), ("B", None)]
    assert [column.name for column in shown.columns] == ["name", "n"]
    assert (made.message, made.rows, made.columns) == ("made", [], ())
    assert Entities.of(b"[]").rows == []


def test_columns_with_the_names_of_methods_are_found_by_name() -> None:
    row = Row.of(("count", "KEYS", "index"), (1, 2, 3))

    assert (row["count"], row["keys"], row["INDEX"]) == (1, 2, 3)


def test_a_timestamp_with_a_zone_is_read_in_utc() -> None:
    header = Header.of(b'{"queryId":"","columnNames":["AT"],"columnTypes":["TIMESTAMP"]}')

    moment = dt.datetime.fromisoformat("2026-01-02T03:00")
    for text in ("2026-01-02T03:00:00.000Z", "2026-01-02T05:00:00.000+02:00"):
        assert header.row(f'["{text}"]'.encode()) == (moment,)


def test_types_that_the_client_does_not_know_are_an_error_of_the_client() -> None:
    with pytest.raises(InterfaceError, match="GEOMETRY"):
        Header.of(b'{"queryId":"","columnNames":["G"],"columnTypes":["GEOMETRY<"]}')
