"""The lines of PRINT: the guessed formats, then a line for each record.

    Key format: KAFKA_STRING
    Value format: JSON
    rowtime: 2026/01/02 03:04:05.678 Z, key: a, value: {"n":1}, partition: 0
    The server is shutting down

Source: the output of PRINT in ksqlDB's documentation.
"""

from collections.abc import Iterator
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.sql.answers import Rows
from duolog.server.failures import message_of
from duolog.server.queries.started import StartedQuery

_UNKNOWN: Final = "¯\\_(ツ)_/¯ - no data processed"
"""ksqlDB's format of keys or values that are all null."""
CONTENT_TYPE: Final = "text/plain; charset=utf-8"


STOPPED: Final = "The server is shutting down"


def printed_text(query: StartedQuery) -> Iterator[bytes]:
    """Yield the lines, and the reason if they end otherwise than the client has asked for."""
    reason = ""
    try:
        yield from printed_lines(query.rows)
    except DuologError as error:
        reason = message_of(error)
    if query.is_interrupted:
        reason = STOPPED
    if reason:
        yield f"{reason}\n".encode()


def printed_lines(rows: Rows) -> Iterator[bytes]:
    """Yield the lines; the formats are those of the first record, reported again if they change."""
    formats: tuple[object, object] | None = None
    with rows:
        for row in rows:
            one = dict(zip((name for name, _ in rows.columns), row, strict=True))
            found = (one["key format"], one["value format"])
            if found != formats:
                formats = found
                yield _format_lines(*found)
            yield (
                f"rowtime: {one['rowtime']}, key: {one['key']}, value: {one['value']}, "
                f"partition: {one['partition']}\n"
            ).encode()


def _format_lines(key: object, value: object) -> bytes:
    return f"Key format: {key or _UNKNOWN}\nValue format: {value or _UNKNOWN}\n".encode()
