"""Types in SQL: their names, and which type widens to which.

The types are those of `duolog.plan.types`. INT there is written INTEGER here.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.settings import settings_in_force
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import TYPES
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
)

_PLAIN: Final = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.BLOB: BYTES,
    exp.DType.DATE: DATE,
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: TIMESTAMP,
}
_NAMES: Final = (
    "BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(p, s), STRING, BYTES, DATE, TIME, TIMESTAMP, ARRAY<t>, "
    "MAP<STRING, t>, STRUCT<name t, …> or a name of CREATE TYPE"
)
_OTHER_NAMES: Final = {
    **dict.fromkeys(("TEXT", "CHAR", "NVARCHAR", "STR", "JSON", "UUID"), "STRING"),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT64", "FLOAT8", "FLOAT4"), "DOUBLE"),
    **dict.fromkeys(("LONG", "INT64", "INT8", "SERIAL"), "BIGINT"),
    **dict.fromkeys(("SHORT", "SMALLINT", "TINYINT", "INT32", "INT4", "INT2"), "INT"),
    **dict.fromkeys(("NUMERIC", "MONEY"), "DECIMAL"),
    **dict.fromkeys(("BOOL", "BIT"), "BOOLEAN"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ"), "TIMESTAMP"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "BYTEA"), "BYTES"),
    "NUMBER": "INT, BIGINT, DOUBLE or DECIMAL",
    "OBJECT": "STRUCT<name type, …>",
    "LIST": "ARRAY<type>",
    "DICT": "MAP<STRING, type>",
}
"""Types of other languages, and ours for them."""
_ALIKE: Final = 0.7
INT_DIGITS: Final = 10
BIGINT_DIGITS: Final = 19
_WIDTH: Final = {"INT": 0, "BIGINT": 1, "DECIMAL": 2, "DOUBLE": 3}


def sql_name(of: Type) -> str:
    """Return a type as SQL writes it.

    Example:
        >>> from duolog.plan.types import parse_type
        >>> sql_name(parse_type("MAP<STRING, ARRAY<STRUCT<A INT, B DECIMAL(4,2)>>>"))
        'MAP<STRING, ARRAY<STRUCT<`A` INTEGER, `B` DECIMAL(4, 2)>>>'
    """
    match of:
        case Array(element=element):
            return f"ARRAY<{sql_name(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{sql_name(key)}, {sql_name(value)}>"
        case Struct(fields=fields):
            return f"STRUCT<{', '.join(f'`{name}` {sql_name(kind)}' for name, kind in fields)}>"
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision}, {scale})"
        case _:
            return "INTEGER" if of == INT else of.name


def type_from(node: exp.DataType, custom: Mapping[str, Type]) -> Type:
    """Return the type of a node; `custom` has the types that CREATE TYPE has defined.

    Raises:
        SqlError: there is no type of that name.
    """
    kind, parts = node.this, node.expressions
    match kind:
        case exp.DType.ARRAY:
            return Array(type_from(parts[0], custom))
        case exp.DType.MAP:
            return Map(type_from(parts[0], custom), type_from(parts[1], custom))
        case exp.DType.STRUCT:
            fields = tuple(Column(f.name, type_from(f.args["kind"], custom)) for f in parts)
            if settings_in_force().are_new:
                ensure_distinct_fields(fields, node)
            return Struct(fields)
        case exp.DType.DECIMAL:
            return _decimal([int(size.this.name) for size in parts], node)
        case exp.DType.USERDEFINED:
            name = node.args["kind"].name
            if name not in custom:
                raise _unknown_type(name, custom, node)
            return custom[name]
        case _:
            return _PLAIN[kind]


def _unknown_type(name: str, custom: Mapping[str, Type], node: exp.DataType) -> SqlError:
    other = _OTHER_NAMES.get(name.upper())
    near = get_close_matches(name.upper(), [*TYPES, "DECIMAL", *custom], n=1, cutoff=_ALIKE)
    if other is None and near:
        other = near[0]
    hint = f"Use one of {_NAMES}." if other is None else f"Did you mean {other}?"
    return SqlError(f"Cannot resolve unknown type: {name}", at=place_of(node), hint=hint)


def ensure_distinct_fields(fields: Sequence[Column], node: exp.Expression) -> None:
    """Refuse a STRUCT with two fields of the same name."""
    seen: dict[str, Column] = {}
    for field in fields:
        if field.name in seen:
            one, other = (
                f"`{each.name}` {sql_name(each.type)}" for each in (seen[field.name], field)
            )
            raise SqlError(
                f"Duplicate field names found in STRUCT: '{one}' and '{other}'", at=place_of(node)
            )
        seen[field.name] = field


def _decimal(sizes: list[int], node: exp.DataType) -> Decimal:
    precision, scale = [*sizes, 0][:2] if sizes else (38, 10)
    written = f"DECIMAL({precision},{scale})"
    if precision < 1:
        raise SqlError(f"DECIMAL precision must be >= 1: {written}", at=place_of(node))
    if precision > DECIMAL_PRECISION_MAX:
        raise SqlError(
            f"DECIMAL precision must be <= {DECIMAL_PRECISION_MAX}: {written}",
            at=place_of(node),
            hint="Use a STRING for numbers with more digits: Spark and DuckDB have no type for "
            "them.",
        )
    if precision < scale:
        raise SqlError(f"DECIMAL precision must be >= scale: {written}", at=place_of(node))
    return Decimal(precision, scale)


def decimal_of(of: Type) -> Decimal:
    """Return the smallest DECIMAL that holds all values of a whole-number type."""
    if isinstance(of, Decimal):
        return of
    return Decimal(INT_DIGITS if of == INT else BIGINT_DIGITS)


def widens(given: Type, wanted: Type) -> bool:
    """Return true if values of one type are accepted for another without a cast."""
    if given == wanted:
        return True
    if numeric(given) and numeric(wanted):
        if isinstance(wanted, Decimal) and given != DOUBLE:
            return fits(decimal_of(given), wanted)
        return _WIDTH[given.name] <= _WIDTH[wanted.name]
    match given, wanted:
        case Array(element=one), Array(element=other):
            return widens(one, other)
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            return widens(k1, k2) and widens(v1, v2)
        case _:
            return False


def fits(given: Decimal, wanted: Decimal) -> bool:
    return (
        given.scale <= wanted.scale
        and given.precision - given.scale <= wanted.precision - wanted.scale
    )


def wider(one: Type, other: Type) -> Type | None:  # noqa: PLR0911 - a table of cases
    """Return the common type to which both widen, or None."""
    if one == other:
        return one
    if numeric(one) and numeric(other):
        if DOUBLE in {one, other}:
            return DOUBLE
        if isinstance(one, Decimal) or isinstance(other, Decimal):
            left, right = decimal_of(one), decimal_of(other)
            scale = max(left.scale, right.scale)
            whole = max(left.precision - left.scale, right.precision - right.scale)
            return Decimal(whole + scale, scale) if whole + scale <= 38 else None
        return BIGINT
    match one, other:
        case Array(element=a), Array(element=b):
            element = wider(a, b)
            return None if element is None else Array(element)
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            key, value = wider(k1, k2), wider(v1, v2)
            return None if key is None or value is None else Map(key, value)
        case Struct(fields=a), Struct(fields=b):
            return _union(a, b)
        case _:
            return None


def _union(one: tuple[Column, ...], other: tuple[Column, ...]) -> Type | None:
    """Return the STRUCT with the fields of both, or None if a common field has no common type."""
    fields = dict(one)
    for name, kind in other:
        found = wider(fields[name], kind) if name in fields else kind
        if found is None:
            return None
        fields[name] = found
    return Struct(tuple(Column(name, kind) for name, kind in fields.items()))
