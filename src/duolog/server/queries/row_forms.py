"""The forms in which clients read a query: the bytes of its header, of each row, and of its end.

    /query           [{"header":{"queryId":…,"schema":…}},
                     {"row":{"columns":[1,"a"]}},
                     {"finalMessage":"Limit Reached"}]
    delimited        {"queryId":…,"columnNames":[…],"columnTypes":[…]}
                     [1,"a"]
    array            [{"queryId":…,"columnNames":[…],"columnTypes":[…]},
                     [1,"a"]]

Each line is sent as soon as it is known: a client reads rows while the query runs.

Source: ksqlDB's documentation of the endpoints /query and /query-stream.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from duolog.runtime.sql.answers import DeletedRow
from duolog.server.errors import RequestRefused
from duolog.server.queries.protobuf_rows import ProtobufRows
from duolog.server.queries.started import StartedQuery
from duolog.server.queries.values import row_json, text_json, writers_of

OBJECTS: Final = "application/vnd.ksql.v1+json"
DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
ARRAY: Final = "application/json"
PROTOBUF: Final = "application/vnd.ksql.v1+protobuf"
_FORMS: Final = frozenset({OBJECTS, DELIMITED, ARRAY, PROTOBUF})
_ANY: Final = frozenset({"*/*", "application/*"})
_WEIGHT: Final = re.compile(r"[01](\.[0-9]{0,3})?")
"""Of a content type, by RFC 9110; others are as good as none."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
_TOKEN: Final = "continuationToken"  # noqa: S105 - the name of a member


class RowForm(Protocol):
    """Writes one query. Each method returns bytes to send, possibly none."""

    content_type: str

    def begin(self) -> bytes:
        """Return the header."""

    def row(self, row: Sequence[object]) -> bytes:
        """Return a row."""

    def end(self, message: str = "") -> bytes:
        """Return the end, after a final message if it is not empty."""

    def token(self, token: str) -> bytes:
        """Return a continuation token, with which a client continues after the rows so far."""

    def failed(self, failure: RequestRefused) -> bytes:
        """Return the end of a query that has failed after its header."""


class ObjectRows:
    """A JSON array of objects, one per line: the form of /query.

    Each line of a query that ends with a message is complete as soon as it is sent, for clients
    that read line by line; the rows of other queries are sent together.
    """

    content_type = OBJECTS

    def __init__(self, query: StartedQuery) -> None:
        self._query = query
        self._writers = writers_of(query.types)
        self._before, self._after = ("", ",\n") if query.reports_end else (",\n", "")

    def begin(self) -> bytes:
        return f'[{{"header":{_json(self._header())}}}{self._after}'.encode()

    def row(self, row: Sequence[object]) -> bytes:
        mark = ',"tombstone":true' if isinstance(row, DeletedRow) else ""
        return self._line(f'{{"row":{{{self._written(row)}{mark}}}}}')

    def token(self, token: str) -> bytes:
        return self._line(f'{{"continuationToken":{_json({_TOKEN: token})}}}')

    def end(self, message: str = "") -> bytes:
        final = f'{self._before}{{"finalMessage":{text_json(message)}}}' if message else ""
        return f"{final}]\n".encode()

    def failed(self, failure: RequestRefused) -> bytes:
        return f'{self._before}{{"errorMessage":{_json(failure.body())}}}]\n'.encode()

    def _line(self, value: str) -> bytes:
        return f"{self._before}{value}{self._after}".encode()

    def _written(self, row: Sequence[object]) -> str:
        return f'"columns":{row_json(row, self._writers)}'

    def _header(self) -> dict[str, str]:
        return {"queryId": self._query.query_id, "schema": self._query.schema}


class ProtobufObjects(ObjectRows):
    """The same, with each row as bytes of Protobuf in base64; the header has their schema."""

    content_type = PROTOBUF

    def __init__(self, query: StartedQuery) -> None:
        super().__init__(query)
        self._rows = ProtobufRows([(one.name, one.type) for one in query.columns])

    def _written(self, row: Sequence[object]) -> str:
        return f'"protobufBytes":"{self._rows.encoded(row)}"'

    def _header(self) -> dict[str, str]:
        return super()._header() | {"protoSchema": self._rows.schema}


class DelimitedRows:
    """A line of JSON for the header and for each row: the form of /query-stream."""

    content_type = DELIMITED

    def __init__(self, query: StartedQuery) -> None:
        self._query = query
        self._writers = writers_of(query.types)

    def begin(self) -> bytes:
        return f"{_json(_metadata(self._query))}\n".encode()

    def row(self, row: Sequence[object]) -> bytes:
        return f"{row_json(row, self._writers)}\n".encode()

    def end(self, message: str = "") -> bytes:
        return b""

    def token(self, token: str) -> bytes:
        return f"{_json({_TOKEN: token})}\n".encode()

    def failed(self, failure: RequestRefused) -> bytes:
        return f"{_json(failure.body())}\n".encode()


class ArrayRows(DelimitedRows):
    """The same as one JSON array."""

    content_type = ARRAY

    def begin(self) -> bytes:
        return f"[{_json(_metadata(self._query))}".encode()

    def row(self, row: Sequence[object]) -> bytes:
        return f",\n{row_json(row, self._writers)}".encode()

    def end(self, message: str = "") -> bytes:
        return b"]\n"

    def token(self, token: str) -> bytes:
        return f",\n{_json({_TOKEN: token})}".encode()

    def failed(self, failure: RequestRefused) -> bytes:
        return f",\n{_json(failure.body())}]\n".encode()


def query_form(query: StartedQuery, accept: str) -> RowForm:
    """Return the form of a response of /query: objects unless another form is preferred."""
    forms: dict[str, Callable[[StartedQuery], RowForm]] = {
        PROTOBUF: ProtobufObjects,
        DELIMITED: DelimitedRows,
    }
    return forms.get(_first_of(accept), ObjectRows)(query)


def stream_form(query: StartedQuery, accept: str) -> RowForm:
    """Return the form of a response of /query-stream: delimited unless another is preferred."""
    forms: dict[str, Callable[[StartedQuery], RowForm]] = {
        PROTOBUF: ProtobufObjects,
        OBJECTS: ObjectRows,
        ARRAY: ArrayRows,
    }
    return forms.get(_first_of(accept), DelimitedRows)(query)


def accepts_array(accept: str) -> bool:
    """Return true if a client prefers one JSON array to lines.

    Example:
        >>> accepts_array("application/json"), accepts_array("*/*")
        (True, False)
    """
    return _first_of(accept) == ARRAY


def _first_of(accept: str) -> str:
    """Return the content type that a client prefers; empty for the usual one of the endpoint.

    Other types are ignored, also if the client accepts nothing else: there are clients that copy
    `application/vnd.ksql.v2+json` from ksqlDB's documentation.

    Example:
        >>> _first_of("application/json; q=0.5, application/vnd.ksqlapi.delimited.v1")
        'application/vnd.ksqlapi.delimited.v1'
    """
    found = next((one for one in _accepted(accept) if one in _FORMS or one in _ANY), "")
    return "" if found in _ANY else found


def _accepted(header: str) -> list[str]:
    """Return the content types of an Accept header, the preferred ones first."""
    found: list[tuple[float, str]] = []
    for part in header.split(","):
        name, *parameters = (one.strip().lower() for one in part.split(";"))
        text = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        weight = float(text) if _WEIGHT.fullmatch(text) else 1.0
        if name and weight:
            found.append((-weight, name))
    return [name for _, name in sorted(found, key=lambda one: one[0])]


def _metadata(query: StartedQuery) -> dict[str, Any]:
    return {
        "queryId": query.query_id,
        "columnNames": [one.name for one in query.columns],
        "columnTypes": [one.type for one in query.columns],
    }


def _json(value: object) -> str:
    return _ENCODER.encode(value)
