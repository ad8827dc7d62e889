"""The messages of a query over a WebSocket, as lines, one per message.

    [{"name":"ID","schema":{"type":"STRING","fields":null,"memberSchema":null}}]     the columns
    {"row":{"columns":["a"]}}
    {"error":"done"}                                                                 the end

PRINT sends its lines as strings. The last message is an object with the member `error`: the reason
of the end, whole, of which the frame that closes the WebSocket has the first 123 bytes.

Source: ksqlDB's tests of its REST API over WebSockets.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from duolog.ksql.syntax.script import type_written
from duolog.runtime.sql.answers import DeletedRow
from duolog.server.errors import RequestRefused
from duolog.server.ksql.schema_json import type_json
from duolog.server.queries.printed_lines import printed_lines
from duolog.server.queries.started import Column, StartedQuery
from duolog.server.queries.values import row_json, writers_of

LINES: Final = "text/plain; charset=utf-8"
DONE: Final = "done"
_END: Final = b'{"error":'
"""Start of the last line; those of columns, rows and tokens differ from it."""


class SocketRows:
    """Writes a query; see `RowForm`."""

    content_type = LINES

    def __init__(self, query: StartedQuery) -> None:
        self._columns = query.columns
        self._writers = writers_of(query.types)

    def begin(self) -> bytes:
        return _line([_field(column) for column in self._columns])

    def row(self, row: Sequence[object]) -> bytes:
        mark = ',"tombstone":true' if isinstance(row, DeletedRow) else ""
        return f'{{"row":{{"columns":{row_json(row, self._writers)}{mark}}}}}\n'.encode()

    def end(self, message: str = "") -> bytes:
        del message
        return _line({"error": DONE})

    def token(self, token: str) -> bytes:
        return _line({"continuationToken": {"continuationToken": token}})

    def failed(self, failure: RequestRefused) -> bytes:
        return _line({"error": failure.message})


def socket_form(query: StartedQuery, _accept: str) -> SocketRows:
    """Return the form of a query over a WebSocket."""
    return SocketRows(query)


def socket_prints(query: StartedQuery) -> Iterator[bytes]:
    """Yield the lines of PRINT, each as a string of JSON, and the end."""
    for piece in printed_lines(query.rows):
        for line in _lines_of(piece):
            yield _line(line)
    yield _line({"error": DONE})


def reason_of(line: bytes) -> str | None:
    """Return the reason of the end if a line is the last one, else None."""
    return str(json.loads(line)["error"]) if line.startswith(_END) else None


def last_line(reason: str) -> bytes:
    """Return the last message, without the end of its line."""
    return _line({"error": reason}).rstrip()


def _lines_of(piece: bytes) -> list[str]:
    """Return a record as one line: a value may have the character that ends lines."""
    text = piece.decode().removesuffix("\n")
    return text.split("\n") if text.startswith("Key format: ") else [text]


def _field(column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {"name": column.name, "schema": type_json(type_written(column.type))}
    role = column.role.strip()
    return made | {"type": role} if role == "KEY" else made


def _line(value: object) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n".encode()
