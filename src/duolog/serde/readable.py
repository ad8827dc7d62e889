"""Keys and values of any schema of a registry as text for people: JSON with the fields' own names.

    AVRO, PROTOBUF   {"id":1,"paid":1357034400000}   dates in days, times in ms, bytes as base64
    JSON             the JSON itself
    a single string  the string

Bytes are read with the schema that wrote them. Any thread may use a reader, one at a time.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from duolog.core.errors import SerdeError
from duolog.core.types import STRING, Column, Type
from duolog.schemas.columns import fields_of, type_of
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import JsonSchema
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes
from duolog.schemas.schema import Language, Schema
from duolog.serde import avro, protobuf
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.walk import times_as_numbers, walked_reader
from duolog.serde.wire_format import unframed

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema


class Readable(NamedTuple):
    """A key or value as text, and the language of its schema.

    Attributes:
        is_string: True if the text is the value of a string, False if it is JSON.
    """

    language: Language
    text: str
    is_string: bool


class Schemas(Protocol):
    """The schemas of a registry; see `SchemaSource`."""

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id."""

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID."""


class SchemaReader:
    """Reads keys and values of any schema of a registry."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._readers: dict[tuple[int | str, tuple[int, ...]], Callable[[bytes], Readable]] = {}

    def read(
        self, data: bytes, header: bytes | None = None, language: Language | None = None
    ) -> Readable:
        """Return a key or value as text.

        Args:
            data: its bytes.
            header: the header with the id or GUID of its schema; None if the bytes start with it.
            language: the language that its schema must have; None for any.

        Raises:
            DuologError: the bytes cannot be read; see its message for the reason.
        """
        schema_id, payload = unframed(data if header is None else header)
        schema = self._schema(schema_id)
        if language is not None and schema.language != language:
            raise SerdeError(
                f"the schema of {_named(schema_id)} is {schema.language.value}, not "
                f"{language.value}"
            )
        indexes: tuple[int, ...] = ()
        if isinstance(schema, ProtobufSchema):
            indexes, at = _indexes(payload if header is None else payload or b"\0")
            payload = payload[at:]
        payload = payload if header is None else data
        read = self._readers.get((schema_id, indexes))
        if read is None:
            read = self._readers[schema_id, indexes] = _reader(schema, indexes)
        return read(payload)

    def _schema(self, schema_id: int | str) -> Schema:
        if isinstance(schema_id, int):
            return self._schemas.by_id(schema_id)
        return self._schemas.by_guid(schema_id)


def row_columns(of: Type) -> tuple[tuple[Column, ...], bool]:
    """Return the columns of a row of a type, and whether it is a single value."""
    fields = fields_of(of)
    return ((Column("value", of),), True) if fields is None else (fields, False)


def _reader(schema: Schema, indexes: tuple[int, ...]) -> Callable[[bytes], Readable]:
    """Return the function that reads payloads of a schema, without their frame.

    Raises:
        DuologError: the schema has types that are not supported.
    """
    if isinstance(schema, JsonSchema):
        return _json
    name = schema.message_name(indexes) if isinstance(schema, ProtobufSchema) else None
    try:
        of = type_of(schema, upper=False, name=name)
    except InvalidSchemaError:
        walked = walked_reader(cast("AvroSchema | ProtobufSchema", schema), name)
        return lambda data: Readable(schema.language, walked(data), is_string=False)
    if isinstance(schema, ProtobufSchema):
        columns, bare = row_columns(of)
        read = protobuf.decoder(schema, name or "", columns)
    else:
        columns, bare = row_columns(times_as_numbers(of))
        read = avro.decoder(cast("AvroSchema", schema), columns, bare=bare)
    write = KsqlJsonSerde(columns, bare=bare)

    def read_row(data: bytes) -> Readable:
        row = read(data)
        if of == STRING and row[0] is not None:
            return Readable(schema.language, str(row[0]), is_string=True)
        text = write.serialize(row) or b"null"
        return Readable(schema.language, text.decode(), is_string=False)

    return read_row


def _json(data: bytes) -> Readable:
    try:
        return Readable(Language.JSON, data.decode(), is_string=False)
    except UnicodeDecodeError as error:
        raise SerdeError("the bytes are not JSON in UTF-8") from error


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    try:
        return decode_indexes(data)
    except ValueError as error:
        raise SerdeError("the bytes do not name a Protobuf message", detail=str(error)) from error


def _named(schema_id: int | str) -> str:
    return f"id {schema_id}" if isinstance(schema_id, int) else f"GUID {schema_id}"
