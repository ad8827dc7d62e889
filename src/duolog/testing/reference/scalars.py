"""The scalar functions of `plan.expressions.functions`, on plain Python values.

Each receives the values of its arguments and the result type; arguments have been widened to one
type before. Null is None, and conditions have three values.

Source: Spark SQL with ansi off, except that comparisons with NaN are as in Java; one function for
each name in the registry.
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from functools import cache
from typing import Any, Final, cast

from duolog.plan.expressions.functions import BLANKS
from duolog.plan.types import BIGINT, DOUBLE, Decimal, Type
from duolog.serde.json_writing import WIDE
from duolog.testing.reference.casts import BITS, fit, saturate, wrap

Value = Any
"""A Python value of a column's type, as checked by the plan."""


class RecordError(ArithmeticError):
    """A record cannot be processed, as in Kafka Streams' processing exceptions."""


Scalar = Callable[[Sequence[Value], Type], Value]


def order_key(value: Value) -> Value:
    """Return a sort key that orders values like Spark: NaN last and equal to itself, nulls first.

    Example:
        >>> order_key(float("nan")) > order_key(float("inf")), order_key(-0.0) == order_key(0.0)
        (True, True)
    """
    match value:
        case float():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case list():
            return [(item is not None, order_key(item)) for item in value]
        case dict():
            return [(item is not None, order_key(item)) for item in value.values()]
        case _:
            return value


def negate(value: bool | None) -> bool | None:  # noqa: FBT001 - a value of SQL's
    return None if value is None else not value


def _arithmetic(sign: str) -> Scalar:
    def compute(values: Sequence[Value], of: Type) -> Value:
        if len(values) == 1:
            return _fitting(_negated(values[0]), of)
        left, right = values
        if sign in "/%" and right == 0:
            return None
        if isinstance(of, Decimal):
            return _fitting(_decimal_operation(sign, left, right), of)
        return _fitting(_OPERATIONS[sign](left, right), of)

    return compute


def _negated(value: Value) -> Value:
    # Python's unary minus rounds a decimal to 28 digits.
    return value.copy_negate() if isinstance(value, PythonDecimal) else -value


def _absolute(value: Value) -> Value:
    return value.copy_abs() if isinstance(value, PythonDecimal) else abs(value)


def _remainder(left: Value, right: Value) -> Value:
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


_OPERATIONS: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": _remainder,
}


def _decimal_operation(sign: str, left: PythonDecimal, right: PythonDecimal) -> PythonDecimal:
    wide = WIDE.copy()
    wide.prec = 100  # A product of two DECIMALs has 76 digits; a quotient is rounded once, later.
    match sign:
        case "+":
            return wide.add(left, right)
        case "-":
            return wide.subtract(left, right)
        case "*":
            return wide.multiply(left, right)
        case "/":
            return wide.divide(left, right)
        case _:
            return wide.remainder(left, right)


def _fitting(value: Value, of: Type) -> Value:
    if isinstance(of, Decimal):
        return fit(value, of)
    return wrap(value, of) if of in BITS else value


def _add_exact(values: Sequence[Value], of: Type) -> PythonDecimal:
    assert isinstance(of, Decimal), of
    total = fit(_decimal_operation("+", values[0], values[1]), of)
    if total is None:
        raise RecordError(f"{values[0]} + {values[1]} does not fit {of}")
    return total


def _fits(values: Sequence[Value], of: Type) -> Value:
    value, *others = values
    if value is None and None not in others:
        raise RecordError(f"a result does not fit {of}")
    return value


def _comparison(holds: Callable[[Value, Value], bool]) -> Scalar:
    return lambda values, _of: holds(*map(compared, values[:2]))


def compared(value: Value) -> Value:
    """Return the value to compare: a NaN as in Java and Python, other values by their sort key."""
    return value if isinstance(value, float) else order_key(value)


def _extreme(choose: Callable[..., Value]) -> Scalar:
    def compute(values: Sequence[Value], _of: Type) -> Value:
        known = [value for value in values if value is not None]
        return choose(known, key=order_key) if known else None

    return compute


@cache
def _like_pattern(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    if any(part[0] == "\\" and part[1:] not in {"%", "_", "\\"} for part in parts):
        raise RecordError(f"the pattern {pattern!r} has a \\ before another character")
    signs = {"%": ".*", "_": "."}
    text = "".join(signs.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(text, re.DOTALL)


def _like(values: Sequence[Value], _of: Type) -> bool:
    text, pattern = values
    return _like_pattern(pattern).fullmatch(text) is not None


def _round(values: Sequence[Value], of: Type) -> Value:
    value, digits = values[0], (values[1] if len(values) > 1 else 0)
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = PythonDecimal(repr(value)) if isinstance(value, float) else PythonDecimal(value)
    if -cast("int", exact.as_tuple().exponent) <= digits:
        return value
    rounded = exact.quantize(PythonDecimal(1).scaleb(-digits), context=WIDE)
    if of == DOUBLE:
        return float(rounded)
    return _fitting(int(rounded) if of in BITS else rounded, of)


def _whole(round_off: Callable[[Value], int]) -> Scalar:
    def compute(values: Sequence[Value], of: Type) -> Value:
        value = values[0]
        if isinstance(value, float) and not math.isfinite(value):
            return saturate(value, BIGINT)
        number = round_off(value)
        if isinstance(of, Decimal):
            return fit(PythonDecimal(number), of)
        return max(-(2**63), min(2**63 - 1, number))

    return compute


def _substring(values: Sequence[Value], _of: Type) -> str:
    text, position, *length = values
    start = position - 1 if position > 0 else len(text) + position if position else 0
    end = start + length[0] if length else max(start, 0) + len(text)
    return cast("str", text[max(start, 0) : max(end, 0)])


def _split(values: Sequence[Value], _of: Type) -> list[str]:
    text, *separator = values
    if not separator:
        return [word for word in re.split(f"[{BLANKS}]+", text) if word]
    return text.split(separator[0]) if separator[0] else [text]


def _find_all(values: Sequence[Value], _of: Type) -> list[str]:
    text, pattern = values
    return [found[0] for found in re.finditer(pattern, text, re.ASCII)]


NULL_SEES: Final[dict[str, Scalar]] = {
    "NOT": lambda values, _of: negate(values[0]),
    "IS_NULL": lambda values, _of: values[0] is None,
    "IS_NOT_NULL": lambda values, _of: values[0] is not None,
    "FITS": _fits,
    "ARRAY": lambda values, _of: list(values),
    "GREATEST": _extreme(max),
    "LEAST": _extreme(min),
}
"""Functions that handle nulls themselves."""

NULL_PASSES: Final[dict[str, Scalar]] = {
    **{sign: _arithmetic(sign) for sign in "+-*/%"},
    "ADD_EXACT": _add_exact,
    "=": _comparison(lambda left, right: left == right),
    "<>": _comparison(lambda left, right: left != right),
    "<": _comparison(lambda left, right: left < right),
    "<=": _comparison(lambda left, right: left <= right),
    ">": _comparison(lambda left, right: left > right),
    ">=": _comparison(lambda left, right: left >= right),
    "LIKE": _like,
    "ABS": lambda values, of: _fitting(_absolute(values[0]), of),
    "ROUND": _round,
    "FLOOR": _whole(math.floor),
    "CEIL": _whole(math.ceil),
    "CONCAT": lambda values, _of: "".join(values),
    "UPPER": lambda values, _of: values[0].upper(),
    "LOWER": lambda values, _of: values[0].lower(),
    "TRIM": lambda values, _of: values[0].strip(" "),
    "SUBSTRING": _substring,
    "LENGTH": lambda values, _of: len(values[0]),
    "CONTAINS": lambda values, _of: values[1] in values[0],
    "STARTS_WITH": lambda values, _of: values[0].startswith(values[1]),
    "ENDS_WITH": lambda values, _of: values[0].endswith(values[1]),
    "REPLACE": lambda values, _of: (
        values[0].replace(values[1], values[2]) if values[1] else values[0]
    ),
    "SPLIT": _split,
    "FIND_ALL": _find_all,
}
"""Functions that are null if an argument is."""
