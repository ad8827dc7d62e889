"""Python values that can be literals in expressions, and their types."""

import datetime as dt
from decimal import Decimal as PythonDecimal
from typing import Final

from duolog.plan.errors import TypeMismatch
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Decimal,
    Type,
)

PlainValue = bool | int | float | str | bytes | PythonDecimal | dt.datetime | dt.date | None

_INT_MAX: Final = 2**31 - 1
_BIGINT_MAX: Final = 2**63 - 1


def type_of_value(value: PlainValue) -> Type:  # noqa: PLR0911 - a table of cases
    """Return the type of a Python value, as in Spark.

    Raises:
        StatementError: the value has no type.
    """
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int() if -_INT_MAX - 1 <= value <= _INT_MAX:
            return INT
        case int() if -_BIGINT_MAX - 1 <= value <= _BIGINT_MAX:
            return BIGINT
        case float():
            return DOUBLE
        case str():
            return STRING
        case bytes():
            return BYTES
        case PythonDecimal() if value.is_finite():
            return _decimal_type(value)
        case dt.datetime():
            return TIMESTAMP
        case dt.date():
            return DATE
        case _:
            raise TypeMismatch(
                f"cannot use a literal of this type: {value!r}",
                detail="Literals are bool, int of 64 bits, float, str, bytes, Decimal, date, "
                "datetime and None.",
                hint='Write col("name") for a column, array(...) for several values.',
            )


def _decimal_type(value: PythonDecimal) -> Decimal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a finite decimal has a number for its exponent"
    scale = max(-exponent, 0)
    return Decimal(max(len(digits) + max(exponent, 0), scale, 1), scale)
