"""SQL's operators."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.sql import spark_type
from duolog.engine.sql_functions.lowering import Lowering, plain
from duolog.plan.types import BIGINT, INT, Decimal, Type


def _arithmetic(sign: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        left, right = (
            arg
            if of == result or isinstance(of, Decimal)
            else f"CAST({arg} AS {_operand(of, result)})"
            for arg, of in zip(args, types, strict=True)
        )
        if sign == "/" and result in {INT, BIGINT}:
            return f"CAST(({left} div {right}) AS {spark_type(result)})"
        return f"CAST(({left} {sign} {right}) AS {spark_type(result)})"

    return lower


def _operand(of: Type, result: Type) -> str:
    if isinstance(result, Decimal):
        return "DECIMAL(10,0)" if of == INT else "DECIMAL(19,0)"
    return spark_type(result)


def _comparison(sign: str) -> Lowering:
    return plain("coalesce({0} " + sign + " {1}, false)")


OPERATORS: Final[Mapping[str, Lowering]] = {
    "ADD": _arithmetic("+"),
    "SUBTRACT": _arithmetic("-"),
    "MULTIPLY": _arithmetic("*"),
    "DIVIDE": _arithmetic("/"),
    "MODULUS": _arithmetic("%"),
    "EQUAL": _comparison("="),
    "NOT_EQUAL": _comparison("<>"),
    "LESS_THAN": _comparison("<"),
    "LESS_THAN_OR_EQUAL": _comparison("<="),
    "GREATER_THAN": _comparison(">"),
    "GREATER_THAN_OR_EQUAL": _comparison(">="),
    "IS_DISTINCT_FROM": plain("(NOT {0} <=> {1})"),
}
