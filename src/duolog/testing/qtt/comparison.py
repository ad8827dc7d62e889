"""Whether what came out is what a case expects, by the type of the column.

    DOUBLE         within 0.000001
    DECIMAL        the same digits: 10.10 is not 10.1; a text holds its digits, too
    STRUCT, MAP    as many fields, each by its name or that in upper case; one that is not there is null
    DELIMITED      the same text

Source: ksqlDB's own runner, as the description beside the cases tells of it.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal as DecimalValue
from decimal import InvalidOperation
from typing import Final, Literal

from duolog.ksql.catalog import SqlColumn, SqlFormat
from duolog.plan.types import DOUBLE, STRING, Array, Column, Decimal, Map, Struct, Type
from duolog.testing.qtt.bytes import dumps

NEARLY: Final = 1e-6


def same(
    found: object,
    wanted: object,
    of: SqlFormat,
    columns: Sequence[SqlColumn],
    part: Literal["key", "value"],
) -> bool:
    """Tell if a decoded key or value is the one that is wanted."""
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
    """Return the type of a whole key or value: one column may stand alone."""
    alone = len(columns) == 1 and (part == "key" or of.wrap is False)
    if alone:
        return columns[0].type
    return Struct(tuple(Column(column.name, column.type) for column in columns))


def same_value(found: object, wanted: object, of: Type) -> bool:
    """Tell if a value is the wanted one of a type.

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
        # What is not there is null, whatever its name.
        of, here = types.get(name, otherwise), found.get(name)
        alike = here is value if of is None else same_value(here, value, of)
        if not alike:
            return False
    return True


def _same_plain(found: object, wanted: object, of: Type) -> bool:
    """Compare what has no form of its own in a case: it is made one of the column's type."""
    if of == DOUBLE:
        return _nearly(found, wanted)
    return str(found) == _text(wanted)


def _digits(value: object) -> str:
    """Return a number's text without an exponent; a text stands for its number."""
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
