"""Cursors of DB-API 2.0, without a server."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, cast

import pytest

from duolog import client
from duolog.client.cursor import Cursor
from duolog.client.errors import NotSupportedError, OperationalError, ProgrammingError
from duolog.client.requests import Header, Request, Token, request_of
from duolog.client.rows import Row
from duolog.client.stream import Stream

_HEADER = Header.of(
    b'{"queryId":"q","columnNames":["ID","AT"],"columnTypes":["STRING","TIMESTAMP"]}'
)


class _Rows(Iterator[Row | Token]):
    header = _HEADER

    def __init__(self, count: int) -> None:
        self._left = iter(range(count))
        self.is_closed = False

    def __next__(self) -> Row | Token:
        return self.header.row(b'["%d",null]' % next(self._left))

    def close(self) -> None:
        self.is_closed = True


class _Connected:
    """A connection whose queries have five rows."""

    def __init__(self) -> None:
        self.properties: dict[str, object] = {}
        self.variables: dict[str, str] = {}
        self.streams: list[_Rows] = []

    def ensure_open(self) -> None: ...

    def post(self, request: Request) -> bytes:
        return b"[]"

    def stream(self, request: Request) -> Stream:
        self.streams.append(_Rows(5))
        return cast("Stream", self.streams[-1])


def test_fetchmany_of_none_returns_none() -> None:
    cursor = Cursor(_Connected()).execute("SELECT 1")

    assert cursor.fetchmany(0) == []
    assert len(cursor.fetchmany(2)) == 2
    assert len(cursor.fetchall()) == 3


def test_executemany_of_a_query_is_refused_and_ends_it() -> None:
    connection = _Connected()

    with pytest.raises(ProgrammingError, match="without rows"):
        Cursor(connection).executemany("SELECT ?", [(1,), (2,)])

    assert [one.is_closed for one in connection.streams] == [True]


def test_executemany_without_rows_forgets_the_statement_before() -> None:
    cursor = Cursor(_Connected()).execute("SELECT 1")

    cursor.executemany("INSERT INTO s VALUES (?)", [])

    assert (cursor.rowcount, cursor.description) == (0, None)


def test_print_is_refused() -> None:
    with pytest.raises(NotSupportedError, match="PRINT"):
        Cursor(_Connected()).execute("PRINT 'topic'")


@pytest.mark.parametrize(
    ("statement", "sent"),
    [
        ("SHOW TABLES", "SHOW TABLES;"),
        ("SHOW TABLES; ", "SHOW TABLES; "),
        ("SHOW TABLES -- all", "SHOW TABLES -- all\n;"),
    ],
)
def test_the_last_semicolon_is_not_part_of_a_comment(statement: str, sent: str) -> None:
    assert request_of(statement, {}, {}).body["ksql"] == sent


def test_the_module_has_the_types_and_constructors_of_pep_249() -> None:
    cursor = Cursor(_Connected()).execute("SELECT 1")
    kinds: Any = [column[1] for column in cursor.description or ()]

    assert [one == client.STRING for one in kinds] == [True, False]
    assert [one == client.DATETIME for one in kinds] == [False, True]
    assert client.NUMBER == "DECIMAL(10, 2)"
    assert client.BINARY == "BYTES"
    assert client.ROWID != "BIGINT"
    assert client.Date(2026, 1, 31) == dt.date(2026, 1, 31)
    assert client.Timestamp(2026, 1, 31, 10, 15, 0).isoformat() == "2026-01-31T10:15:00"
    assert client.TimestampFromTicks(0.0) == dt.datetime(1970, 1, 1)  # noqa: DTZ001 - TIMESTAMP is UTC
    assert client.Binary(b"a") == b"a"


def test_an_error_without_a_number_has_that_of_its_status() -> None:
    error = client.errors.error_of(401, None)

    assert isinstance(error, OperationalError)
    assert error.code == 40100
