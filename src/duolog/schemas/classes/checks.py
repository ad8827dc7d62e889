"""Checks of values before they are written: of the annotated type, and within its range."""

import datetime as dt
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final

from duolog.schemas.classes import unions
from duolog.schemas.classes.shapes import (
    ChoiceOf,
    DecimalOf,
    ListOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
    called,
)

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_BITS: Final = {Scalar.INT: 32, Scalar.LONG: 64}
_DAY: Final = 86_400_000_000
_EXACT: Final = Context(prec=100, traps=[Inexact, InvalidOperation])


class WrongValueError(ValueError):
    """A value that a field cannot have; the message names the field."""


def wrong(value: object, shape: Shape, path: str) -> WrongValueError:
    """Return the error for a value of another type."""
    shown = repr(value)
    shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
    return WrongValueError(f'"{path or called(shape)}" is {shown}, not a value of {called(shape)}')


def scalar(value: Any, shape: Scalar, path: str) -> Any:
    """Return a value if it is of its type; an int is a float, too.

    Raises:
        WrongValueError: it is not.
    """
    if type(value) not in unions.types_of(shape):
        if shape == Scalar.DOUBLE and type(value) is int:
            return float(value)
        # A datetime is a date in Python, and a bool an int; other subclasses are fine.
        derived = isinstance(value, unions.types_of(shape)) and not isinstance(
            value, bool | dt.datetime
        )
        if not derived:
            raise wrong(value, shape, path)
    bits = _BITS.get(shape)
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise WrongValueError(f'"{path}" is {value}, which is not an integer of {bits} bits')
    if shape == Scalar.DATETIME and value.utcoffset() is None:
        raise WrongValueError(f'"{path}" is {value}, which has no time zone')
    if shape == Scalar.TIME and value.tzinfo is not None:
        raise WrongValueError(f'"{path}" is {value}, which has a time zone')
    return value


def microseconds(value: dt.datetime) -> int:
    """Return the microseconds since 1970."""
    return (value - _EPOCH) // _MICROSECOND


def datetime_of(micros: int) -> dt.datetime:
    """Return the time of microseconds since 1970, in UTC."""
    return _EPOCH + micros * _MICROSECOND


def microseconds_of_day(value: dt.time) -> int:
    """Return the microseconds since midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def time_of(micros: int) -> dt.time:
    """Return the time of day of microseconds since midnight."""
    if not 0 <= micros < _DAY:
        raise WrongValueError(f"{micros} µs are not a time of day")
    return datetime_of(micros).time()


def unscaled(value: Any, shape: DecimalOf, path: str) -> int:
    """Return the digits of a decimal as an integer.

    Raises:
        WrongValueError: it has too many digits, before or after the point.
    """
    if not isinstance(value, Decimal) or not value.is_finite():
        raise wrong(value, shape, path)
    try:
        scaled = value.scaleb(shape.scale, _EXACT).to_integral_exact(context=_EXACT)
    except (Inexact, InvalidOperation):
        scaled = None
    if scaled is None or abs(scaled) >= 10**shape.precision:
        raise WrongValueError(
            f'"{path}" is {value}, which is not a decimal({shape.precision},{shape.scale})'
        )
    return int(scaled)


def decimal_of(digits: int, scale: int) -> Decimal:
    """Return the decimal of unscaled digits."""
    return Decimal(digits).scaleb(-scale, _EXACT)


def elements(value: Any, shape: ListOf, path: str) -> Any:
    """Return a value if it is a list, or what its annotation names.

    Raises:
        WrongValueError: it is not.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, shape.made):
        raise wrong(value, shape, path)
    return value


def symbol(value: Any, shape: ChoiceOf, path: str) -> str:
    """Return the symbol of a value.

    Raises:
        WrongValueError: it is not one of the choices.
    """
    if not shape.holds(value):
        raise wrong(value, shape, path)
    return shape.symbol(value)


def branch(value: Any, shape: UnionOf, path: str) -> int:
    """Return the number of the branch of a union for a value.

    Raises:
        WrongValueError: none of them has it.
    """
    found = unions.branch_of(shape.branches, value)
    if found is None:
        raise wrong(value, shape, path)
    return found


def instance(value: Any, shape: RecordOf, path: str) -> Any:
    """Return a value if it is an instance of its class.

    Raises:
        WrongValueError: it is not.
    """
    if not isinstance(value, unions.types_of(shape)):
        raise wrong(value, shape, path)
    return value
