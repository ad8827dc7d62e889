"""Decode records of a source as rows: key, window bounds, value, headers, metadata.

The columns are those of `duck.queries.source_columns`, in their order.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn
from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.timestamp_literals import millis_of
from duolog.ksql.planning.sources import source_schema
from duolog.ksql.syntax.words import ROWTOPIC
from duolog.plan.formats import NONE as NO_KEY
from duolog.plan.nodes import StreamSource
from duolog.runtime.topic_values import TopicValues
from duolog.serde.row import Row
from duolog.serde.times import milliseconds_of
from duolog.serde.wire_format import OF_A_REGISTRY


class Received(Protocol):
    """A record, as confluent_kafka passes it."""

    def key(self) -> object: ...
    def value(self) -> object: ...
    def headers(self) -> object: ...
    def timestamp(self) -> tuple[int, int]: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...


TimeOf = Callable[[Row, int], int]
"""Returns the timestamp of a row, given the row and the record's timestamp, in milliseconds."""


class SourceRows:
    """Decodes records of one source with a single topic.

    Raises:
        SqlError: its format needs a schema registry, or its timestamps are not supported here.
    """

    def __init__(self, source: SourceInfo) -> None:
        schema = source_schema(source)
        key_format = plan_format(source.key_format) if source.key else NO_KEY
        node = StreamSource(
            "source", source.topic, schema, key_format, plan_format(source.value_format)
        )
        self.source = source
        self._values = TopicValues([node])
        self._no_key: Row = (None,) * len(schema.key)
        self._headers = source.headers
        formats = node.key_format.name, node.value_format.name
        self.is_framed = not {*formats}.isdisjoint(OF_A_REGISTRY)
        self._time_of = _time_of(source)
        self._has_value = bool(source.value)
        taken = ROWTOPIC in {column.name for column in source.columns}
        self._topic: Row = () if taken else (source.topic,)

    def key(self, message: Received) -> Row:
        """Return the key columns and window bounds.

        Raises:
            SerdeError: the bytes are not a key.
        """
        return self._values.key_row(_bytes(message.key()), self._frames(message)) or self._no_key

    def row(self, message: Received, key: Row) -> Row | None:
        """Return the row of a record with this key; None for a null value.

        Raises:
            SerdeError: the bytes are not a value, or the record has no timestamp.
        """
        value = self._values.value_row(_bytes(message.value()), self._frames(message))
        if value is None:
            if self._has_value or message.value() is None:
                return None
            value = ()
        _, own_ms = message.timestamp()
        time_ms = self._time_of(key + value, own_ms)
        headers = tuple(_header(column, message) for column in self._headers)
        place = message.partition(), message.offset()
        return (*key, *value, *headers, *self._topic, time_ms, *place)

    def _frames(self, message: Received) -> Sequence[tuple[str, bytes | None]]:
        """Return the headers that may contain the frame of a schema."""
        return headers_of(message) if self.is_framed else ()


def _bytes(data: object) -> bytes | None:
    assert data is None or isinstance(data, bytes), data
    return data


def headers_of(message: Received) -> list[tuple[str, bytes | None]]:
    """Return the headers of a record."""
    headers = message.headers() or []
    assert isinstance(headers, list), headers
    # A consumer returns bytes; only a producer accepts str, too.
    return cast("list[tuple[str, bytes | None]]", headers)


def _header(column: SqlColumn, message: Received) -> object:
    headers = headers_of(message)
    if column.role == "HEADERS":
        return [{"KEY": name, "VALUE": value} for name, value in headers]
    found = [value for name, value in headers if name == column.header]
    return found[-1] if found else None


def _time_of(source: SourceInfo) -> TimeOf:
    given = source.timestamp
    if given is None:
        return lambda _row, own_ms: own_ms
    if given.pattern is not None:
        raise SqlError(
            f"ROWTIME of {source.name} is parsed by a pattern, which is not supported in pull "
            "queries",
            hint="Query the result of a persistent query over it.",
        )
    names = [column.name for column in source.key]
    names += ["", ""] if source.window is not None else []
    at = [*names, *(column.name for column in source.value)].index(given.name)

    def read(row: Row, _own_ms: int) -> int:
        match row[at]:
            case int() as millis:
                return millis
            case dt.datetime() as moment:
                return milliseconds_of(moment)
            case str() as text:
                return _written_time(text)
            case _:
                raise SerdeError("the record has no timestamp")

    return read


def _written_time(text: str) -> int:
    try:
        return millis_of(text)
    except ValueError as error:
        raise SerdeError(
            "the record has no timestamp", detail=f"{text!r} is not a timestamp."
        ) from error
