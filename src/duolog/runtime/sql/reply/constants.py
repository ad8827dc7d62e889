"""Evaluate constant expressions of INSERT without the kernel, as far as both are known to agree.

    1, 'a', X'00', DATE '2020-01-02', NULL  as they are
    CAST(1 AS BIGINT)                       widened numbers, also within composite values
    ARRAY[…], MAP(…), STRUCT(…)             of such parts
    TO_BYTES('AP8=', 'base64')              text in an encoding

Everything else is left to the kernel: other functions, and values that a conversion would change or
refuse. So a value is either the kernel's or not computed here; tests compare the two.
"""

from collections.abc import Mapping, Sequence
from decimal import Context
from decimal import Decimal as PythonDecimal
from typing import Any, Final, NamedTuple

from duolog.plan.expressions import Call, Cast, Expression, Literal
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.runtime.sql.functions.binary import to_bytes

_PLAIN: Final = frozenset(
    {BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INT, NULL, STRING, TIME, TIMESTAMP}
)
"""Types whose constants are the same in plans and in rows."""
_WHOLE: Final = (INT, BIGINT)
_LONG_MAX: Final = 2**63
_WIDE: Final = Context(prec=60)
"""Has room for all digits of a DECIMAL; Python's own has room for 28."""


class Constant(NamedTuple):
    """A value as a row has it, with its type."""

    value: Any
    type: Type


class _LeftToTheKernel(Exception):
    """The expression is not evaluated here."""


def constant_of(expression: Expression) -> Constant | None:
    """Return the value of an expression, or None if the kernel has to evaluate it.

    Example:
        >>> from duolog.plan.expressions import Literal
        >>> constant_of(Literal(1, INT))
        Constant(value=1, type=Type(name='INT'))
    """
    try:
        return _constant(expression)
    except _LeftToTheKernel:
        return None


def _constant(expression: Expression) -> Constant:
    match expression:
        case Literal(value=None, type=of):
            return Constant(None, of)
        case Literal(value=value, type=of) if of in _PLAIN or isinstance(of, Decimal):
            return Constant(value, of)
        case Cast(arg=Literal(value=None), type=of):
            return Constant(None, of)
        case Call(function=name, args=args) if name.startswith(PREFIX):
            return _called(name.removeprefix(PREFIX), args)
        case _:
            raise _LeftToTheKernel


def _called(name: str, args: Sequence[Expression]) -> Constant:
    match name:
        case "CAST":
            value, wanted = args
            found = _constant(value)
            of = _constant(wanted).type
            return Constant(_as(found.value, found.type, of), of)
        case "ARRAY":
            found_all = [_constant(one) for one in args]
            return Constant([one.value for one in found_all], Array(_common(found_all)))
        case "MAP":
            return _map([_constant(one) for one in args])
        case "STRUCT":
            given, *parts = (_constant(one) for one in args)
            assert isinstance(given.type, Struct), given
            names = (field.name for field in given.type.fields)
            values = {name: part.value for name, part in zip(names, parts, strict=True)}
            return Constant(values, given.type)
        case "TO_BYTES":
            return Constant(_bytes(*(_constant(one).value for one in args)), BYTES)
        case _:
            raise _LeftToTheKernel


def _common(parts: Sequence[Constant]) -> Type:
    """Return the type of elements: the binder has converted all of them to one."""
    return next((one.type for one in parts if one.type != NULL), NULL)


def _map(parts: Sequence[Constant]) -> Constant:
    keys, values = parts[::2], parts[1::2]
    of = Map(_common(keys), _common(values))
    made = {key.value: value.value for key, value in zip(keys, values, strict=True)}
    if None in made or len(made) < len(keys) or of.key != STRING:
        raise _LeftToTheKernel
    return Constant(made, of)


def _bytes(text: str | None, encoding: str | None) -> bytes | None:
    if text is None or encoding is None:
        return None
    try:
        return to_bytes(text, encoding)
    except ValueError as error:
        raise _LeftToTheKernel from error


def _as(value: Any, given: Type, wanted: Type) -> Any:  # noqa: PLR0911 - a table of cases
    """Return a value as another type that it fits into."""
    if value is None or given == wanted:
        return value
    match given, wanted:
        case Array(element=one), Array(element=other):
            return [_as(item, one, other) for item in value]
        case Map(key=k1, value=one), Map(key=k2, value=other) if k1 == k2:
            return {key: _as(item, one, other) for key, item in value.items()}
        case Struct(fields=fields), Struct(fields=others):
            types: Mapping[str, Type] = dict(fields)
            return {
                name: _as(value[name], types[name], of) if name in types else None
                for name, of in others
            }
        case _, Type() if wanted == DOUBLE and (given in _WHOLE or isinstance(given, Decimal)):
            return float(value)
        case _, Type() if given in _WHOLE and wanted in _WHOLE and _fits_whole(value, wanted):
            return value
        case _, Decimal() if given in _WHOLE or isinstance(given, Decimal):
            return _as_decimal(PythonDecimal(value), wanted)
        case _:
            raise _LeftToTheKernel


def _fits_whole(value: int, wanted: Type) -> bool:
    most = _LONG_MAX if wanted == BIGINT else 2**31
    return -most <= value < most


def _as_decimal(number: PythonDecimal, wanted: Decimal) -> PythonDecimal:
    """Return a number with the scale of a type, if no digit is lost."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "it is finite"
    scale = max(-exponent, 0)
    whole = len(digits) + exponent
    if scale > wanted.scale or whole > wanted.precision - wanted.scale:
        raise _LeftToTheKernel
    return number.quantize(PythonDecimal(1).scaleb(-wanted.scale), context=_WIDE)
