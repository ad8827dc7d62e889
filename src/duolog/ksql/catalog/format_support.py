"""Columns that each format supports as key and as value, and how it encodes single columns.

Source: ksqlDB's documentation of its formats; the messages are those that its users search for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    parts_of,
)

Part = Literal["Key", "Value"]


@dataclass(frozen=True, slots=True)
class Support:
    """Capabilities of a format."""

    wraps: bool = False
    unwraps: bool = False
    nested: bool = True
    types: tuple[Type, ...] | None = None
    """The only types that it supports; None: all."""
    single: bool = False
    string_keys_of_maps: str = ""
    """Start of the message that MAP keys must be STRING; empty if any type is allowed."""
    avro_names: bool = False
    """True if columns and fields must have valid Avro names."""
    configs: tuple[str, ...] = ()
    """Properties that it accepts."""


SUPPORT: Final = {
    "JSON": Support(
        wraps=True, unwraps=True, string_keys_of_maps="JSON only supports", configs=("dialect",)
    ),
    "JSON_SR": Support(wraps=True, unwraps=True, configs=("fullSchemaName", "schemaId")),
    "AVRO": Support(
        avro_names=True, wraps=True, unwraps=True, configs=("fullSchemaName", "schemaId")
    ),
    "PROTOBUF": Support(
        wraps=True,
        string_keys_of_maps="PROTOBUF format only supports",
        configs=("fullSchemaName", "schemaId", "nullableRepresentation", "unwrapPrimitives"),
    ),
    "PROTOBUF_NOSR": Support(
        wraps=True,
        string_keys_of_maps="PROTOBUF format only supports",
        configs=("nullableRepresentation", "unwrapPrimitives"),
    ),
    "DELIMITED": Support(unwraps=True, nested=False, configs=("delimiter",)),
    "KAFKA": Support(
        unwraps=True, nested=False, types=(INT, BIGINT, DOUBLE, STRING, BYTES), single=True
    ),
    "NONE": Support(),
}


class Unsupported(SqlError):
    """A format does not support the columns of a stream, table or result."""


def features_of(part: Part, of: SqlFormat, columns: Sequence[SqlColumn]) -> tuple[str, ...]:
    """Return ksqlDB's name for the encoding of a single column; empty if none was requested.

    A single key column is unwrapped if the format supports both encodings.
    """
    support = SUPPORT[of.name]
    if part == "Key":
        bare = len(columns) == 1 and support.wraps and support.unwraps
        return ("UNWRAP_SINGLES",) if bare else ()
    if of.wrap is None:
        return ()
    return ("WRAP_SINGLES" if of.wrap else "UNWRAP_SINGLES",)


def ensure_key(of: SqlFormat, columns: Sequence[SqlColumn]) -> None:
    """Refuse columns that cannot be a key, or not in this format.

    Raises:
        SqlError: a column contains a MAP, or the format does not support its type or the number of
            columns.
    """
    ensure_no_maps(columns)
    _ensure("Key", of, columns)


def ensure_value(of: SqlFormat, columns: Sequence[SqlColumn]) -> None:
    """Refuse columns that this format does not support as a value."""
    _ensure("Value", of, columns)


def ensure_formats(sources: Sequence[SourceInfo], clause: str) -> None:
    """Refuse sources with the KAFKA value format in a JOIN or GROUP BY, as ksqlDB does."""
    bare = [source.name for source in sources if source.value_format.name == "KAFKA"]
    if bare:
        raise SqlError(
            f"Source(s) {', '.join(bare)} are using the 'KAFKA' value format. This format does not "
            f"yet support {clause}.",
            hint="Copy them to another format first: CREATE STREAM … WITH (VALUE_FORMAT = "
            "'JSON') AS SELECT ….",
        )


def ensure_no_maps(columns: Sequence[SqlColumn]) -> None:
    """Refuse MAPs in a key: equal maps can have different bytes."""
    for column in columns:
        if any(isinstance(part, Map) for part in parts_of(column.type)):
            raise SqlError(
                "Map keys, including types that contain maps, are not supported as they may lead "
                "to unexpected behavior due to inconsistent serialization. Key column name: "
                f"`{column.name}`. Column type: {sql_name(column.type)}. See "
                "https://github.com/confluentinc/ksql/issues/6621 for more."
            )


def wrapped(
    of: SqlFormat, columns: Sequence[SqlColumn], *, wrap: bool | None, default: bool | None
) -> SqlFormat:
    """Return the value format with WRAP_SINGLE_VALUE, or else with the session's `default`.

    Raises:
        SqlError: there are several columns, or the format does not support this encoding.
    """
    support = SUPPORT[of.name]
    if wrap is None:
        can = len(columns) == 1 and support.wraps and support.unwraps
        return replace(of, wrap=default if can else None)
    if not (support.wraps if wrap else support.unwraps):
        raise SqlError(
            f"Format '{of.name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrap).lower()}'."
        )
    if len(columns) > 1:
        raise SqlError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas")
    return replace(of, wrap=wrap)


def _ensure(part: Part, of: SqlFormat, columns: Sequence[SqlColumn]) -> None:
    reason = _reason(of, columns)
    if not reason:
        return
    listed = ", ".join(map(str, columns))
    features = ", ".join(features_of(part, of, columns))
    raise Unsupported(
        f"{part} format does not support schema.\nformat: {of.name}\n"
        f"schema: Persistence{{columns=[{listed}], features=[{features}]}}\nreason: {reason}"
    )


def _reason(of: SqlFormat, columns: Sequence[SqlColumn]) -> str:
    """Return why a format does not support columns; empty if it does."""
    support, listed = SUPPORT[of.name], ", ".join(map(str, columns))
    if of.name == "NONE" and columns:
        return f"The 'NONE' format can only be used when no columns are defined. Got: [{listed}]"
    if support.single and len(columns) > 1:
        return f"The '{of.name}' format only supports a single field. Got: [{listed}]"
    for column in columns:
        of_column = column.type
        refused = not support.nested and isinstance(of_column, Array | Map | Struct)
        if refused or (support.types is not None and of_column not in support.types):
            written = sql_name(of_column)
            name = "DECIMAL" if isinstance(of_column, Decimal) else written.partition("<")[0]
            # ksqlDB does not name the column for formats with a single field.
            which = "" if support.single else f", column: `{column.name}`"
            return f"The '{of.name}' format does not support type '{name}'{which}"
        if support.string_keys_of_maps and any(
            isinstance(part, Map) and part.key != STRING for part in parts_of(of_column)
        ):
            return f"{support.string_keys_of_maps} MAP types with STRING keys"
        if support.avro_names and (wrong := _wrong_in_avro(column)):
            return f"Schema is not compatible with Avro: {wrong}"
    return ""


def _wrong_in_avro(column: SqlColumn) -> str:
    """Return Avro's message for an invalid column or field name; empty if all names are valid."""
    inside = (part.fields for part in parts_of(column.type) if isinstance(part, Struct))
    for name in (column.name, *(field.name for fields in inside for field in fields)):
        if not (name[:1].isalpha() or name[:1] == "_"):
            return f"Illegal initial character: {name}"
        if not name.replace("_", "a").isalnum():
            return f"Illegal character in: {name}"
    return ""
