"""Formats as Spark SQL: convert bytes of a topic to columns, and columns to bytes.

    decode   bytes -> columns, "is null", "cannot be read"
    encode   columns -> bytes; windowed keys as Kafka Streams' windowed serializers write them

One function for each format and direction, in two tables at the end; a new format is a new row.
ksqlDB's own variants are in `ksql_formats`, formats with schemas in `schema_formats`.

A record that cannot be read is passed to the deserialization handler, so `corrupt` must be true
only if there are bytes and they do not fit the columns.
"""

from collections.abc import Callable, Sequence
from typing import Final

from duolog.core.windowed_key import BOUND_BYTES, NO_END, WindowedKey
from duolog.engine.lowering.formats import ksql_formats, schema_formats
from duolog.engine.lowering.formats.decoded import FALSE, Decoded, Part
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.plan.formats import OF_SCHEMAS, Format
from duolog.plan.schema import Schema
from duolog.plan.types import TIMESTAMP, Array, Column, Map, Struct, Type

_KAFKA_READ: Final = {
    "INT": "duolog_int({})",
    "BIGINT": "duolog_bigint({})",
    "DOUBLE": "duolog_double({})",
    "STRING": "CAST({} AS STRING)",
    "BYTES": "{}",
    "BOOLEAN": "CASE {0} WHEN X'00' THEN false WHEN X'01' THEN true END",
}
_KAFKA_WRITE: Final = {
    "INT": "duolog_int_be({})",
    "BIGINT": "duolog_bigint_be({})",
    "DOUBLE": "duolog_double_be({})",
    "STRING": "CAST({} AS BINARY)",
    "BYTES": "{}",
    "BOOLEAN": "CASE WHEN {0} THEN X'01' WHEN NOT {0} THEN X'00' END",
}
_JSON_WRITE_OPTIONS: Final = "map('ignoreNullFields', 'false')"
_MILLIS: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_MICROS: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
_BARE: Final = "k"
_BARE_PREFIX: Final = f'{{"{_BARE}":'


def decode(
    source_format: Format,
    columns: tuple[Column, ...],
    part: Part,
    *,
    first: int,
    of: str | None = None,
) -> Decoded:
    """Return how to convert the bytes of a record's key or value to `columns`.

    Args:
        source_format: the format of the bytes.
        columns: the columns in the bytes.
        part: key or value.
        first: the number of the first free pre-projection, p{first}.
        of: the expression of these bytes, if they are only a part of the key or value.
    """
    if source_format.name in OF_SCHEMAS:
        return schema_formats.decode(source_format, columns, part, of or part, first)
    if source_format.is_ksqldb:
        return ksql_formats.decode(source_format, columns, part, of or part, first)
    return _DECODE[source_format.name](columns, part, of or part, first)


def decode_key(source_format: Format, schema: Schema, *, first: int) -> Decoded:
    """Return how to convert the bytes of a key to its columns, with those of its window last."""
    if schema.window is None:
        return decode(source_format, schema.key, "key", first=first)
    size = schema.window.bytes
    inner = f"substring(key, 1, octet_length(key) - {size})"
    read = decode(source_format, schema.inner_key, "key", first=first, of=inner)
    too_short = f"(key IS NOT NULL AND octet_length(key) < {size})"
    return Decoded(
        [*read.columns, *_bounds(schema.window)],
        # A window without a key is treated as a null key.
        is_null=or_nulls_only(source_format, f"(key IS NULL OR {read.is_null})", read.columns),
        corrupt=f"({too_short} OR {read.corrupt})",
        parsed=read.parsed,
        why="" if not read.why else f"CASE WHEN {too_short} THEN NULL ELSE {read.why} END",
    )


def _bounds(window: WindowedKey) -> tuple[str, str]:
    start = f"duolog_bigint(substring(key, -{BOUND_BYTES}, {BOUND_BYTES}))"
    if window.size_ms is None:
        return start, f"duolog_bigint(substring(key, -{2 * BOUND_BYTES}, {BOUND_BYTES}))"
    last = NO_END - window.size_ms
    return start, f"IF({start} > {last}L, {NO_END}L, {start} + {window.size_ms}L)"


def or_nulls_only(of: Format, is_null: str, columns: list[str]) -> str:
    """Return the condition of a null key: a key of several columns is also null if all of them are.

    Except in ksqlDB's formats, in which that is a key.
    """
    if len(columns) < 2 or of.is_ksqldb:
        return is_null
    return f"({is_null} OR ({' AND '.join(f'{column} IS NULL' for column in columns)}))"


def encode(
    sink_format: Format, columns: tuple[Column, ...], names: Sequence[str], part: Part
) -> str:
    """Return the expression of the bytes of `columns`, which are in the row under `names`."""
    if sink_format.name in OF_SCHEMAS:
        return schema_formats.encode(sink_format, columns, names, part)
    if sink_format.is_ksqldb:
        return ksql_formats.encode(sink_format, columns, names, part)
    return _ENCODE[sink_format.name](columns, names, part)


def encode_key(sink_format: Format, schema: Schema, names: Sequence[str]) -> str:
    """Return the expression of a key's bytes: those of its columns, followed by its window."""
    inner = schema.inner_key
    written = encode(sink_format, inner, names[: len(inner)], "key")
    if schema.window is None:
        return written
    start, end = names[len(inner) :]
    bounds = (start,) if schema.window.size_ms is not None else (end, start)
    return f"concat({written}, {', '.join(f'duolog_bigint_be({bound})' for bound in bounds)})"


def _decode_none(_columns: tuple[Column, ...], _part: Part, _of: str, _first: int) -> Decoded:
    return Decoded([], is_null="true")


def _decode_kafka(columns: tuple[Column, ...], _part: Part, of: str, _first: int) -> Decoded:
    (column,) = columns
    read = _KAFKA_READ[column.type.name].format(of)
    corrupt = f"({of} IS NOT NULL AND ({read}) IS NULL)"
    if column.type.name == "STRING":
        corrupt = f"({of} IS NOT NULL AND NOT is_valid_utf8({read}))"
    elif column.type.name == "BYTES":
        corrupt = FALSE
    return Decoded([read], is_null=f"{of} IS NULL", corrupt=corrupt)


def _decode_json(columns: tuple[Column, ...], part: Part, of: str, first: int) -> Decoded:
    alone = part == "key" and len(columns) == 1
    fields = (Column(_BARE, columns[0].type),) if alone else columns
    # Not Spark's from_json, which parses only objects, only from strings, and allocates a buffer
    # each time.
    read = "duolog_from_json_value" if alone else "duolog_from_json"
    schema = ", ".join(f"{quoted(name)} {spark_type(kind)}" for name, kind in fields)
    parsed = f"p{first}"
    is_null = f"({of} IS NULL OR duolog_json_is_null({of}))"
    return Decoded(
        [f"{parsed}.{quoted(column.name)}" for column in fields],
        is_null=is_null,
        corrupt=f"(NOT {is_null} AND {parsed} IS NULL)",
        parsed=[f"{read}({of}, {text(schema)})"],
        why=f"duolog_json_problem{'_alone' if alone else ''}({of}, {text(schema)})",
    )


def _encode_none(_columns: tuple[Column, ...], _names: Sequence[str], _part: Part) -> str:
    return "CAST(NULL AS BINARY)"


def _encode_kafka(columns: tuple[Column, ...], names: Sequence[str], _part: Part) -> str:
    (column,), (name,) = columns, names
    return _KAFKA_WRITE[column.type.name].format(name)


def _encode_json(columns: tuple[Column, ...], names: Sequence[str], part: Part) -> str:
    if part == "key" and len(columns) == 1:
        (name,) = names
        value = _as_json(name, columns[0].type)
        whole = f"to_json(named_struct('{_BARE}', {value}), {_JSON_WRITE_OPTIONS})"
        # {"k":…} without the enclosing object.
        start, rest = len(_BARE_PREFIX) + 1, len(_BARE_PREFIX) + 1
        alone = f"substring({whole}, {start}, length({whole}) - {rest})"
        return f"CASE WHEN {name} IS NOT NULL THEN CAST({alone} AS BINARY) END"
    pairs = (
        f"{text(column.name)}, {_as_json(name, column.type)}"
        for column, name in zip(columns, names, strict=True)
    )
    struct = f"named_struct({', '.join(pairs)})"
    return f"CAST(to_json({struct}, {_JSON_WRITE_OPTIONS}) AS BINARY)"


def _as_json(value: str, of: Type, depth: int = 0) -> str:
    """Return an expression that `to_json` writes without loss: it cuts a TIMESTAMP to milliseconds.

    Two keys within one millisecond would become one.
    """
    item = f"x{depth}"
    match of:
        case _ if not _has_timestamp(of):
            return value
        case Array(element=element):
            return f"transform({value}, {item} -> {_as_json(item, element, depth + 1)})"
        case Map(value=inner):
            return f"transform_values({value}, (n, {item}) -> {_as_json(item, inner, depth + 1)})"
        case Struct(fields=fields):
            pairs = (
                f"{text(field.name)}, "
                f"{_as_json(f'{value}.{quoted(field.name)}', field.type, depth)}"
                for field in fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(pairs)}) END"
        case _:
            short, long = (f"date_format({value}, {text(form)})" for form in (_MILLIS, _MICROS))
            return f"CASE WHEN unix_micros({value}) % 1000 = 0 THEN {short} ELSE {long} END"


def _has_timestamp(of: Type) -> bool:
    match of:
        case Array(element=inner) | Map(value=inner):
            return _has_timestamp(inner)
        case Struct(fields=fields):
            return any(_has_timestamp(field.type) for field in fields)
        case _:
            return of == TIMESTAMP


_DECODE: Final[dict[str, Callable[[tuple[Column, ...], Part, str, int], Decoded]]] = {
    "NONE": _decode_none,
    "KAFKA": _decode_kafka,
    "JSON": _decode_json,
}
_ENCODE: Final[dict[str, Callable[[tuple[Column, ...], Sequence[str], Part], str]]] = {
    "NONE": _encode_none,
    "KAFKA": _encode_kafka,
    "JSON": _encode_json,
}
