"""The operators of SQL: comparisons that are true or false and never null, arithmetic as Java's.

a = b, a < b …       false where a side is null
a + b, a / b …       INTEGER and BIGINT wrap and cut, as Java's; null by zero
DECIMAL              as many digits as the result may have
"""

from typing import Final

from duolog.plan.errors import TypeMismatch
from duolog.plan.sql.signatures import SqlFunction, Types, function
from duolog.plan.types import BIGINT, DOUBLE, INT, NULL, Decimal, Type, numeric

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


OPERATORS: Final = (
    *(_arithmetic(sign) for sign in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MODULUS")),
    *(
        function(sign, _FAMILY, "", "BOOLEAN (left T, right T)", hidden=True)
        for sign in ("EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL")
    ),
    *(
        function(sign, _FAMILY, "", "BOOLEAN (left T, right T)", hidden=True)
        for sign in ("GREATER_THAN", "GREATER_THAN_OR_EQUAL", "IS_DISTINCT_FROM")
    ),
)
