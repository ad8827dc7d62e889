"""The interface of serdes, and the serdes by the name of their format.

A row is a tuple of values in the order of the columns. A missing row is None, and its bytes are
None: a tombstone as a value, a record without key as a key.
"""

from typing import Final, Literal, Protocol

from duolog.core.counts import counted_are
from duolog.core.errors import SerdeError
from duolog.core.types import Column
from duolog.core.windowed_key import BOUND_BYTES, NO_END, WindowedKey
from duolog.schemas.source import SchemaSource, source_at
from duolog.serde.delimited import COMMA, DelimitedSerde
from duolog.serde.json import JsonSerde
from duolog.serde.kafka import KafkaSerde
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.row import Row

OF_SCHEMAS: Final = ("AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR")
"""Formats whose bytes have a schema."""
Options = tuple[tuple[str, str], ...]
"""Names and values, as in a plan's `Format`."""


class Serde(Protocol):
    """Serializes and deserializes rows of fixed columns."""

    def serialize(self, row: Row | None) -> bytes | None:
        """Return the bytes of a row.

        Raises:
            SerdeError: a value is not of its column's type.
        """

    def deserialize(self, data: bytes | None) -> Row | None:
        """Return the row that `data` contains.

        Raises:
            SerdeError: it does not contain these columns.
        """


class NoneSerde:
    """Format NONE: carries and reads nothing."""

    def serialize(self, row: Row | None) -> bytes | None:
        return None

    def deserialize(self, data: bytes | None) -> Row | None:
        return None


class WindowedSerde:
    """Windowed keys: rows that end with start and end of a window.

    Source: Kafka Streams `TimeWindowedSerializer`, `SessionWindowedSerializer`.
    """

    def __init__(self, inner: Serde, window: WindowedKey) -> None:
        self._inner = inner
        self._window = window

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None:
            return None
        *key, start, end = row
        bounds = (start,) if self._window.size_ms is not None else (end, start)
        return (self._inner.serialize(tuple(key)) or b"") + b"".join(map(_bound, bounds))

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        if len(data) < self._window.bytes:
            raise SerdeError(f"{counted_are(len(data), 'byte')} not a windowed key")
        key = self._inner.deserialize(data[: -self._window.bytes])
        if key is None or all(column is None for column in key):
            return None
        start = _at(data[-BOUND_BYTES:])
        if self._window.size_ms is not None:
            return (*key, start, min(NO_END, start + self._window.size_ms))
        return (*key, start, _at(data[-self._window.bytes : -BOUND_BYTES]))


def _bound(at: object) -> bytes:
    assert isinstance(at, int), at
    return at.to_bytes(BOUND_BYTES, "big", signed=True)


def _at(bound: bytes) -> int:
    return int.from_bytes(bound, "big", signed=True)


def key_serde(
    format_name: str,
    columns: tuple[Column, ...],
    window: WindowedKey | None = None,
    options: Options = (),
) -> Serde:
    """Return the serde of keys. A single column in JSON is a bare JSON value.

    A key whose columns are all null is a null key. With `window`, the last two columns are a
    window's bounds. `options` are those of a plan's `Format`.
    """
    if window is not None:
        return WindowedSerde(key_serde(format_name, columns[:-2], options=options), window)
    if format_name == "JSON":
        return _json_serde(columns, options, bare=len(columns) == 1)
    if format_name in OF_SCHEMAS:
        return _schema_serde(format_name, columns, options, bare=len(columns) == 1)
    return _plain_serde(format_name, columns, options, key=True)


def value_serde(format_name: str, columns: tuple[Column, ...], options: Options = ()) -> Serde:
    """Return the serde of values; `options` are those of a plan's `Format`.

    Example:
        >>> from duolog.core.types import parse_columns
        >>> value_serde("JSON", parse_columns("dest STRING, delay BIGINT")).serialize(("SFO", None))
        b'{"dest":"SFO","delay":null}'
    """
    bare = dict(options).get("single") == "bare" and len(columns) == 1
    if format_name == "JSON":
        return _json_serde(columns, options, bare=bare)
    if format_name in OF_SCHEMAS:
        return _schema_serde(format_name, columns, options, bare=bare)
    return _plain_serde(format_name, columns, options, key=False)


def _json_serde(columns: tuple[Column, ...], options: Options, *, bare: bool) -> Serde:
    if dict(options).get("dialect") == "ksqldb":
        return KsqlJsonSerde(columns, bare=bare)
    return JsonSerde(columns, bare=bare)


def _schema_serde(
    format_name: str, columns: tuple[Column, ...], options: Options, *, bare: bool
) -> Serde:
    """Return the serde of a format whose bytes have a schema; its library is loaded here."""
    given = dict(options)
    number = given.get("id")
    schema_id, schema = None if number is None else int(number), given.get("schema")
    if format_name == "JSON_SR":
        from duolog.serde.json_sr import JsonSrSerde  # noqa: PLC0415

        return JsonSrSerde(columns, schema_id=schema_id, schema=schema, bare=bare)
    if format_name == "PROTOBUF_NOSR":
        from duolog.serde.protobuf import PlainProtobufSerde  # noqa: PLC0415

        return PlainProtobufSerde(columns, _nullable(given.get("nullable")))
    source = _source(given.get("registry"), format_name)
    if format_name == "PROTOBUF":
        from duolog.serde.protobuf import ProtobufSerde  # noqa: PLC0415

        return ProtobufSerde(columns, source, schema_id=schema_id, message=given.get("message"))
    from duolog.serde.avro import AvroSerde  # noqa: PLC0415

    return AvroSerde(columns, source, schema_id=schema_id, schema=schema, bare=bare)


def _nullable(given: str | None) -> Literal["optional", "wrapper"] | None:
    assert given in {None, "optional", "wrapper"}, given
    return "optional" if given == "optional" else "wrapper" if given else None


def _source(address: str | None, format_name: str) -> SchemaSource:
    if address is None:
        raise SerdeError(
            f"format {format_name} needs a schema registry",
            hint="Set ksql.schema.registry.url to its address.",
        )
    return source_at(address)


def _plain_serde(
    format_name: str, columns: tuple[Column, ...], options: Options, *, key: bool
) -> Serde:
    if format_name == "KAFKA":
        return KafkaSerde(columns)
    if format_name == "DELIMITED":
        return DelimitedSerde(columns, delimiter=dict(options).get("delimiter", COMMA), key=key)
    if format_name == "NONE":
        return NoneSerde()
    raise SerdeError(f'unknown format "{format_name}"', hint="Use JSON, KAFKA, DELIMITED or NONE.")
