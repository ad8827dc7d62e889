"""Column declarations in Python: types, dicts and dataclasses, as alternatives to text.

    str     STRING    bool    BOOLEAN   Decimal    DECIMAL(38,18)   list[T]             ARRAY<T>
    int     BIGINT    bytes   BYTES     datetime   TIMESTAMP        dict[K, T]          MAP<K, T>
    float   DOUBLE                      date       DATE             dict or dataclass   STRUCT

Any value may be null, so `T | None` is the same as `T`. A type without a Python equivalent is
written as text: `{"fare": "DECIMAL(10,2)"}`.
"""

import datetime as dt
import types
import typing
import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal as PythonDecimal
from enum import Enum
from typing import Any, Final

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.formats import LANGUAGES, SCHEMA, Format
from duolog.plan.schema import Schema
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    parse_columns,
    parse_type,
)
from duolog.schemas.classes.classes import has_fields
from duolog.schemas.classes.columns import columns_of
from duolog.schemas.classes.schema_of import text_of
from duolog.schemas.errors import InvalidSchemaError

Declared = str | type | Mapping[str, object] | types.UnionType | tuple[Column, ...]
"""Columns: a text, a dict of names and types, a class, or a type for a single column."""

PYTHON_TYPES: Final[dict[object, Type]] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
    PythonDecimal: Decimal(38, 18),  # as in Spark
}
_KNOWN: Final = (
    "Types are str, int, float, bool, bytes, Decimal, datetime, date, list[...], dict[..., ...], "
    "dicts by name and dataclasses."
)


def declared_schema(key: Declared | None, value: Declared) -> Schema:
    """Return the schema of a topic. A type alone is one column, called `key` or `value`.

    A key of None has no columns.

    Raises:
        StatementError: the columns cannot be parsed, or a Python type has no column type.

    Example:
        >>> print(declared_schema(str, {"delay": int, "stops": list[str], "fare": "DECIMAL(10,2)"}))
        key (key STRING) value (delay BIGINT, stops ARRAY<STRING>, fare DECIMAL(10,2))
    """
    columns = () if key is None else _columns(key, "key")
    return Schema(columns, _columns(value, "value"))


def has_names(declared: Declared) -> bool:
    """Return True if columns are declared by name; False for a single type."""
    return isinstance(declared, str | Mapping) or is_dataclass(declared)


def type_named(declared: object) -> Type:
    """Return the type described by a text, a plan type or a Python type.

    Raises:
        StatementError: there is none.

    Example:
        >>> print(type_named(dict[str, float | None]))
        MAP<STRING, DOUBLE>
    """
    return _type(declared, "", ())


def type_returned(declared: object) -> Type:
    """Return the type of a function's result: as `type_named`, and STRING for an Enum or a UUID.

    Raises:
        StatementError: there is none.

    Example:
        >>> import uuid
        >>> print(type_returned(list[uuid.UUID]))
        ARRAY<STRING>
    """
    return _type(declared, "", (), returned=True)


def is_named(declared: object) -> bool:
    """Return True if `type_named` has a type for this."""
    try:
        type_named(declared)
    except (InvalidPlan, TypeMismatch):
        return False
    return True


def class_columns(declared: object, form: Format) -> tuple[tuple[Column, ...], Format] | None:
    """Return the columns of a class in a format with schemas, and the format with its schema.

    None: it is not a class with fields, or the format has no schemas.

    Raises:
        StatementError: the format cannot express a field.
    """
    language = LANGUAGES.get(form.name)
    if language is None or not has_fields(declared):
        return None
    try:
        columns, text = columns_of(declared, language), text_of(declared, language)
    except InvalidSchemaError as error:
        raise InvalidPlan(error.message, detail=error.detail, hint=error.hint) from error
    if form.option(SCHEMA) is not None:
        return columns, form
    return columns, replace(form, options=tuple(sorted((*form.options, (SCHEMA, text)))))


def _columns(declared: Declared, alone: str) -> tuple[Column, ...]:
    if isinstance(declared, tuple):
        return declared
    if isinstance(declared, str):
        return parse_columns(declared)
    if has_names(declared):
        return _fields(declared, "", ())
    return (Column(alone, type_named(declared)),)


def _fields(
    declared: object, inside: str, outer: tuple[object, ...], *, returned: bool = False
) -> tuple[Column, ...]:
    """Return the fields of a dict or dataclass; `outer` are the types that contain it."""
    if any(declared is one for one in outer):
        raise InvalidPlan(
            f"{_name(declared)} contains itself",
            detail="A type cannot contain itself.",
        )
    named = declared if isinstance(declared, Mapping) else _annotations(declared)
    return tuple(
        Column(
            _field_name(name),
            _type(of, f"{inside}.{name}".strip("."), (*outer, declared), returned=returned),
        )
        for name, of in named.items()
    )


def _annotations(declared: Any) -> dict[str, object]:
    try:
        hints = typing.get_type_hints(declared)
    except (NameError, TypeError) as error:
        raise TypeMismatch(
            f"cannot read the annotations of {_name(declared)}",
            detail=f"{error}.",
            hint="Define the types that they name at the top of its module.",
        ) from error
    return {field.name: hints[field.name] for field in fields(declared)}


def _field_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeMismatch(f"{name!r} is not the name of a column", detail="Names must be texts.")
    return name


def _type(  # noqa: PLR0911 - a table of cases
    declared: object, inside: str, outer: tuple[object, ...], *, returned: bool = False
) -> Type:
    def inner(of: object) -> Type:
        return _type(of, inside, outer, returned=returned)

    if isinstance(declared, Type):
        return declared
    if isinstance(declared, str):
        return parse_type(declared)
    if isinstance(declared, Mapping) or is_dataclass(declared):
        return Struct(_fields(declared, inside, outer, returned=returned))
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    if origin in {typing.Union, types.UnionType}:
        some = [arg for arg in args if arg is not type(None)]
        if len(some) == 1:
            return inner(some[0])
    if origin is list:
        return Array(inner(args[0]))
    if origin is dict:
        return Map(inner(args[0]), inner(args[1]))
    if isinstance(declared, type) and declared in PYTHON_TYPES:
        return PYTHON_TYPES[declared]
    if returned and isinstance(declared, type) and issubclass(declared, Enum | uuid.UUID):
        return STRING
    raise _no_type(declared, inside)


def _no_type(declared: object, inside: str) -> TypeMismatch:
    hints: dict[object, str] = {
        list: "Add the element type: list[str].",
        dict: "Add the types: dict[str, int].",
    }
    default = 'Write it as text if no Python type fits: "DECIMAL(10,2)", "INT".'
    return TypeMismatch(
        f"{_name(declared)} is not a column type",
        detail=f'It is the type of "{inside}". {_KNOWN}' if inside else _KNOWN,
        hint=hints.get(declared, default) if isinstance(declared, type) else default,
    )


def _name(declared: object) -> str:
    return declared.__name__ if type(declared) is type else repr(declared)
