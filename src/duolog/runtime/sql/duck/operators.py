"""Lower operators to DuckDB: comparisons are never null; INTEGER and BIGINT wrap as in Java."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from duolog.plan.expressions.functions import decimal_result
from duolog.plan.types import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.runtime.sql.duck.casts import lower_cast
from duolog.runtime.sql.duck.lowering import Lowering, plain
from duolog.runtime.sql.duck.types import duck_type
from duolog.runtime.sql.functions.registry import called

_BITS: Final = {INT: (31, "BIGINT"), BIGINT: (63, "HUGEINT")}
_HUGE_DIGITS: Final = 38


def _arithmetic(sign: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str | None:
        if result in _BITS:
            bits, wider = _BITS[result]
            left, right = (f"CAST({arg} AS {wider})" for arg in args)
            return _wrapped(
                f"({left} {'//' if sign == '/' else sign} {right})", bits, wider, result
            )
        if isinstance(result, Decimal):
            if not _has_room(sign, types):
                return _exact(sign, args, types, result)
            if sign == "/":
                return _decimal_quotient(args, types, result)
            sides = (
                arg if isinstance(of, Decimal) else f"CAST({arg} AS {_as_decimal(of)})"
                for arg, of in zip(args, types, strict=True)
            )
            return f"TRY_CAST(({f' {sign} '.join(sides)}) AS {duck_type(result)})"
        left, right = (f"CAST({arg} AS DOUBLE)" for arg in args)
        return f"({left} {sign} {right})"

    return lower


def _wrapped(value: str, bits: int, wider: str, result: Type) -> str:
    """Return the lowest bits of a whole number, as Java does."""
    half, whole = 2**bits, 2 ** (bits + 1) - 1
    lowest = f"(({value} + {half}::{wider}) & {whole}::{wider}) - {half}::{wider}"
    return f"CAST({lowest} AS {duck_type(result)})"


def _as_decimal(of: Type) -> str:
    return "DECIMAL(10, 0)" if of == INT else "DECIMAL(19, 0)"


def _decimal_quotient(args: Sequence[str], types: Sequence[Type], result: Decimal) -> str | None:
    """Divide the digits as whole numbers, rounded half up; DuckDB's quotient is a DOUBLE."""
    (p1, s1), (_, s2) = (_size(of) for of in types)
    zeros = result.scale + s2 - s1
    if zeros < 0 or p1 + zeros >= _HUGE_DIGITS:
        return _exact("/", args, types, result)
    top, bottom = (f"CAST(replace(CAST({arg} AS VARCHAR), '.', '') AS HUGEINT)" for arg in args)
    scaled = f"({top} * {10**zeros}::HUGEINT)"
    half = f"(abs({bottom}) // 2) * sign({scaled})"
    quotient = f"(({scaled} + {half}) // {bottom})"
    whole = f"abs({quotient}) // {10**result.scale}::HUGEINT"
    fraction = f"CAST(abs({quotient}) % {10**result.scale}::HUGEINT AS VARCHAR)"
    sign = f"CASE WHEN {quotient} < 0 THEN '-' ELSE '' END"
    digits = f"concat({sign}, {whole}, '.', lpad({fraction}, {result.scale}, '0'))"
    return f"CASE WHEN {bottom} <> 0 THEN TRY_CAST({digits} AS {duck_type(result)}) END"


def _has_room(sign: str, types: Sequence[Type]) -> bool:
    """Return true if a result fits into DuckDB's digits, without rounding or overflow."""
    (p1, s1), (p2, s2) = (_size(of) for of in types)
    digits = p1 + p2 + 1 if sign == "*" else max(s1, s2) + max(p1 - s1, p2 - s2) + 1
    return digits <= _HUGE_DIGITS


def _exact(sign: str, args: Sequence[str], types: Sequence[Type], result: Decimal) -> str:
    """Compute in Python, exactly as Spark does."""
    of_spark = decimal_result(sign, *(Decimal(*_size(of)) for of in types))
    sides = (f"CAST({arg} AS VARCHAR)" for arg in args)
    computed = called(
        "decimal", (f"'{sign}'", *sides, str(of_spark.precision), str(of_spark.scale))
    )
    rounded = called("decimal_at", (computed, str(result.scale)))
    return f"TRY_CAST({rounded} AS {duck_type(result)})"


def _size(of: Type) -> tuple[int, int]:
    if isinstance(of, Decimal):
        return of.precision, of.scale
    return (10, 0) if of == INT else (19, 0)


def _comparison(sign: str) -> Lowering:
    return lambda args, types, _result: f"coalesce({compared(sign, args, types)}, false)"


def compared(sign: str, args: Sequence[str], types: Sequence[Type]) -> str:
    """Return a comparison, null if a side is null; false with NaN, which DuckDB orders last."""
    holds = f"{args[0]} {sign} {args[1]}"
    sides = dict.fromkeys(arg for arg, of in zip(args, types, strict=True) if of == DOUBLE)
    return " AND ".join([f"({holds})", *(f"NOT isnan({side})" for side in sides)])


def _distinct(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    if DOUBLE not in types:
        return f"({args[0]} IS DISTINCT FROM {args[1]})"
    left, right = args
    one_is_null = f"({left} IS NULL) <> ({right} IS NULL)"
    some_is_null = f"{left} IS NULL OR {right} IS NULL"
    return f"CASE WHEN {some_is_null} THEN {one_is_null} ELSE {compared('<>', args, types)} END"


def _in(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    not_nan = f" AND NOT isnan({args[0]})" if types[0] == DOUBLE else ""
    return f"coalesce({args[0]} IN ({', '.join(args[1:])}){not_nan}, false)"


def _like(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    if len(args) == 2:
        return f"coalesce({args[0]} LIKE {args[1]}, false)"
    nulls = " OR ".join(f"{arg} IS NULL" for arg in args)
    # DuckDB raises an error for a pattern that ends with the escape; here, invalid patterns are
    # null.
    return f"CASE WHEN {nulls} THEN false ELSE {called('like', args)} END"


def _negated(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    if result not in _BITS:
        return f"(- {args[0]})"
    bits, wider = _BITS[result]
    return _wrapped(f"(- CAST({args[0]} AS {wider}))", bits, wider, result)


def _present(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    """Fail if a number is null, by a failed CAST: TRY does not catch errors raised directly."""
    return f"CAST(coalesce(CAST({args[0]} AS VARCHAR), 'null') AS {duck_type(result)})"


def _array(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    return f"CAST([{', '.join(args)}] AS {duck_type(result)})"


def _map(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    """Null keys are 'null', as in Java; DuckDB has none.

    The last value of a duplicate key counts.
    """
    assert isinstance(result, Map), result
    keys = [f"coalesce({key}, 'null')" if result.key == STRING else key for key in args[::2]]
    one_by_one = [f"MAP {{{key}: {value}}}" for key, value in zip(keys, args[1::2], strict=True)]
    # DuckDB's function needs at least two maps.
    joined = one_by_one[0] if len(one_by_one) == 1 else f"map_concat({', '.join(one_by_one)})"
    return f"CAST({joined} AS {duck_type(result)})"


def _struct(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    assert isinstance(result, Struct), result
    fields = ", ".join(f"f{at} := {value}" for at, value in enumerate(args[1:]))
    return f"CAST(struct_pack({fields}) AS {duck_type(result)})"


def _template(make: Callable[[str], Lowering], signs: Mapping[str, str]) -> dict[str, Lowering]:
    return {name: make(sign) for name, sign in signs.items()}


OPERATORS: Final[Mapping[str, Lowering]] = {
    **_template(
        _arithmetic, {"ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "DIVIDE": "/", "MODULUS": "%"}
    ),
    **_template(
        _comparison,
        {
            "EQUAL": "=",
            "NOT_EQUAL": "<>",
            "LESS_THAN": "<",
            "LESS_THAN_OR_EQUAL": "<=",
            "GREATER_THAN": ">",
            "GREATER_THAN_OR_EQUAL": ">=",
        },
    ),
    "IS_DISTINCT_FROM": _distinct,
    "IN": _in,
    "LIKE": _like,
    "NEGATE": _negated,
    "PRESENT": _present,
    "ATTEMPT": plain("TRY({0})"),
    "JOIN": plain("({0} || {1})"),
    "CAST": lower_cast,
    "ELEMENT": plain("list_extract({0}, CAST({1} AS BIGINT))"),
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}
LOGIC: Final[Mapping[str, Lowering]] = {
    "AND": plain("({0} AND {1})"),
    "OR": plain("({0} OR {1})"),
    "NOT": plain("(NOT {0})"),
    "IS_NULL": plain("({0} IS NULL)"),
}
"""Logical operators of the plan."""
