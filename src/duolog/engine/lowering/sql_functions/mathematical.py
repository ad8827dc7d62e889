"""Functions of numbers."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import DOUBLE, Decimal, Type


def _whole(name: str) -> Lowering:
    """Return the lowering of CEIL and FLOOR, whose results have the type of the argument."""

    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        if types[0] == DOUBLE:
            return f"duolog_{name}({args[0]})"
        if isinstance(types[0], Decimal):
            return f"CAST({name}({args[0]}) AS {spark_type(result)})"
        return args[0]

    return lower


def _at_places(of_double: str, at_places: str, of_decimal: str) -> Lowering:
    """Return the lowering of rounding: of a DOUBLE to an integer or to places, and of a DECIMAL."""

    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        if isinstance(result, Decimal):
            places = args[1] if len(args) > 1 else "0"
            return f"{of_decimal}({args[0]}, {places}, {result.precision}, {result.scale})"
        if len(args) > 1:
            return f"{at_places}({args[0]}, {args[1]})"
        if types[0] == DOUBLE:
            return of_double.format(args[0])
        return f"CAST({args[0]} AS BIGINT)"

    return lower


def _compared(name: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        values = [
            arg if of == result else f"CAST({arg} AS {spark_type(result)})"
            for arg, of in zip(args, types, strict=True)
        ]
        # Spark's functions take at least two arguments.
        return f"{name}({', '.join(values)})" if len(values) > 1 else values[0]

    return lower


def _logarithm(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"duolog_log({', '.join(args)})" if len(args) > 1 else f"duolog_ln({args[0]})"


def _same(name: str) -> Lowering:
    return plain(f"{name}({{all}})")


MATHEMATICAL_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "ABS": _same("abs"),
    "CEIL": _whole("ceil"),
    "FLOOR": _whole("floor"),
    "ROUND": _at_places("duolog_round({0})", "duolog_round_at", "duolog_round_decimal"),
    "TRUNC": _at_places("CAST({0} AS BIGINT)", "duolog_truncate_at", "duolog_truncate_decimal"),
    "SIGN": plain("CAST(sign({0}) AS INT)"),
    **{
        name: _same(name.lower())
        for name in (
            *("ACOS", "ASIN", "ATAN", "CBRT", "COS", "COSH", "DEGREES", "EXP", "PI"),
            *("POWER", "RADIANS", "SIN", "SINH", "SQRT", "TAN", "TANH"),
        )
    },
    "ATAN2": _same("duolog_atan2"),
    "COT": _same("cot"),
    "LN": plain("duolog_ln({0})"),
    "LOG": _logarithm,
    "RANDOM": plain("duolog_random()"),
    "GREATEST": _compared("greatest"),
    "LEAST": _compared("least"),
}
