"""SQL's operators in DuckDB: no comparison is null; INTEGER and BIGINT wrap and cut as Java's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from duolog.plan.types import (
    BIGINT,
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
    """Return the lowest bits of a whole number, as Java keeps them."""
    half, whole = 2**bits, 2 ** (bits + 1) - 1
    lowest = f"(({value} + {half}::{wider}) & {whole}::{wider}) - {half}::{wider}"
    return f"CAST({lowest} AS {duck_type(result)})"


def _as_decimal(of: Type) -> str:
    return "DECIMAL(10, 0)" if of == INT else "DECIMAL(19, 0)"


def _decimal_quotient(args: Sequence[str], types: Sequence[Type], result: Decimal) -> str | None:
    """Divide the digits as whole numbers, the half away from zero; DuckDB's own quotient is a DOUBLE.

    None where the digits that may come are more than a HUGEINT has.
    """
    (p1, s1), (_, s2) = (_size(of) for of in types)
    zeros = result.scale + s2 - s1
    if zeros < 0 or p1 + zeros >= _HUGE_DIGITS:
        return None
    top, bottom = (f"CAST(replace(CAST({arg} AS VARCHAR), '.', '') AS HUGEINT)" for arg in args)
    scaled = f"({top} * {10**zeros}::HUGEINT)"
    half = f"(abs({bottom}) // 2) * sign({scaled})"
    quotient = f"(({scaled} + {half}) // {bottom})"
    whole = f"abs({quotient}) // {10**result.scale}::HUGEINT"
    behind = f"CAST(abs({quotient}) % {10**result.scale}::HUGEINT AS VARCHAR)"
    sign = f"CASE WHEN {quotient} < 0 THEN '-' ELSE '' END"
    digits = f"concat({sign}, {whole}, '.', lpad({behind}, {result.scale}, '0'))"
    return f"CASE WHEN {bottom} <> 0 THEN TRY_CAST({digits} AS {duck_type(result)}) END"


def _size(of: Type) -> tuple[int, int]:
    if isinstance(of, Decimal):
        return of.precision, of.scale
    return (10, 0) if of == INT else (19, 0)


def _comparison(sign: str) -> Lowering:
    return plain("coalesce({0} " + sign + " {1}, false)")


def _in(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"coalesce({args[0]} IN ({', '.join(args[1:])}), false)"


def _like(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    escape = f" ESCAPE {args[2]}" if len(args) > 2 else ""
    return f"coalesce({args[0]} LIKE {args[1]}{escape}, false)"


def _present(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    """Fail where a number is null: by a text that is none, for TRY takes no error that is raised outright."""
    return f"CAST(coalesce(CAST({args[0]} AS VARCHAR), 'null') AS {duck_type(result)})"


def _array(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    return f"CAST([{', '.join(args)}] AS {duck_type(result)})"


def _map(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    """Java's maps have null keys, written as null; DuckDB's have none. The last value of a key counts."""
    assert isinstance(result, Map), result
    keys = [f"coalesce({key}, 'null')" if result.key == STRING else key for key in args[::2]]
    one_by_one = [f"MAP {{{key}: {value}}}" for key, value in zip(keys, args[1::2], strict=True)]
    # DuckDB joins two maps and more.
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
    "IS_DISTINCT_FROM": plain("({0} IS DISTINCT FROM {1})"),
    "IN": _in,
    "LIKE": _like,
    "NEGATE": plain("(- {0})"),
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
"""What the plan has beside SQL's own functions."""
