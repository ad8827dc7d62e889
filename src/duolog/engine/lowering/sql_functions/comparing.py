"""Comparisons that Spark lacks, or defines differently.

DOUBLE    NaN is not equal to, less than or greater than any number; in Spark it is the greatest
MAP       compared as sorted entries, which Spark can compare
"""

from collections.abc import Container, Mapping
from typing import Final

from duolog.engine.lowering.spark_sql.pinned_texts import are_pinned
from duolog.engine.lowering.spark_sql.sql import quoted, text
from duolog.plan.types import DOUBLE, Array, Map, Struct, Type, map_in

_OF_DOUBLES: Final[Mapping[str, str]] = {
    "=": "equal",
    "<>": "unequal",
    "< or >": "apart",
    "<": "less",
    "<=": "lessOrEqual",
    ">": "greater",
    ">=": "greaterOrEqual",
}


def compares_as_java(types: Container[Type]) -> bool:
    """Return whether `compared` compares values of these types."""
    return DOUBLE in types and not are_pinned()


def compared(sign: str, left: str, right: str) -> str:
    """Return the comparison of two numbers, one of them a DOUBLE, as in Java; null with a null.

    Example:
        >>> compared("<", "v0", "30D")
        'duolog_less(v0, 30D)'
    """
    return f"duolog_{_OF_DOUBLES[sign]}({left}, {right})"


def comparable(value: str, of: Type) -> str:
    """Return an expression whose values are equal, null-safe, exactly if the original values are.

    Example:
        >>> from duolog.plan.types import parse_type
        >>> comparable("v0", parse_type("ARRAY<INT>"))
        'v0'
        >>> comparable("v0", parse_type("MAP<STRING, INT>"))
        'array_sort(transform(map_entries(v0), e -> struct(e.key, e.value)))'
    """
    if not map_in(of):
        return value
    match of:
        case Array(element=element):
            return f"transform({value}, e -> {comparable('e', element)})"
        case Map(value=inner):
            entry = f"struct(e.key, {comparable('e.value', inner)})"
            return f"array_sort(transform(map_entries({value}), e -> {entry}))"
        case Struct(fields=fields):
            parts = ", ".join(
                f"{text(name)}, {comparable(f'({value}).{quoted(name)}', kind)}"
                for name, kind in fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({parts}) END"
        case _:
            raise AssertionError(of)


def equal(left: str, right: str, of: Type) -> str:
    """Return whether two values of one type are the same; null equals null."""
    return f"({comparable(left, of)} <=> {comparable(right, of)})"
