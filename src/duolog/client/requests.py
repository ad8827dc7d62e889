"""Requests to the server, and the meaning of its answers; without any I/O.

    SELECT              POST /query-stream   a line for the header, then one per row
    other statements    POST /ksql           entities
    rows to insert      POST /inserts-stream a line per row, and one per acknowledgement; a new
                                             request after 2,000 rows

Source: ksqlDB's documentation of its REST API.
"""

import base64
import datetime as dt
import json
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

from duolog.client.errors import DataError, InterfaceError, NotSupportedError, error_of
from duolog.client.rows import Row
from duolog.client.values import Reader, readers_of, type_of, values_of
from duolog.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING, Column, Type

QUERY: Final = "/query-stream"
STATEMENTS: Final = "/ksql"
INSERTS: Final = "/inserts-stream"
CLOSE: Final = "/close-query"
DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
ENTITIES: Final = "application/vnd.ksql.v1+json"
OFFSET_RESET: Final = "auto.offset.reset"
SUBSTITUTION: Final = "ksql.variable.substitution.enable"
TOKENS: Final = "ksql.query.push.v2.continuation.tokens.enabled"
TOKEN: Final = "request.ksql.query.push.continuation.token"  # noqa: S105 - a name
ROWS_PER_REQUEST: Final = 2_000
"""Rows of a request to insert. The acknowledgements of these fit into the buffers of a connection,
and are read after the last row: with more, the server could not send them, and would stop to read.
"""
_STATUS: Final = 100
_BLANK: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_ROWS: Final = re.compile(r"(?:SELECT|WITH|PRINT|\()\b|\(", re.IGNORECASE)
_PRINT: Final = re.compile(r"PRINT\b", re.IGNORECASE)
_SKIPPED: Final = {"@type", "statementText", "warnings"}


class Request(NamedTuple):
    """A request to send."""

    path: str
    body: Mapping[str, object]
    accept: str


def has_rows(statement: str) -> bool:
    r"""Return true if a statement is a query or PRINT.

    Example:
        >>> has_rows("-- all of them\nselect * from t"), has_rows("SHOW TABLES")
        (True, False)
    """
    return _ROWS.match(statement, _begin(statement)) is not None


def _begin(statement: str) -> int:
    """Return the position of the first character that is not space or comment."""
    blank = _BLANK.match(statement)
    return blank.end() if blank else 0


def request_of(
    statement: str, properties: Mapping[str, object], variables: Mapping[str, str]
) -> Request:
    """Return the request that runs a statement; the last `;` is optional.

    Raises:
        NotSupportedError: the statement is PRINT.
    """
    if _PRINT.match(statement, _begin(statement)):
        raise NotSupportedError(
            "PRINT is not supported by this client",
            hint="Create a stream over the topic and SELECT from it, or use `duolog sql`.",
            statement=statement,
        )
    text = statement.rstrip()
    if text.endswith(";"):
        text = statement
    else:
        # The last line may end with a comment.
        text += "\n;" if "--" in text.rpartition("\n")[2] else ";"
    body: dict[str, object]
    if has_rows(statement):
        body = {"sql": text, "properties": dict(properties)}
        path, accept = QUERY, DELIMITED
    else:
        body = {"ksql": text, "streamsProperties": dict(properties)}
        path, accept = STATEMENTS, ENTITIES
    if variables:
        body["sessionVariables"] = dict(variables)
    return Request(path, body, accept)


def decoded(text: bytes | str) -> Any:
    """Return JSON with all digits of numbers with a point.

    Raises:
        InterfaceError: it is not JSON, so the server is not one for SQL.
    """
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise InterfaceError(
            "the answer is not JSON; the address may be that of another server",
            detail=repr(text[:100]),
        ) from error


def refused(status: int, body: bytes) -> Exception:
    """Return the error of a response with a status other than success."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    return error_of(status, found)


@dataclass(slots=True)
class Header:
    """The first line of a query."""

    query_id: str
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    readers: tuple[Reader, ...]

    @classmethod
    def of(cls, line: bytes | None) -> "Header":
        """Return the header that the first line has; None if there is no line.

        Raises:
            Error: the line has an error instead, or there is none.
        """
        if line is None:
            raise InterfaceError("the server sent an empty answer")
        found = decoded(line)
        if not isinstance(found, dict) or "columnNames" not in found:
            raise error_of(_status_in(found), found)
        names = tuple(found["columnNames"])
        types = tuple(found["columnTypes"])
        columns = tuple(Column(name, type_of(one)) for name, one in zip(names, types, strict=True))
        return cls(str(found.get("queryId") or ""), columns, names, readers_of(types))

    def row(self, line: bytes) -> "Row | Token":
        """Return the row, or the token, that a later line has.

        Raises:
            Error: the line has an error: the query has failed.
        """
        found = decoded(line)
        if isinstance(found, list):
            return Row.of(self.names, values_of(found, self.readers))
        if isinstance(found, dict) and "continuationToken" in found:
            return Token(str(found["continuationToken"]))
        raise error_of(_status_in(found), found)


class Token(NamedTuple):
    """A text with which a new request continues after the rows before it."""

    text: str


def _status_in(found: object) -> int:
    code = found.get("error_code") if isinstance(found, dict) else None
    return code // _STATUS if isinstance(code, int) else 500


@dataclass(slots=True)
class Entities:
    """The answer to statements that are not queries.

    Attributes:
        found: the entities of the server as it sent them.
        message: the message of the last statement, if it has one.
        columns: columns of the table that the last statement shows; empty if it shows none.
        rows: its rows.
    """

    found: list[dict[str, Any]]
    message: str = ""
    columns: tuple[Column, ...] = ()
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, body: bytes) -> "Entities":
        """Return the entities of a response."""
        found = decoded(body)
        if not isinstance(found, list):
            raise InterfaceError("the answer has no list of results", detail=repr(found)[:100])
        entities = cls(found)
        if found:
            entities.message = _message_of(found[-1])
            entities._show(_table_of(found[-1]))
        return entities

    def _show(self, table: Sequence[Mapping[str, Any]]) -> None:
        names = tuple(dict.fromkeys(name for row in table for name in row))
        self.columns = tuple(
            Column(name, _type_of_values([row.get(name) for row in table])) for name in names
        )
        self.rows = [Row.of(names, [row.get(name) for name in names]) for row in table]


def _type_of_values(values: Iterable[object]) -> Type:
    """Return the type of a column that a statement shows: that of all its values, or STRING."""
    kinds = {type(one) for one in values if one is not None}
    if kinds == {bool}:
        return BOOLEAN
    if kinds == {int}:
        return BIGINT
    return DOUBLE if kinds and kinds <= {int, Decimal} else STRING


def _message_of(entity: Mapping[str, Any]) -> str:
    status = entity.get("commandStatus")
    if isinstance(status, dict):
        return str(status.get("message") or "")
    return str(entity.get("message") or "")


def _table_of(entity: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of an entity: those of its only list, or the entity itself."""
    content = {name: value for name, value in entity.items() if name not in _SKIPPED}
    if "commandStatus" in content:
        return []
    lists = [value for value in content.values() if isinstance(value, list)]
    if len(content) == 1 and len(lists) == 1:
        return [row if isinstance(row, dict) else {"value": row} for row in lists[0]]
    objects = [value for value in content.values() if isinstance(value, dict)]
    if len(content) == 1 and len(objects) == 1:
        return [objects[0]]
    return [content] if content else []


def target_line(target: str) -> bytes:
    """Return the first line of a request that inserts rows."""
    return f"{_text({'target': target})}\n".encode()


def insert_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield the lines of rows, given by name of column.

    Raises:
        DataError: a row is not a mapping, or a value cannot be inserted.
    """
    for row in rows:
        if not isinstance(row, Mapping):
            raise DataError(
                f"a row to insert is of type {type(row).__name__}",
                hint='Give a list of rows, each a dict with values by name of column: [{"ID": 1}].',
            )
        yield f"{{{','.join(_member(name, value) for name, value in row.items())}}}\n".encode()


def _member(name: str, value: object) -> str:
    try:
        return f"{_text(name)}:{_text(value)}"
    except (TypeError, ValueError) as error:
        raise DataError(
            f'a value of column "{name}" cannot be inserted', detail=f"{error}."
        ) from error


def _text(value: object) -> str:  # noqa: PLR0911 - a table of cases
    """Return a value as JSON, a Decimal as a number with all its digits."""
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case numbers.Integral():
            return str(int(value))
        case numbers.Real():
            return json.dumps(float(value), allow_nan=False)
        case Decimal():
            if not value.is_finite():
                raise ValueError(f"{value} is not a number of JSON")
            return f"{value:f}"
        case bytes() | bytearray() | memoryview():
            return json.dumps(base64.b64encode(value).decode())
        case dt.datetime():
            in_utc = value if value.tzinfo is None else value.astimezone(dt.UTC)
            return f'"{in_utc.replace(tzinfo=None).isoformat(timespec="milliseconds")}"'
        case dt.date() | dt.time():
            return f'"{value.isoformat()}"'
        case Mapping():
            if not all(isinstance(name, str) for name in value):
                raise TypeError("a name in a dict is not a str")
            return f"{{{','.join(f'{_text(name)}:{_text(one)}' for name, one in value.items())}}}"
        case list() | tuple():
            return f"[{','.join(map(_text, value))}]"
    raise TypeError(f"it is of type {type(value).__name__}")
