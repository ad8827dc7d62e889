"""Keys and values in the frame of a schema registry's serializers, as JSON.

    AVRO, PROTOBUF   {"id":1,"paid":1357034400000}   dates in days, times in ms, bytes as base64
    JSON_SR          the JSON itself

Records are read with the schema that wrote them. JSON to be written must have exactly the fields of
the schema: a misspelled name is an error and not a null.

Source: Confluent's wire format; `duolog.serde.wire_format`.
"""

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, cast
from uuid import UUID

from duolog.cli.records.field_forms import JsonForm
from duolog.cli.records.json_fit import misfit
from duolog.cli.records.schema_form import Decode, Encode, SchemaForm
from duolog.cli.text.json_text import JsonText, compact
from duolog.core.errors import SerdeError
from duolog.core.types import STRING, Column, Type
from duolog.schemas.columns import fields_of, type_of
from duolog.schemas.json_schema import JsonSchema
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource
from duolog.serde import avro, protobuf
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.wire_format import GUID_BYTES, MAGIC_OF_GUID, framed, unframed

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema

_JSON: Final = JsonForm()


class Schemas(Protocol):
    """The schemas of a registry; see `SchemaSource`."""

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id."""

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID."""


class RecordSchemas:
    """Decodes keys and values of any schema of a registry."""

    def __init__(self, source: Schemas) -> None:
        self._source = source
        self._decoders: dict[tuple[int | str, tuple[int, ...]], Decode] = {}

    def decoded(self, data: bytes, header: bytes | None, language: Language | None) -> object:
        """Return the JSON value of a key or value.

        Args:
            data: its bytes.
            header: the header with the GUID of its schema; None if the bytes start with an id.
            language: the language that its schema must have; None for any.

        Raises:
            DuologError: the bytes cannot be decoded; see its message for the reason.
        """
        schema_id: int | str
        if header is None:
            schema_id, payload = unframed(data)
        else:
            schema_id, payload = _guid(header), data
        schema = self._schema(schema_id)
        if language is not None and schema.language != language:
            raise SerdeError(
                f"the schema of {_named(schema_id)} is {schema.language.value}, not "
                f"{language.value}"
            )
        indexes: tuple[int, ...] = ()
        if isinstance(schema, ProtobufSchema) and header is not None:
            indexes, _ = _indexes(header[GUID_BYTES:] or b"\0")
        elif isinstance(schema, ProtobufSchema):
            indexes, at = _indexes(payload)
            payload = payload[at:]
        decode = self._decoders.get((schema_id, indexes))
        if decode is None:
            decode = self._decoders[schema_id, indexes] = decoder(schema, indexes)
        return decode(payload)

    def _schema(self, schema_id: int | str) -> Schema:
        if isinstance(schema_id, int):
            return self._source.by_id(schema_id)
        return self._source.by_guid(schema_id)


def decoder(schema: Schema, indexes: tuple[int, ...]) -> Decode:
    """Return the function that reads payloads of a schema, without their frame.

    Raises:
        DuologError: the schema has types that are not supported.
    """
    if isinstance(schema, JsonSchema):
        return _json_value
    name = schema.message_name(indexes) if isinstance(schema, ProtobufSchema) else None
    of = type_of(schema, upper=False, name=name)
    columns, bare = _columns(of)
    if isinstance(schema, ProtobufSchema):
        read = protobuf.decoder(schema, name or "", columns)
    else:
        read = avro.decoder(cast("AvroSchema", schema), columns, bare=bare)
    if of == STRING:
        return lambda data: read(data)[0]
    write = KsqlJsonSerde(columns, bare=bare)

    def decode(data: bytes) -> object:
        text = write.serialize(read(data)) or b"null"
        return JsonText(text.decode())

    return decode


def writing_form(schema: Schema, schema_id: int, source: SchemaSource) -> SchemaForm:
    """Return the form that writes with a schema; a Protobuf message is the first of its file.

    Raises:
        DuologError: the schema has types that are not supported.
    """
    schemas = RecordSchemas(source)

    def decode(data: bytes) -> object:
        return schemas.decoded(data, None, schema.language)

    if isinstance(schema, JsonSchema):
        return SchemaForm(decode, _json_encoder(schema, schema_id))
    of = type_of(schema, upper=False)
    columns, bare = _columns(of)
    reader = KsqlJsonSerde(columns, bare=bare, maps="objects")
    if isinstance(schema, ProtobufSchema):
        serde: Any = protobuf.ProtobufSerde(columns, source, schema_id=schema_id)
    else:
        text = schema.formatted("resolved")
        serde = avro.AvroSerde(columns, source, schema_id=schema_id, schema=text, bare=bare)

    def encode(text: str) -> bytes:
        if (problem := misfit(_parsed(text), of)) is not None:
            raise _unfit(schema_id, problem)
        try:
            data = serde.serialize(reader.deserialize(text.encode()))
        except SerdeError as error:
            raise _unfit(schema_id, error.one_line()) from error
        if data is None:
            raise SerdeError(
                "is null", hint="Write null with -Z, or as null in a line of -i jsonl."
            )
        return cast("bytes", data)

    return SchemaForm(decode, encode, is_text=of == STRING)


def _json_encoder(schema: JsonSchema, schema_id: int) -> Encode:
    def encode(text: str) -> bytes:
        problem = schema.problem(_parsed(text))
        if problem is not None:
            raise _unfit(schema_id, str(problem))
        return framed(schema_id, compact(text).encode())

    return encode


def _unfit(schema_id: int, why: str) -> SerdeError:
    return SerdeError(f"does not fit the schema of id {schema_id}: {why}")


def _json_value(data: bytes) -> object:
    try:
        return _JSON.decode(data)
    except ValueError as error:
        raise SerdeError(str(error)) from error


def _parsed(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise SerdeError(f"is not JSON: {error}") from error


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _columns(of: Type) -> tuple[tuple[Column, ...], bool]:
    """Return the columns of a row, and whether it is a single value."""
    fields = fields_of(of)
    return ((Column("value", of),), True) if fields is None else (fields, False)


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    try:
        return decode_indexes(data)
    except ValueError as error:
        raise SerdeError("the bytes do not name a Protobuf message", detail=str(error)) from error


def _guid(header: bytes) -> str:
    if len(header) < GUID_BYTES or header[0] != MAGIC_OF_GUID:
        raise SerdeError("the header does not contain the GUID of a schema")
    return str(UUID(bytes=header[1:GUID_BYTES]))


def _named(schema_id: int | str) -> str:
    return f"id {schema_id}" if isinstance(schema_id, int) else f"GUID {schema_id}"
