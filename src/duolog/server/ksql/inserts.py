"""Rows of /inserts-stream: objects of JSON that are inserted in their order, each acknowledged.

    {"target": "orders"}          the stream; then a row per line
    {"id": "a", "n": 1}           {"status":"ok","seq":0}
    {"id": "a", "n": "x"}         {"status":"error","seq":1,"error_code":40001,"message":…}

Clients that accept application/json get the acknowledgements as one array.

Rows that have arrived together are written together. Each is acknowledged after its own record is
durable, and after the rows before it. The stream ends with its first error.

A row is inserted as by INSERT … VALUES, with the same conversions; BYTES are base64. Names are in
upper case unless they are quoted with backquotes. Columns that a row does not have are null.

Threads: one at a time.

Source: ksqlDB's documentation of /inserts-stream.
"""

import json
from collections.abc import Sequence
from typing import Any

from duolog.core.errors import DuologError
from duolog.ksql.syntax import nodes
from duolog.server.errors import RequestRefused
from duolog.server.failures import bad_request, failure_of
from duolog.server.ksql.requests import json_object
from duolog.server.ksql.row_nodes import insert_of, name_of
from duolog.server.ksql.statements import StatementSession


class RowInserts:
    """The rows that one client inserts into a stream.

    Raises:
        RequestRefused: there is no such stream.
    """

    def __init__(self, session: StatementSession, target: str) -> None:
        self._session = session
        name = name_of(target)
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
        rows: list[nodes.InsertValues] = []
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

    def _row(self, row: dict[str, Any]) -> nodes.InsertValues:
        """Return the statement that inserts a row.

        Raises:
            RequestRefused: a value is not one of its column, or a name is not one.
            SqlError: a number is out of range.
        """
        values = {name_of(name): value for name, value in row.items()}
        if len(values) < len(row):
            raise bad_request("Two members of the row name the same column")
        return insert_of(self._target, values, self._types)

    def _error(self, number: int, refused: RequestRefused) -> bytes:
        self.failed = True
        told = {"error_code": refused.code, "message": refused.message}
        return _json({"status": "error", "seq": number, **told})


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
