"""Cursors of DB-API 2.0, without a server."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from duolog import client
from duolog.client.connection import connect
from duolog.client.cursor import Cursor
from duolog.client.errors import NotSupportedError, OperationalError, ProgrammingError
from duolog.client.requests import Header, Request, Token, request_of
from duolog.client.rows import Row
from duolog.client.stream import Stream

_HEADER = Header.of(
    b'{"queryId":"q","columnNames":["ID","AT"],"columnTypes":["STRING","TIMESTAMP"]}'
)


_LINES = tuple(b'["%d",null]' % number for number in range(5))


class _Rows(Iterator[Row | Token]):
    def __init__(self, header: Header, lines: Sequence[bytes]) -> None:
        self.header = header
        self._lines = iter(lines)
        self.is_closed = False

    def __next__(self) -> Row | Token:
        return self.header.row(next(self._lines))

    def close(self) -> None:
        self.is_closed = True


class _Connected:
    """A connection whose queries have five rows, and whose statements have an answer."""

    def __init__(
        self, header: Header = _HEADER, lines: Sequence[bytes] = _LINES, answer: bytes = b"[]"
    ) -> None:
        self._query = header, lines
        self._answer = answer
        self.properties: dict[str, object] = {}
        self.variables: dict[str, str] = {}
        self.streams: list[_Rows] = []

    def ensure_open(self) -> None: ...

    def post(self, request: Request) -> bytes:
        return self._answer

    def stream(self, request: Request) -> Stream:
        self.streams.append(_Rows(*self._query))
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


def test_a_connection_runs_a_statement_with_many_parameters() -> None:
    with (
        connect("http://127.0.0.1:1") as connection,
        pytest.raises(OperationalError, match="no answer from"),
    ):
        connection.executemany("INSERT INTO s VALUES (?)", [(1,)])


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


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("TIME", '"00:00:01.500"', 1500),
        ("ARRAY<TIME>", '["00:00:01.500",null]', [1500, None]),
        ("MAP<STRING, TIME>", '{"a":"00:00:01"}', [("a", 1000)]),
        ("STRUCT<`T` TIME, `N` INTEGER>", '{"T":"00:00:01","N":2}', {"T": 1000, "N": 2}),
        ("ARRAY<INTEGER>", "[1]", [1]),
    ],
)
def test_frames_have_times_as_milliseconds_at_any_depth(
    kind: str, value: str, found: object
) -> None:
    columns = {"queryId": "q", "columnNames": ["A"], "columnTypes": [kind]}
    header = Header.of(json.dumps(columns).encode())
    connection = _Connected(header, [f"[{value}]".encode(), b"[null]"])

    table = Cursor(connection).execute("SELECT a FROM s").fetch_arrow()

    assert table["A"].to_pylist() == [found, None]


def test_what_a_statement_shows_has_the_types_of_its_values() -> None:
    shown = (
        b'[{"@type":"streams","streams":[{"name":"A","windowed":false,"n":3,"share":0.5,"keys":["K"],'
        b'"mixed":1},{"name":"B","windowed":true,"n":4,"share":1,"keys":[],"mixed":"x","more":null}]}]'
    )
    cursor = Cursor(_Connected(answer=shown)).execute("SHOW STREAMS")

    kinds = {column[0]: column[1] for column in cursor.description or ()}
    table = cursor.fetch_arrow().to_pylist()

    assert kinds == {
        "name": "STRING", "windowed": "BOOLEAN", "n": "BIGINT", "share": "DOUBLE", "keys": "STRING",
        "mixed": "STRING", "more": "STRING",
    }  # fmt: skip
    assert table == [
        {"name": "A", "windowed": False, "n": 3, "share": 0.5, "keys": '["K"]', "mixed": "1", "more": None},
        {"name": "B", "windowed": True, "n": 4, "share": 1.0, "keys": "[]", "mixed": "x", "more": None},
    ]  # fmt: skip
