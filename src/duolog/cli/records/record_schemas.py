"""Read and write keys and values with the schemas of a registry; see `serde.readable` for the text.

JSON to be written must have exactly the fields of the schema: a misspelled name is an error and not
a null.
"""

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from duolog.cli.records.field_forms import JsonForm
from duolog.cli.records.json_fit import misfit
from duolog.cli.records.schema_form import Encode, SchemaForm
from duolog.cli.records.unions import several_of_avro, several_of_protobuf
from duolog.cli.text.json_text import JsonText, compact
from duolog.core.errors import SerdeError
from duolog.core.types import STRING
from duolog.schemas.columns import type_of
from duolog.schemas.json_schema import JsonSchema
from duolog.schemas.protobuf import ProtobufSchema
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource
from duolog.serde import avro, protobuf
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.readable import SchemaReader, Schemas, row_columns
from duolog.serde.wire_format import framed

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema

_JSON: Final = JsonForm()


class RecordSchemas:
    """Decodes keys and values of any schema of a registry."""

    def __init__(self, schemas: Schemas) -> None:
        self._reader = SchemaReader(schemas)

    def decoded(self, data: bytes, header: bytes | None, language: Language | None) -> object:
        """Return the JSON value of a key or value; see `SchemaReader.read`."""
        found = self._reader.read(data, header, language)
        if found.is_string:
            return found.text
        if found.language != Language.JSON:
            return JsonText(found.text)
        try:
            return _JSON.decode(found.text.encode())
        except ValueError as error:
            raise SerdeError(str(error)) from error


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
    columns, bare = row_columns(of)
    reader = KsqlJsonSerde(columns, bare=bare, maps="objects")
    if isinstance(schema, ProtobufSchema):
        serde: Any = protobuf.ProtobufSerde(columns, source, schema_id=schema_id)
        message = schema.message_class(schema.message_name((0,))).DESCRIPTOR
        several = partial(several_of_protobuf, message)
    else:
        text = schema.formatted("resolved")
        serde = avro.AvroSerde(columns, source, schema_id=schema_id, schema=text, bare=bare)
        several = partial(several_of_avro, cast("AvroSchema", schema).root)

    def encode(text: str) -> bytes:
        value = _parsed(text)
        if (problem := misfit(value, of) or several(value)) is not None:
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


def _parsed(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise SerdeError(f"is not JSON: {error}") from error


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
