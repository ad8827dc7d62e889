"""The closed registry of scalar functions: name, arity and result type.

Operators are functions named by their sign. Functions compute the same as in Spark SQL with ansi
off: integers wrap at their width, a division by zero and a failed cast are null, and a null
argument makes the result null unless a function's comment says otherwise. `/` on integers returns a
DOUBLE.

The engine has the Spark SQL of each function, `duolog.testing.reference` its form in plain Python.

Source: Spark SQL `org.apache.spark.sql.catalyst.expressions` (`DecimalPrecision` for decimals).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from duolog.core.counts import counted
from duolog.plan.errors import TypeMismatch
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
)

Types = tuple[Type, ...]
ResultType = Callable[[str, Types], Type]
"""Returns the type of a call by the function's name and its arguments' types, or raises."""

BLANKS: Final = " \t\n\x0b\f\r"
"""The characters at which SPLIT separates words."""

_DECIMAL_OF: Final = {INT: Decimal(10), BIGINT: Decimal(20)}
_SCALE_KEPT: Final = 6  # Spark's `MINIMUM_ADJUSTED_SCALE`


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its number of arguments and result type."""

    name: str
    arguments_min: int
    arguments_max: int | None
    result: ResultType

    def type_of(self, arguments: Types) -> Type:
        """Return the type of the result.

        Raises:
            StatementError: the number or the types of the arguments do not fit.
        """
        too_many = self.arguments_max is not None and len(arguments) > self.arguments_max
        if len(arguments) < self.arguments_min or too_many:
            raise TypeMismatch(
                f'function "{self.name}" does not take {counted(len(arguments), "argument")}',
                detail=f"It takes {self._arity()}.",
            )
        return self.result(self.name, arguments)

    def _arity(self) -> str:
        if self.arguments_max is None:
            return f"{self.arguments_min} or more"
        if self.arguments_max == self.arguments_min:
            return str(self.arguments_min)
        return f"{self.arguments_min} to {self.arguments_max}"


def common_type(types: Types, name: str) -> Type:
    """Return the type to which values of all `types` can be widened; the error mentions `name`.

    Example:
        >>> print(common_type((INT, NULL, BIGINT), "COALESCE"))
        BIGINT
    """
    return reduce(lambda left, right: _wider(left, right, name), types, NULL)


def _wider(left: Type, right: Type, name: str) -> Type:
    if right in {left, NULL}:
        return left
    if left == NULL:
        return right
    if not (numeric(left) and numeric(right)):
        raise _mismatch(name, (left, right), "values of one type")
    if DOUBLE in {left, right}:
        return DOUBLE
    if {left, right} == {INT, BIGINT}:
        return BIGINT
    one, two = decimal_of(left), decimal_of(right)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return Decimal(min(whole + scale, DECIMAL_PRECISION_MAX), min(scale, DECIMAL_PRECISION_MAX))


def decimal_of(of: Type) -> Decimal:
    """Return the DECIMAL that holds all values of a numeric type other than DOUBLE."""
    return of if isinstance(of, Decimal) else _DECIMAL_OF[of]


def _adjusted(precision: int, scale: int) -> Decimal:
    """Reduce the scale of a too wide result, like Spark's `DecimalType.adjustPrecisionScale`."""
    if precision <= DECIMAL_PRECISION_MAX:
        return Decimal(precision, scale)
    whole = precision - scale
    kept = max(DECIMAL_PRECISION_MAX - whole, min(scale, _SCALE_KEPT))
    return Decimal(DECIMAL_PRECISION_MAX, kept)


def decimal_result(name: str, left: Decimal, right: Decimal) -> Decimal:
    """Return the type of an arithmetic operation on two DECIMALs."""
    (p1, s1), (p2, s2) = (left.precision, left.scale), (right.precision, right.scale)
    match name:
        case "+" | "-":
            scale = max(s1, s2)
            return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_SCALE_KEPT, s1 + p2 + 1)
            return _adjusted(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def _arithmetic(name: str, types: Types) -> Type:
    if not all(numeric(of) or of == NULL for of in types):
        raise _mismatch(name, types, "numbers")
    if len(types) == 1:
        return DOUBLE if types[0] == NULL else types[0]
    known = [of for of in types if of != NULL]
    if len(known) < 2:
        # Spark treats a null in arithmetic as a value of the other side's type.
        known = [known[0] if known else DOUBLE] * 2
    if DOUBLE in known:
        return DOUBLE
    if any(isinstance(of, Decimal) for of in known):
        return decimal_result(name, *(decimal_of(of) for of in known))
    return DOUBLE if name == "/" else common_type(tuple(known), name)


def _added_exactly(name: str, types: Types) -> Type:
    if not all(isinstance(of, Decimal) for of in types):
        raise _mismatch(name, types, "two DECIMALs")
    return types[0]


def _first(_name: str, types: Types) -> Type:
    return types[0]


def _comparison(name: str, types: Types) -> Type:
    if isinstance(common_type(types, name), Map):
        raise _mismatch(name, types, "values that have an order")
    return BOOLEAN


def _logic(name: str, types: Types) -> Type:
    if not all(of in {BOOLEAN, NULL} for of in types):
        raise _mismatch(name, types, "conditions")
    return BOOLEAN


def _case(name: str, types: Types) -> Type:
    conditions, values = types[:-1:2], types[1::2]
    _logic(name, conditions)
    return common_type(values + types[-1:] * (len(types) % 2), name)


def _coalesce(name: str, types: Types) -> Type:
    return common_type(types, name)


def _ordered(name: str, types: Types) -> Type:
    found = common_type(types, name)
    if isinstance(found, Map | Struct):
        raise _mismatch(name, types, "values that have an order")
    return found


def _text(name: str, types: Types) -> Type:
    if not all(of in {STRING, NULL} for of in types):
        raise _mismatch(name, types, "texts", hint="Cast the other values to STRING.")
    return STRING


def _like(name: str, types: Types) -> Type:
    _text(name, types)
    return BOOLEAN


def _texts(name: str, types: Types) -> Type:
    return Array(_text(name, types))


def _array(name: str, types: Types) -> Type:
    return Array(common_type(types, name))


def _length(name: str, types: Types) -> Type:
    if types[0] not in {STRING, BYTES, NULL}:
        raise _mismatch(name, types, "a text or bytes")
    return INT


def _substring(name: str, types: Types) -> Type:
    _text(name, types[:1])
    if not all(of in {INT, NULL} for of in types[1:]):
        raise _mismatch(name, types, "a text, a position and a length as INT")
    return STRING


def _round(name: str, types: Types) -> Type:
    if types[1:] and types[1] != INT:
        raise _mismatch(name, types, "a number, and the digits to keep as INT")
    # The number of digits is a value, and the result type cannot depend on it.
    return _arithmetic(name, types[:1])


def _whole(name: str, types: Types) -> Type:
    of = _arithmetic(name, types)
    return Decimal(min(of.precision - of.scale + 1, 38)) if isinstance(of, Decimal) else BIGINT


def _mismatch(name: str, types: Types, wanted: str, hint: str = "") -> TypeMismatch:
    if name == "+" and STRING in types:
        hint = "Write concat(...) to join texts."
    return TypeMismatch(
        f'"{name}" does not take ({", ".join(map(str, types))})',
        detail=f"It takes {wanted}.",
        hint=hint or "Cast one side, or compare with a literal of the same type.",
    )


def _always(of: Type) -> ResultType:
    return lambda _name, _types: of


FUNCTIONS: Final = {
    function.name: function
    for function in (
        Function("+", 2, 2, _arithmetic),
        Function("-", 1, 2, _arithmetic),
        Function("*", 2, 2, _arithmetic),
        Function("/", 2, 2, _arithmetic),
        Function("%", 2, 2, _arithmetic),
        # A sum in the type of the first argument; the record fails if it does not fit.
        Function("ADD_EXACT", 2, 2, _added_exactly),
        # The first argument; the record fails if it is null although no other argument is.
        Function("FITS", 2, None, _first),
        Function("=", 2, 2, _comparison),
        Function("<>", 2, 2, _comparison),
        Function("<", 2, 2, _comparison),
        Function("<=", 2, 2, _comparison),
        Function(">", 2, 2, _comparison),
        Function(">=", 2, 2, _comparison),
        Function("AND", 2, None, _logic),
        Function("OR", 2, None, _logic),
        Function("NOT", 1, 1, _logic),
        Function("IS_NULL", 1, 1, _always(BOOLEAN)),  # never null
        Function("IS_NOT_NULL", 1, 1, _always(BOOLEAN)),  # never null
        Function("IN", 2, None, _comparison),  # the value, then the list
        Function("BETWEEN", 3, 3, _comparison),  # the value, then the bounds, both inside
        Function("LIKE", 2, 2, _like),  # % any text, _ one character, \ escapes the next character
        Function("CASE", 2, None, _case),  # condition, value, condition, value, ..., [else]
        Function("IF", 3, 3, _case),
        Function("COALESCE", 1, None, _coalesce),
        Function("GREATEST", 2, None, _ordered),  # ignores nulls
        Function("LEAST", 2, None, _ordered),  # ignores nulls
        Function("ABS", 1, 1, _arithmetic),
        Function("ROUND", 1, 2, _round),  # half away from zero
        Function("FLOOR", 1, 1, _whole),
        Function("CEIL", 1, 1, _whole),
        Function("CONCAT", 1, None, _text),
        Function("UPPER", 1, 1, _text),
        Function("LOWER", 1, 1, _text),
        Function("TRIM", 1, 1, _text),  # spaces only
        Function("SUBSTRING", 2, 3, _substring),  # 1-based; a negative position counts from the end
        Function("LENGTH", 1, 1, _length),  # characters of a text, bytes of BYTES
        Function("CONTAINS", 2, 2, _like),
        Function("STARTS_WITH", 2, 2, _like),
        Function("ENDS_WITH", 2, 2, _like),
        Function("REPLACE", 3, 3, _text),  # all occurrences; an empty text never occurs
        Function(
            "SPLIT", 1, 2, _texts
        ),  # at a separator; without one at blanks, without empty texts
        Function("FIND_ALL", 2, 2, _texts),  # all matches of a Java regular expression
        Function("ARRAY", 1, None, _array),  # elements may be null
    )
}
"""The functions by name."""
