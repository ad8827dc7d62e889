"""Functions of numbers."""

from functools import reduce
from typing import Final

from duolog.plan.sql.signatures import SqlFunction, Types, function, wider_decimal
from duolog.plan.types import (
    BIGINT,
    DOUBLE,
    NULL,
    Decimal,
    Type,
)

_FAMILY: Final = "MATHEMATICAL"
_COMPARED: Final = (
    "INT",
    "BIGINT",
    "DOUBLE",
    "DECIMAL",
    "STRING",
    "BYTES",
    "DATE",
    "TIME",
    "TIMESTAMP",
)


def _of_double(name: str, description: str) -> SqlFunction:
    """Return a function of one number with a DOUBLE as result."""
    numbers = ("INT", "BIGINT", "DOUBLE")
    return function(name, _FAMILY, description, *(f"DOUBLE (value {of})" for of in numbers))


def _of_same_type(name: str, description: str) -> SqlFunction:
    """Return a function of one number with a result of the same type."""
    numbers = ("INT", "BIGINT", "DOUBLE", "DECIMAL")
    return function(name, _FAMILY, description, *(f"{of} (value {of})" for of in numbers))


def _at_places(name: str, description: str) -> SqlFunction:
    """Return a function that removes decimal places, all of them or from a position on."""
    return function(
        name,
        _FAMILY,
        description,
        "BIGINT (value BIGINT)",
        "BIGINT (value INT)",
        "BIGINT (value DOUBLE)",
        "DECIMAL (value DECIMAL)",
        "DOUBLE (value DOUBLE, places INT)",
        "DECIMAL (value DECIMAL, places INT)",
        result_of=_without_digits,
    )


def _without_digits(types: Types) -> Type:
    match types:
        case (Decimal(precision=precision, scale=scale),):
            return Decimal(max(precision - scale, 1), 0)
        case (_,):
            return BIGINT
        case (Decimal() as of, _):
            return of
        case _:
            return DOUBLE


def _compared(name: str, description: str) -> SqlFunction:
    """Return a function that returns one of its arguments, which have the same type."""
    signatures = (f"{of} (first {of}, others {of}...)" for of in _COMPARED)
    return function(name, _FAMILY, description, *signatures, result_of=_widest)


def _widest(types: Types) -> Type:
    known = [of for of in types if of != NULL]
    decimals = [of for of in known if isinstance(of, Decimal)]
    return reduce(wider_decimal, decimals) if decimals else known[0]


MATHEMATICAL_FUNCTIONS: Final = (
    _of_same_type("ABS", "Returns the absolute value of a number."),
    _of_same_type("CEIL", "Returns the least integer that is not less than a number."),
    _of_same_type("FLOOR", "Returns the greatest integer that is not greater than a number."),
    _at_places(
        "ROUND",
        "Rounds a number to a number of decimal places, or to a power of ten if it is negative; "
        "a tie is rounded up.",
    ),
    _at_places(
        "TRUNC",
        "Truncates a number to a number of decimal places, or to a power of ten if it is negative.",
    ),
    function(
        "SIGN",
        _FAMILY,
        "Returns -1 for negative numbers, 1 for positive ones, else 0.",
        "INT (value INT)",
        "INT (value BIGINT)",
        "INT (value DOUBLE)",
    ),
    _of_double("ACOS", "Returns the angle, in radians, whose cosine is given."),
    _of_double("ASIN", "Returns the angle, in radians, whose sine is given."),
    _of_double("ATAN", "Returns the angle, in radians, whose tangent is given."),
    function(
        "ATAN2",
        _FAMILY,
        "Returns the angle, in radians, of the point (x, y) in polar coordinates.",
        "DOUBLE (y DOUBLE, x DOUBLE)",
    ),
    _of_double("CBRT", "Returns the cube root."),
    _of_double("COS", "Returns the cosine of an angle in radians."),
    _of_double("COSH", "Returns the hyperbolic cosine."),
    _of_double("COT", "Returns the cotangent of an angle in radians."),
    _of_double("DEGREES", "Returns an angle in radians as degrees."),
    _of_double("EXP", "Returns Euler's number to the power of a number."),
    _of_double("LN", "Returns the natural logarithm; NaN for negative numbers."),
    function(
        "LOG",
        _FAMILY,
        "Returns the logarithm of a number to a base, by default the natural one; "
        "NaN for negative numbers.",
        "DOUBLE (value DOUBLE)",
        "DOUBLE (base DOUBLE, value DOUBLE)",
    ),
    function("PI", _FAMILY, "Returns the number pi.", "DOUBLE ()"),
    function(
        "POWER",
        _FAMILY,
        "Returns a number raised to a power.",
        "DOUBLE (base DOUBLE, exponent DOUBLE)",
    ),
    _of_double("RADIANS", "Returns an angle in degrees as radians."),
    function(
        "RANDOM",
        _FAMILY,
        "Returns a random number from 0 to less than 1, a new one for each record and each call.",
        "DOUBLE ()",
    ),
    _of_double("SIN", "Returns the sine of an angle in radians."),
    _of_double("SINH", "Returns the hyperbolic sine."),
    _of_double("SQRT", "Returns the square root; NaN for negative numbers."),
    _of_double("TAN", "Returns the tangent of an angle in radians."),
    _of_double("TANH", "Returns the hyperbolic tangent."),
    _compared("GREATEST", "Returns the greatest of several values; nulls are ignored."),
    _compared("LEAST", "Returns the least of several values; nulls are ignored."),
)
