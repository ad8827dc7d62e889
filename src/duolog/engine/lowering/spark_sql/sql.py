"""Spark SQL text of names, types and literals, escaped for any content."""

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as DecimalValue
from typing import Any, Final

from duolog.plan.types import Array, Column, Map, Struct, Type

_RENAMED: Final = {"BYTES": "BINARY", "NULL": "VOID", "TIME": "INT", "UNIT": "STRING"}


def quoted(name: str) -> str:
    """Return `name` as an identifier.

    Example:
        >>> quoted("Delay `min`")
        '`Delay ``min```'
    """
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    r"""Return `value` as a string literal.

    Example:
        >>> print(text("it's"))
        'it\'s'
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def spark_type(of: Type) -> str:
    """Return Spark's DDL for a type of the plan.

    Example:
        >>> from duolog.plan.types import parse_type
        >>> spark_type(parse_type("ARRAY<STRUCT<a BYTES>>"))
        'ARRAY<STRUCT<`a`: BINARY>>'
    """
    match of:
        case Array(element=element):
            return f"ARRAY<{spark_type(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{spark_type(key)}, {spark_type(value)}>"
        case Struct(fields=fields):
            inside = ", ".join(f"{quoted(name)}: {spark_type(kind)}" for name, kind in fields)
            return f"STRUCT<{inside}>"
        case _:
            return _RENAMED.get(of.name, str(of))


def spark_types(columns: tuple[Column, ...]) -> list[str]:
    return [spark_type(column.type) for column in columns]


def literal(value: object, of: Type) -> str:
    """Return `value` as a literal of the type `of`.

    Example:
        >>> from duolog.plan.types import BIGINT, DATE, STRING
        >>> literal(7, BIGINT), literal(None, STRING), literal("2013-01-01", DATE)
        ('7L', 'CAST(NULL AS STRING)', "CAST('2013-01-01' AS DATE)")
    """
    plain = _plain_literal(value)
    # Expressions are evaluated as bound: a cast in place of a literal would be executed for each
    # record.
    if value is not None and of.name in _SUFFIXES and (of.name != "DOUBLE" or _is_finite(value)):
        return plain.strip("'") + _SUFFIXES[of.name]
    if value is not None and of.name in {"BOOLEAN", "STRING", "BYTES"}:
        return plain
    return f"CAST({plain} AS {spark_type(of)})"


_SUFFIXES: Final = {"INT": "", "BIGINT": "L", "DOUBLE": "D"}


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _plain_literal(value: object) -> str:
    for kind, render in _LITERALS.items():
        if isinstance(value, kind):
            return render(value)
    raise AssertionError(f"no literal for {value!r}")


def _array(items: Sequence[object]) -> str:
    return f"array({', '.join(map(_plain_literal, items))})"


def _map(items: Mapping[object, object]) -> str:
    return f"map({', '.join(_plain_literal(part) for pair in items.items() for part in pair)})"


# The order matters: a bool is an int, and a datetime is a date. Both of the latter are written as
# ISO 8601.
_LITERALS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "NULL",
    bool: lambda value: str(value).lower(),
    int: lambda value: text(str(value)),
    float: lambda value: text(str(value)),
    DecimalValue: lambda value: text(str(value)),
    str: text,
    bytes: lambda value: f"X'{value.hex()}'",
    dt.date: lambda value: text(value.isoformat()),
    list: _array,
    tuple: _array,
    dict: _map,
}
