"""Compares results with the expectations of a case, by column type.

    DOUBLE         within 0.000001
    DECIMAL        the same digits: 10.10 is not 10.1; a text is compared by its digits as well
    STRUCT, MAP    the same number of fields, by name or name in upper case; a missing field is null
    DELIMITED      the same text

Source: ksqlDB's own runner, as described next to the cases.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal as DecimalValue
from decimal import InvalidOperation
from typing import Final, Literal

from duolog.ksql.catalog.catalog import SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import SUPPORT
from duolog.plan.types import DOUBLE, STRING, Array, Column, Decimal, Map, Struct, Type
from duolog.testing.qtt.json_values import dumps

NEARLY: Final = 1e-6


def same(
    found: object,
    wanted: object,
    of: SqlFormat,
    columns: Sequence[SqlColumn],
    part: Literal["key", "value"],
) -> bool:
    """Return True if a decoded key or value equals the expected one."""
    if found is None or wanted is None:
        return found is wanted
    match of.name:
        case "DELIMITED":
            return found == _text(wanted)
        case "KAFKA":
            return _same_plain(found, wanted, columns[0].type if columns else STRING)
        case _:
            return same_value(found, wanted, _shape(of, columns, part))


def _shape(of: SqlFormat, columns: Sequence[SqlColumn], part: Literal["key", "value"]) -> Type:
    """Return the type of a whole key or value, which may be a single column."""
    bare = SUPPORT[of.name].unwraps if part == "key" else of.wrap is False
    alone = len(columns) == 1 and bare
    if alone:
        return columns[0].type
    return Struct(tuple(Column(column.name, column.type) for column in columns))


def same_value(found: object, wanted: object, of: Type) -> bool:
    """Return True if a value equals the expected one of a type.

    Example:
        >>> from decimal import Decimal as D
        >>> [same_value(D("10.1"), D("10.10"), kind) for kind in (DOUBLE, Decimal(4, 2))]
        [True, False]
    """
    if found is None or wanted is None:
        return found is wanted
    match of:
        case Struct(fields=fields):
            types = {name.upper(): kind for name, kind in fields} | dict(fields)
            return _same_fields(found, wanted, types, None)
        case Map(value=inner):
            return _same_fields(found, wanted, {}, inner)
        case Array(element=element):
            return (
                isinstance(found, list)
                and isinstance(wanted, list)
                and len(found) == len(wanted)
                and all(
                    same_value(one, other, element)
                    for one, other in zip(found, wanted, strict=True)
                )
            )
        case _:
            return _same_scalar(found, wanted, of)


def _same_scalar(found: object, wanted: object, of: Type) -> bool:
    if isinstance(of, Decimal):
        return _digits(found) == _digits(wanted)
    if of == DOUBLE:
        return _nearly(found, wanted)
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def _same_fields(
    found: object, wanted: object, types: Mapping[str, Type], otherwise: Type | None
) -> bool:
    if not isinstance(found, dict) or not isinstance(wanted, dict) or len(found) != len(wanted):
        return False
    for given, value in wanted.items():
        name = given if given in found else given.upper()
        # A missing field is null under any name.
        of, here = types.get(name, otherwise), found.get(name)
        alike = here is value if of is None else same_value(here, value, of)
        if not alike:
            return False
    return True


def _same_plain(found: object, wanted: object, of: Type) -> bool:
    """Compare a value without its own JSON form, after conversion to the column's type."""
    if of == DOUBLE:
        return _nearly(found, wanted)
    return str(found) == _text(wanted)


def _digits(value: object) -> str:
    """Return a number's text without an exponent; a text is treated as a number."""
    if isinstance(value, bool) or not isinstance(value, int | DecimalValue | str):
        return repr(value)
    try:
        return f"{DecimalValue(value):f}"
    except InvalidOperation:
        return repr(value)


def _nearly(found: object, wanted: object) -> bool:
    try:
        one, other = float(str(found)), float(str(wanted))
    except ValueError:
        return found == wanted
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= NEARLY


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)
