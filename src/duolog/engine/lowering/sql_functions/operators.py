"""SQL's operators: comparisons are never null, and DOUBLE division by zero follows Java.

All other division by zero is null.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.pinned_texts import are_compared
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.engine.lowering.sql_functions.casts import lower_cast
from duolog.engine.lowering.sql_functions.comparing import compared, compares_as_java
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import (
    BIGINT,
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

_BY_JAVA: Final = {"/": "duolog_divide", "%": "duolog_remainder"}
_APART: Final = "< or >"
_NO_ESCAPE: Final = "\x01"
"""A character that no pattern contains: without ESCAPE, Spark would escape by the backslash."""


def _arithmetic(sign: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        left, right = (
            arg
            if of == result or (isinstance(of, Decimal) and result != DOUBLE)
            else f"CAST({arg} AS {_operand(of, result)})"
            for arg, of in zip(args, types, strict=True)
        )
        if sign in _BY_JAVA and result == DOUBLE:
            return f"{_BY_JAVA[sign]}({left}, {right})"
        if sign in _BY_JAVA and not are_compared():
            # Null for zero, which it reports for the processing log.
            of = types[1]
            kind = spark_type(of) if isinstance(of, Decimal) else _operand(of, result)
            right = f"duolog_divisor({right}, {text(kind)})"
        if sign == "/" and result in {INT, BIGINT}:
            return f"CAST(({left} div {right}) AS {spark_type(result)})"
        return f"CAST(({left} {sign} {right}) AS {spark_type(result)})"

    return lower


def _operand(of: Type, result: Type) -> str:
    if isinstance(result, Decimal):
        return "DECIMAL(10,0)" if of == INT else "DECIMAL(19,0)"
    return spark_type(result)


def _comparison(sign: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
        if compares_as_java(types):
            return f"coalesce({compared(_APART if sign == '<>' else sign, *args)}, false)"
        return f"coalesce({args[0]} {sign} {args[1]}, false)"

    return lower


def _equality(sign: str) -> Lowering:
    of_doubles = _comparison(sign)
    of_others = _of_comparable("coalesce({0} " + sign + " {1}, false)")
    return lambda args, types, result: (of_doubles if compares_as_java(types) else of_others)(
        args, types, result
    )


def _distinct(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    if not compares_as_java(types):
        return _of_comparable("(NOT {0} <=> {1})")(args, types, result)
    left, right = args
    one_is_null = f"({left} IS NULL) <> ({right} IS NULL)"
    return f"coalesce({compared(_APART, left, right)}, {one_is_null})"


def _in(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    found = _of_comparable("{0} IN ({others})")(args, types, result)
    not_nan = f" AND NOT isnan({args[0]})" if compares_as_java(types[:1]) else ""
    return f"coalesce({found}{not_nan}, false)"


def _of_comparable(template: str) -> Lowering:
    """Return the lowering of operators that need equality, which Spark does not define for maps."""

    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
        sides = [_comparable(arg, of, 0) for arg, of in zip(args, types, strict=True)]
        return template.format(*sides, others=", ".join(sides[1:]))

    return lower


def _comparable(value: str, of: Type, depth: int) -> str:
    """Return an expression that is equal if the elements are: maps as sorted entries."""
    if not any(isinstance(part, Map) for part in parts_of(of)):
        return value
    item = f"m{depth}"
    match of:
        case Map(value=inner):
            key = f"k{depth}"
            values = _comparable(item, inner, depth + 1)
            if values != item:
                value = f"transform_values({value}, ({key}, {item}) -> {values})"
            return f"array_sort(map_entries({value}))"
        case Array(element=element):
            return f"transform({value}, {item} -> {_comparable(item, element, depth + 1)})"
        case Struct(fields=fields):
            parts = ", ".join(
                f"{text(name)}, {_comparable(f'({value}).{quoted(name)}', kind, depth)}"
                for name, kind in fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({parts}) END"
        case _:
            raise AssertionError(of)


def _like(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    escape = args[2] if len(args) > 2 else text(_NO_ESCAPE)
    return f"coalesce({args[0]} LIKE {args[1]} ESCAPE {escape}, false)"


def _element(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    """Count from 1; there is no element at 0, and none beyond an INT."""
    array, place = args
    if types[1] == INT:
        return f"try_element_at({array}, CAST(nullif({place}, 0) AS INT))"
    near = f"{place} BETWEEN {-(2**31) + 1} AND {2**31 - 1} AND {place} <> 0"
    return f"try_element_at({array}, CAST(CASE WHEN {near} THEN {place} END AS INT))"


def _map(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    """Java's maps have null keys, written as `null`; Spark's have none."""
    assert isinstance(result, Map), result
    keys = [f"coalesce({key}, 'null')" if result.key == STRING else key for key in args[::2]]
    return f"map({', '.join(part for pair in zip(keys, args[1::2], strict=True) for part in pair)})"


def _struct(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    assert isinstance(result, Struct), result
    fields = zip(result.fields, args[1:], strict=True)
    return f"named_struct({', '.join(f'{text(column.name)}, {value}' for column, value in fields)})"


def _template(make: Callable[[str], Lowering], signs: Mapping[str, str]) -> dict[str, Lowering]:
    return {name: make(sign) for name, sign in signs.items()}


OPERATORS: Final[Mapping[str, Lowering]] = {
    **_template(
        _arithmetic,
        {"ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "DIVIDE": "/", "MODULUS": "%"},
    ),
    **_template(
        _comparison,
        {
            "LESS_THAN": "<",
            "LESS_THAN_OR_EQUAL": "<=",
            "GREATER_THAN": ">",
            "GREATER_THAN_OR_EQUAL": ">=",
        },
    ),
    "EQUAL": _equality("="),
    "NOT_EQUAL": _equality("<>"),
    "IS_DISTINCT_FROM": _distinct,
    "IN": _in,
    "LIKE": _like,
    "NEGATE": plain("(- {0})"),
    "PRESENT": plain("coalesce({0}, raise_error('null in arithmetic'))"),
    "ATTEMPT": plain("duolog_try({0})"),
    "JOIN": plain("concat({all})"),
    "CAST": lower_cast,
    "ELEMENT": _element,
    "ARRAY": plain("array({all})"),
    "MAP": _map,
    "STRUCT": _struct,
}
