"""SQL's operators: comparisons that are never null, and arithmetic as in Java.

a = b, a < b …       false if a side is null; the same for IN and LIKE
a + b, a / b …       INTEGER and BIGINT wrap and truncate, as in Java; division by zero is null
DECIMAL              as many digits as the result type has
PRESENT(a)           a; fails if it is null
ATTEMPT(a)           a; null if it fails
CAST(a, type)        null if the value has no equivalent; `type` is a null of the target type
ARRAY[], STRUCT()    STRUCT has a type argument, like CAST
"""

from typing import Final

from duolog.plan.errors import TypeMismatch
from duolog.plan.sql.signatures import ResultOf, SqlFunction, Types, function
from duolog.plan.types import BIGINT, DOUBLE, INT, NULL, Decimal, Map, Type, numeric

_FAMILY: Final = "OPERATOR"
_DIGITS: Final = {"INT": 10, "BIGINT": 19}
_SCALE_MIN: Final = 6
_PRECISION_MAX: Final = 38


def _decimal(of: Type) -> Decimal:
    return of if isinstance(of, Decimal) else Decimal(_DIGITS[of.name])


def _arithmetic(sign: str) -> SqlFunction:
    def result(types: Types) -> Type:
        known = [of for of in types if of != NULL] or [DOUBLE]
        if not all(numeric(of) for of in known):
            raise TypeMismatch(f'"{sign}" does not take these arguments')
        left, right = known[0], known[-1]
        if DOUBLE in known:
            return DOUBLE
        if any(isinstance(of, Decimal) for of in known):
            return _decimal_result(sign, _decimal(left), _decimal(right))
        return BIGINT if BIGINT in known else INT

    return function(sign, _FAMILY, "", "T (left T, right U)", result_of=result, hidden=True)


def _decimal_result(sign: str, left: Decimal, right: Decimal) -> Decimal:
    (p1, s1), (p2, s2) = (left.precision, left.scale), (right.precision, right.scale)
    match sign:
        case "ADD" | "SUBTRACT":
            scale = max(s1, s2)
            precision = scale + max(p1 - s1, p2 - s2) + 1
        case "MULTIPLY":
            precision, scale = p1 + p2 + 1, s1 + s2
        case "DIVIDE":
            scale = max(_SCALE_MIN, s1 + p2 + 1)
            precision = p1 - s1 + s2 + scale
        case _:
            scale = max(s1, s2)
            precision = min(p1 - s1, p2 - s2) + scale
    return Decimal(min(precision, _PRECISION_MAX), min(scale, _PRECISION_MAX))


def _wanted(at: int) -> ResultOf:
    """Return a rule: the result has the type of the argument at this position."""
    return lambda types: types[at]


_BINARY: Final = "BOOLEAN (left ANY, right ANY)"
_COMPARISONS: Final = (
    "EQUAL",
    "NOT_EQUAL",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL",
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL",
    "IS_DISTINCT_FROM",
)


def _hidden(name: str, signature: str, result_of: ResultOf | None = None) -> SqlFunction:
    return function(name, _FAMILY, "", signature, result_of=result_of, hidden=True)


OPERATORS: Final = (
    *(_arithmetic(sign) for sign in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MODULUS")),
    *(_hidden(sign, _BINARY) for sign in _COMPARISONS),
    _hidden("NEGATE", "T (value T)"),
    _hidden("PRESENT", "T (value T)"),
    _hidden("ATTEMPT", "T (value T)"),
    _hidden("JOIN", "STRING (left STRING, right STRING)"),
    _hidden("IN", "BOOLEAN (value ANY, among ANY...)"),
    function(
        "LIKE",
        _FAMILY,
        "",
        "BOOLEAN (text STRING, pattern STRING)",
        "BOOLEAN (text STRING, pattern STRING, escape STRING)",
        hidden=True,
    ),
    _hidden("CAST", "U (value ANY, type U)", _wanted(1)),
    _hidden("ELEMENT", "T (array ARRAY<T>, place BIGINT)"),
    _hidden("ARRAY", "ARRAY<T> (elements T...)"),
    _hidden("MAP", "MAP<K, V> (parts ANY...)", lambda types: Map(types[0], types[1])),
    _hidden("STRUCT", "T (type T, fields ANY...)", _wanted(0)),
)
