"""Write keys and values, given as JSON text, with a schema of a registry.

The JSON must have exactly the fields of the schema: a misspelled name is an error and not a null.
Any thread may use a writer, one at a time.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from duolog.core.errors import SerdeError
from duolog.core.types import STRING
from duolog.schemas.columns import type_of
from duolog.schemas.json_schema import JsonSchema
from duolog.schemas.protobuf import ProtobufSchema
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource
from duolog.serde import avro, protobuf
from duolog.serde.json_compact import compact
from duolog.serde.json_fit import misfit
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.readable import row_columns
from duolog.serde.unions import several_of_avro, several_of_protobuf
from duolog.serde.wire_format import framed

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema


class SchemaWriter(NamedTuple):
    """Writes with one schema.

    Attributes:
        encode: returns the bytes of the text of a JSON value; raises SerdeError with a message
            that continues "the value".
        is_string: True if the schema is a string.
    """

    encode: Callable[[str], bytes]
    is_string: bool


def schema_writer(schema: Schema, schema_id: int, source: SchemaSource) -> SchemaWriter:
    """Return the writer of a schema; a Protobuf message is the first of its file.

    Raises:
        DuologError: the schema has types that are not supported.
    """
    if isinstance(schema, JsonSchema):
        return SchemaWriter(_json_encoder(schema, schema_id), is_string=False)
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
            raise SerdeError("is null")
        return cast("bytes", data)

    return SchemaWriter(encode, is_string=of == STRING)


def _json_encoder(schema: JsonSchema, schema_id: int) -> Callable[[str], bytes]:
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
