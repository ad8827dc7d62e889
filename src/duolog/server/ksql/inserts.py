"""Rows of /inserts-stream: objects of JSON that are inserted in their order, each acknowledged.

    {"target": "orders"}          the stream; then a row per line
    {"id": "a", "n": 1}           {"status":"ok","seq":0}
    {"id": "a", "n": "x"}         {"status":"error","seq":1,"error_code":40001,"message":…}

Clients that accept application/json get the acknowledgements as one array.

Rows that have arrived together are written together. Each is acknowledged after its own record is
durable, and after the rows before it. The stream ends with its first error.

A row is inserted as by INSERT … VALUES, with the same conversions; BYTES are base64. Names are in
upper case unless they are quoted with backquotes.

Threads: one at a time.

Source: ksqlDB's documentation of /inserts-stream.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from duolog.core.errors import DuologError
from duolog.ksql.statements.state import InsertedText
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import parse
from duolog.plan.types import BYTES, Array, Map, Struct, Type
from duolog.server.errors import RequestRefused
from duolog.server.failures import bad_request, failure_of
from duolog.server.ksql.requests import json_object
from duolog.server.ksql.statements import StatementSession

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED: Final = re.compile(r"`[^`]+`")
_EXPONENT_MAX: Final = 400
"""Of numbers. Those of DOUBLE are smaller, and `1e999999999` has a billion digits in SQL."""


class RowInserts:
    """The rows that one client inserts into a stream.

    Raises:
        RequestRefused: there is no such stream.
    """

    def __init__(self, session: StatementSession, target: str) -> None:
        self._session = session
        name = _name(target)
        source = session.sandbox().catalog.sources.get(name)
        if source is None:
            raise bad_request(f"Cannot insert values into an unknown stream: {name}")
        if source.is_table:
            raise bad_request("Cannot insert into a table")
        self._target = name
        self._types = {column.name: column.type for column in source.columns}
        self._next = 0
        self.failed = False
        """True after a row that could not be inserted."""

    def insert(self, lines: Sequence[bytes]) -> list[bytes]:
        """Insert the rows of lines; return their acknowledgements, each an object of JSON.

        An error is the last one: later rows are not acknowledged.
        """
        rows: list[InsertedText] = []
        refused: DuologError | None = None
        try:
            # The rows before an error stay in the list.
            rows.extend(self._row(json_object(line)) for line in lines)
        except DuologError as error:
            refused = error
        outcomes: list[DuologError | None] = []
        try:
            outcomes += self._session.insert_all(rows) if rows else ()
        except DuologError as error:
            outcomes.append(error)
        return self._acknowledged(outcomes if refused is None else [*outcomes, refused])

    def _acknowledged(self, outcomes: Sequence[DuologError | None]) -> list[bytes]:
        acks: list[bytes] = []
        for outcome in outcomes:
            number, self._next = self._next, self._next + 1
            if outcome is None:
                acks.append(_json({"status": "ok", "seq": number}))
            else:
                acks.append(self._error(number, failure_of(outcome)))
                break
        return acks

    def refused(self, refused: RequestRefused) -> bytes:
        """Return the acknowledgement of the next row, which is not inserted."""
        return self._error(self._next, refused)

    def _row(self, row: dict[str, Any]) -> InsertedText:
        """Return the statement that inserts a row.

        Raises:
            RequestRefused: a value is not one of its column, or a name is not one.
        """
        values = {_name(name): value for name, value in row.items()}
        if len(values) < len(row):
            raise bad_request("Two members of the row name the same column")
        # Columns that do not exist are refused by the statement.
        written = [_written(value, self._types.get(name)) for name, value in values.items()]
        columns = ", ".join(map(_identifier, values))
        # Names are checked, and strings are escaped.
        into = f"INSERT INTO {_identifier(self._target)} ({columns}) "
        text = f"{into}VALUES ({', '.join(written)});"
        (node,) = parse(text)
        assert isinstance(node, nodes.InsertValues), node
        return node, text

    def _error(self, number: int, refused: RequestRefused) -> bytes:
        self.failed = True
        told = {"error_code": refused.code, "message": refused.message}
        return _json({"status": "error", "seq": number, **told})


def _written(value: Any, of: Type | None) -> str:  # noqa: PLR0911 - a table of cases
    """Return a value of JSON as an expression of SQL."""
    match of, value:
        case _, None:
            return "NULL"
        case _, bool():
            return "TRUE" if value else "FALSE"
        case _, int():
            return str(value)
        case _, Decimal():
            if abs(value.adjusted()) > _EXPONENT_MAX:
                raise bad_request(f"The number {value:.1E} is out of range")
            return f"{value:f}"
        case _, str() if of == BYTES:
            return f"TO_BYTES({_text(value)}, 'base64')"
        case _, str():
            return _text(value)
        case Array(element=element), list():
            return f"ARRAY[{', '.join(_written(one, element) for one in value)}]"
        case Map(value=inner), dict():
            entries = (f"{_text(name)} := {_written(one, inner)}" for name, one in value.items())
            return f"MAP({', '.join(entries)})"
        case Struct(fields=fields), dict():
            given = {_name(name): one for name, one in value.items()}
            parts = (
                f"{_identifier(one.name)} := {_written(given.get(one.name), one.type)}"
                for one in fields
            )
            return f"STRUCT({', '.join(parts)})"
        case _:
            raise bad_request(f"Can't coerce a field of type {type(value).__name__} to {of}")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(written: str) -> str:
    """Return the name that a client means.

    Raises:
        RequestRefused: it is not a name.
    """
    if _QUOTED.fullmatch(written):
        return written[1:-1]
    if not _WORD.fullmatch(written):
        raise bad_request(f"Not a name: {written!r}. Quote it with backquotes.")
    return written.upper()


def _identifier(name: str) -> str:
    return f"`{name}`"


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
