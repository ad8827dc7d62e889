"""Format AVRO: Avro's binary form after the id of the writer's schema in a registry.

Records are read with the schema that wrote them, so a topic may hold records of many versions.
`avro_reading` and `avro_writing` hold the forms of the types.

A serde is used by one thread. It keeps what it has prepared for each writer's schema.
"""

import io
from collections.abc import Callable
from typing import Any, Final, cast

import fastavro
from fastavro import read

from duolog.core.errors import SerdeError
from duolog.core.types import Column, Struct
from duolog.schemas.avro import AvroSchema, parse
from duolog.schemas.avro import types as avro
from duolog.schemas.avro.columns import without_null
from duolog.schemas.avro.types import Json
from duolog.schemas.source import SchemaSource
from duolog.serde import avro_reading, avro_writing
from duolog.serde.avro_bounds import bounded_reader
from duolog.serde.row import Row
from duolog.serde.wire_format import SchemaKey, framed, named, schema_of, unframed

_MARK: Final = "duolog-branch"
_MARKED: Final = ("boolean", "int", "long", "float", "double", "bytes", "string")
_Decode = Callable[[bytes], Row]

# A union of several types must say which of them a value has; fastavro says it of named types only.
for _kind in (*_MARKED, "array", "map"):
    read.LOGICAL_READERS[f"{_kind}-{_MARK}"] = lambda data, *_, _kind=_kind: (_kind, data)


class AvroSerde:
    """Reads and writes rows in Avro.

    Args:
        columns: the columns of a row.
        source: the registry that knows the writers' schemas.
        schema_id: the id of the schema to write with; None if the serde only reads.
        schema: the text of this schema, with what it refers to.
        bare: the single column is not inside a record.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        source: SchemaSource,
        *,
        schema_id: int | None = None,
        schema: str | None = None,
        bare: bool = False,
    ) -> None:
        assert not bare or len(columns) == 1, columns
        self._columns = columns
        self._source = source
        self._bare = bare
        self._decoders: dict[SchemaKey, _Decode] = {}
        self._schema_id = schema_id
        self._schema = schema
        self._encode: Callable[[Row], bytes] | None = None

    def serialize(self, row: Row | None) -> bytes | None:
        """Return the bytes of a row; see `Serde`."""
        if row is None or (self._bare and row[0] is None):
            return None
        if self._schema_id is None or self._schema is None:
            raise SerdeError(
                "no Avro schema to write with",
                detail="The schema of the topic is not in the registry yet.",
            )
        if self._encode is None:
            self._encode = _encoder(self._schema, self._columns, bare=self._bare)
        try:
            return framed(self._schema_id, self._encode(row))
        except (TypeError, ValueError, OverflowError, AttributeError, ArithmeticError) as error:
            raise SerdeError("a value does not fit the Avro schema", detail=str(error)) from error

    def deserialize(self, data: bytes | None) -> Row | None:
        """Return the row that bytes contain; see `Serde`."""
        if data is None:
            return None
        key, payload = unframed(data)
        decode = self._decoders.get(key)
        if decode is None:
            decode = self._decoders[key] = self._decoder(key)
        return decode(payload)

    def _decoder(self, key: SchemaKey) -> _Decode:
        schema = schema_of(self._source, key)
        if not isinstance(schema, AvroSchema):
            raise SerdeError(f"the schema of {named(key)} is not an Avro schema")
        return decoder(schema, self._columns, bare=self._bare)


def decoder(schema: AvroSchema, columns: tuple[Column, ...], *, bare: bool) -> _Decode:
    """Return the function that reads rows which were written with a schema.

    Raises:
        SerdeError: the schema does not fit the columns.
    """
    root = without_null(schema.root)
    read_value = reader_of(schema)
    if bare:
        convert = avro_reading.converter(schema.root, columns[0].type, columns[0].name)
        return lambda data: (_converted(convert, read_value(data)),)
    # Of a union of several types, each is a column.
    if not isinstance(root, avro.Record | avro.Union):
        raise SerdeError(
            f"the Avro schema is a {root.kind}, and columns need a record",
            hint="Set WRAP_SINGLE_VALUE = false if the value is a single column.",
        )
    whole = avro_reading.converter(schema.root, Struct(columns), "")
    names = [column.name for column in columns]

    def decode(data: bytes) -> Row:
        value = _converted(whole, read_value(data))
        return tuple(None if value is None else value[name] for name in names)

    return decode


def _converted(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
        raise SerdeError("an Avro value does not fit its column", detail=str(error)) from error


def reader_of(schema: AvroSchema) -> Callable[[bytes], Any]:
    """Return the function that reads values as `avro_reading` takes them.

    It raises a SerdeError for damaged bytes.
    """
    parsed = fastavro.parse_schema(cast("Any", _marked(schema.plain(logical=False))))
    reads = bounded_reader(schema.root, parsed)

    def read_value(data: bytes) -> Any:
        try:
            return reads(data)
        except Exception as error:  # damaged bytes raise errors of every kind in fastavro
            raise SerdeError(
                "the bytes are not a value of their Avro schema",
                detail=f"{type(error).__name__}: {error}",
            ) from error

    return read_value


def _encoder(text: str, columns: tuple[Column, ...], *, bare: bool) -> Callable[[Row], bytes]:
    schema = parse(text, {}, strict=False)
    if bare:
        convert = avro_writing.converter(schema.root, columns[0].type, columns[0].name)
    else:
        convert = avro_writing.converter(schema.root, Struct(columns), "")
    parsed = fastavro.parse_schema(cast("Any", schema.plain(logical=False)))
    names = [column.name for column in columns]

    def encode(row: Row) -> bytes:
        value = row[0] if bare else dict(zip(names, row, strict=True))
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, convert(value))
        return out.getvalue()

    return encode


def _marked(schema: Json) -> Json:
    """Return a schema in which the types of unions with several branches are marked."""
    match schema:
        case list():
            marks = sum(branch != "null" for branch in schema) > 1
            return [_mark(branch) if marks else _marked(branch) for branch in schema]
        case dict():
            inner = {
                key: _marked(value) for key, value in schema.items() if key in {"items", "values"}
            }
            if isinstance(fields := schema.get("fields"), list):
                inner["fields"] = [
                    {**field, "type": _marked(field["type"])}
                    for field in fields
                    if isinstance(field, dict)
                ]
            return {**schema, **inner}
        case _:
            return schema


def _mark(branch: Json) -> Json:
    match branch:
        case str() if branch in _MARKED:
            return {"type": branch, "logicalType": _MARK}
        case {"type": "array" | "map"}:
            marked = _marked(branch)
            assert isinstance(marked, dict), marked
            return {**marked, "logicalType": _MARK}
        case _:
            return _marked(branch)
