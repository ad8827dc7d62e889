"""Hashable forms of values."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any


def hashable(value: object) -> Any:
    """Return a hashable form of a value: lists become tuples, dicts tuples of their items."""
    match value:
        case list() | tuple():
            return tuple(hashable(item) for item in value)
        case dict():
            return tuple((name, hashable(item)) for name, item in value.items())
        case _:
            return value


def identity(value: object) -> object:
    """Return a form of a hashable value whose text is the same for equal values, and only for them.

    Example:
        >>> identity((Decimal("1.50"), 1)) == identity((Decimal("1.5"), 1.0))
        True
    """
    match value:
        case tuple():
            return tuple(identity(item) for item in value)
        case int() | float() | Decimal():
            try:
                return value.as_integer_ratio()
            except (OverflowError, ValueError):  # An infinite number, or NaN.
                return float(value)
        case datetime(tzinfo=zone) if zone is not None:
            return value.astimezone(UTC)
        case _:
            return value
