"""Find the columns that a schema lacks, or has with another type.

    schema        column       verdict
    no field      any          breaks a reader that needs it: it would be null
    same type     same type    safe
    int           BIGINT       safe, if the serde of the format reads it
    other types                breaks every reader that has the column: the serde reads all of its
                               columns, and refuses the record

The rules are stricter than those of the serdes, which decide on values: what is safe here is read
by them for all values.
"""

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Final, cast

from duolog.core.errors import DuologError, SerdeError
from duolog.core.types import BIGINT, DOUBLE, INT, Array, Column, Map, Struct, Type
from duolog.runtime.impact.report import Reason
from duolog.schemas.columns import type_of
from duolog.schemas.schema import InvalidSchemaError, Language, Schema

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema
    from duolog.schemas.protobuf import ProtobufSchema

_WIDER: Final = {(INT, BIGINT)}
_WIDER_NUMBERS: Final = {(INT, BIGINT), (INT, DOUBLE), (BIGINT, DOUBLE)}
"""Of JSON, whose numbers have no type."""


def column_reasons(
    schema: Schema,
    columns: Iterable[Column],
    *,
    needed: Container[str],
    bare: bool = False,
    message: str | None = None,
) -> tuple[Reason, ...]:
    """Return why columns cannot be read from records that are written with a schema.

    Args:
        schema: the schema.
        columns: the columns that a reader has.
        needed: the names of the columns that it uses.
        bare: the value is the single column, without a record around it.
        message: the full name of the message of a Protobuf schema; None for the first one.
    """
    wanted = tuple(columns)
    if not wanted:
        return ()
    try:
        found = type_of(schema, name=message)
    except InvalidSchemaError as error:
        return (Reason(f"the schema has no columns: {error.message}"),)
    wider = _WIDER_NUMBERS if schema.language is Language.JSON else _WIDER
    if bare:
        return tuple(_differences(wanted[0].name, wanted[0].type, found, wider, needed=True))
    if not isinstance(found, Struct):
        return (Reason(f"the schema is a {found} without fields"),)
    reasons: list[Reason] = []
    for column in wanted:
        is_needed = column.name in needed
        field = _field(found, column.name)
        if field is None:
            reasons += [_missing(column.name)] if is_needed else []
            continue
        reasons += tuple(
            _differences(column.name, column.type, field.type, wider, needed=is_needed)
        ) or _unreadable(schema, column, message)
    return tuple(reasons)


def _differences(
    path: str, wanted: Type, found: Type, wider: set[tuple[Type, Type]], *, needed: bool
) -> Iterator[Reason]:
    """Yield where a type differs from the one that is read."""
    match wanted, found:
        case Struct(), Struct():
            for column in wanted.fields:
                field = _field(found, column.name)
                below = f"{path}->{column.name}"
                if field is not None:
                    yield from _differences(below, column.type, field.type, wider, needed=needed)
                elif needed:
                    yield _missing(below)
        case Array(), Array():
            yield from _differences(
                f"{path}[*]", wanted.element, found.element, wider, needed=needed
            )
        case Map(), Map():
            yield from _differences(f"{path}[key]", wanted.key, found.key, wider, needed=needed)
            yield from _differences(f"{path}[*]", wanted.value, found.value, wider, needed=needed)
        case _ if wanted != found and (found, wanted) not in wider:
            yield Reason(f"column {path} is {wanted} and would be {found}", path)


def _missing(path: str) -> Reason:
    return Reason(f"column {path} is not in the schema and would be null", path)


def _field(struct: Struct, name: str) -> Column | None:
    exact = next((one for one in struct.fields if one.name == name), None)
    return exact or next((one for one in struct.fields if one.name.upper() == name.upper()), None)


def _unreadable(schema: Schema, column: Column, message: str | None) -> tuple[Reason, ...]:
    """Return why the serde of the language does not read a column, although its type fits."""
    try:
        if schema.language is Language.AVRO:
            from duolog.serde.avro import decoder  # noqa: PLC0415 - loads fastavro

            decoder(cast("AvroSchema", schema), (column,), bare=False)
        elif schema.language is Language.PROTOBUF:
            from duolog.serde import protobuf  # noqa: PLC0415 - loads google.protobuf

            of_protobuf = cast("ProtobufSchema", schema)
            name = message or of_protobuf.message_name((0,))
            protobuf.decoder(of_protobuf, name, (column,))
    except (SerdeError, InvalidSchemaError) as error:
        return (Reason(f"column {column.name} cannot be read: {_reported(error)}", column.name),)
    return ()


def _reported(error: DuologError) -> str:
    return f"{error.message}. {error.detail}".rstrip(". ") if error.detail else error.message
