"""Formats PROTOBUF and PROTOBUF_NOSR: Protobuf's binary form, with or without a schema's id.

    PROTOBUF        id of the writer's schema, place of the message in it, message
    PROTOBUF_NOSR   message, by the schema that the columns make

`protobuf_reading` and `protobuf_writing` hold the forms of the types. A serde is used by one
thread. It keeps what it has prepared for each writer's schema.
"""

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError, EncodeError

from duolog.core.errors import SerdeError
from duolog.core.types import Column
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes, encode_indexes, parse
from duolog.schemas.protobuf.columns import Nullable, schema_text
from duolog.schemas.source import SchemaSource
from duolog.serde import protobuf_reading, protobuf_writing
from duolog.serde.row import Row
from duolog.serde.wire_format import SchemaKey, framed, named, schema_of, unframed

_Decode = Callable[[bytes], Row]
_Encode = Callable[[Row], bytes]


class ProtobufSerde:
    """Reads and writes rows in Protobuf with the schemas of a registry.

    Args:
        columns: the columns of a row.
        source: the registry that knows the writers' schemas.
        schema_id: the id of the schema to write with; None if the serde only reads.
        message: the full name of the message to write; None for the first one.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        source: SchemaSource,
        *,
        schema_id: int | None = None,
        message: str | None = None,
    ) -> None:
        self._columns = columns
        self._source = source
        self._schema_id = schema_id
        self._message = message
        self._decoders: dict[tuple[SchemaKey, tuple[int, ...]], _Decode] = {}
        self._encode: _Encode | None = None
        self._head = b""

    def serialize(self, row: Row | None) -> bytes | None:
        """Return the bytes of a row; see `Serde`."""
        if row is None:
            return None
        if self._schema_id is None:
            raise SerdeError(
                "no Protobuf schema to write with",
                detail="The schema of the topic is not in the registry yet.",
            )
        if self._encode is None:
            schema = self._schema(self._schema_id)
            name = self._message or schema.message_name((0,))
            self._head = encode_indexes(schema.message_indexes(name))
            self._encode = encoder(schema, name, self._columns)
        return framed(self._schema_id, self._head + self._encode(row))

    def deserialize(self, data: bytes | None) -> Row | None:
        """Return the row that bytes contain; see `Serde`."""
        if data is None:
            return None
        key, rest = unframed(data)
        indexes, at = _indexes(rest)
        decode = self._decoders.get((key, indexes))
        if decode is None:
            decode = self._decoders[key, indexes] = self._decoder(key, indexes)
        return decode(rest[at:])

    def _decoder(self, key: SchemaKey, indexes: tuple[int, ...]) -> _Decode:
        schema = self._schema(key)
        try:
            return decoder(schema, schema.message_name(indexes), self._columns)
        except InvalidSchemaError as error:
            raise SerdeError(
                f"cannot find message {list(indexes)} in the schema of {named(key)}",
                detail=error.message,
            ) from error

    def _schema(self, key: SchemaKey) -> ProtobufSchema:
        schema = schema_of(self._source, key)
        if not isinstance(schema, ProtobufSchema):
            raise SerdeError(f"the schema of {named(key)} is not a Protobuf schema")
        return schema


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    try:
        return decode_indexes(data)
    except ValueError as error:
        raise SerdeError("the bytes do not name a Protobuf message", detail=str(error)) from error


class PlainProtobufSerde:
    """Reads and writes rows in Protobuf without a registry.

    Args:
        columns: the columns of a row.
        nullable: the representation of null.
    """

    def __init__(self, columns: tuple[Column, ...], nullable: Nullable | None = None) -> None:
        schema = parse(schema_text(columns, nullable=nullable), {})
        name = schema.message_name((0,))
        self._encode = encoder(schema, name, columns)
        self._decode = decoder(schema, name, columns)

    def serialize(self, row: Row | None) -> bytes | None:
        """Return the bytes of a row; see `Serde`."""
        return None if row is None else self._encode(row)

    def deserialize(self, data: bytes | None) -> Row | None:
        """Return the row that bytes contain; see `Serde`."""
        return None if data is None else self._decode(data)


def decoder(schema: ProtobufSchema, name: str, columns: tuple[Column, ...]) -> _Decode:
    """Return the function that reads rows from a message.

    Raises:
        SerdeError: the message does not fit the columns.
    """
    made = schema.message_class(name)
    convert = protobuf_reading.converter(made.DESCRIPTOR, columns)
    names = [column.name for column in columns]

    def decode(data: bytes) -> Row:
        try:
            found = convert(made.FromString(data))
        except (DecodeError, ValueError, OverflowError, ArithmeticError) as error:
            raise SerdeError(
                f"the bytes are not a message {name}", detail=f"{type(error).__name__}: {error}"
            ) from error
        return tuple(found[column] for column in names)

    return decode


def encoder(schema: ProtobufSchema, name: str, columns: tuple[Column, ...]) -> _Encode:
    """Return the function that writes rows as a message.

    Raises:
        SerdeError: the columns do not fit the message.
    """
    made: Any = schema.message_class(name)
    fill = protobuf_writing.filler(made.DESCRIPTOR, columns)
    names = [column.name for column in columns]

    def encode(row: Row) -> bytes:
        message = made()
        try:
            fill(message, dict(zip(names, row, strict=True)))
            _ensure_complete(message, name)
            data: bytes = message.SerializePartialToString(deterministic=True)
        except (EncodeError, TypeError, ValueError, OverflowError) as error:
            raise SerdeError(f"a value does not fit message {name}", detail=str(error)) from error
        return data

    return encode


def _ensure_complete(message: Any, name: str) -> None:
    # The check of `SerializeToString` can crash the process: it looks for the missing field among
    # the keys of a map (protobuf 7.36).
    if not message.IsInitialized():
        raise SerdeError(
            f"a value does not fit message {name}",
            detail="A required field of the message, or of one inside it, is null.",
        )
