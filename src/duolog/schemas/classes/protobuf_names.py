"""Names in Protobuf schemas of classes, and which fields know that they are there."""

import re
from typing import Final

from duolog.schemas.classes.shapes import (
    NO_DEFAULT,
    ChoiceOf,
    DecimalOf,
    FieldOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
    without_none,
)

MESSAGES: Final = (Scalar.DATE, Scalar.TIME, Scalar.DATETIME)
"""Scalars that are messages in Protobuf."""


def value_name(choice: ChoiceOf, symbol: str) -> str:
    """Return the name of an enum's value: enums share one scope, so it starts with theirs.

    Example:
        >>> value_name(ChoiceOf("OrderStatus", None, ("new",), ("new",)), "new")
        'ORDER_STATUS_new'
    """
    return f"{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', choice.name).upper()}_{symbol}"


def branch_name(field: FieldOf, branch: Shape) -> str:
    """Return the name of the field for a type of a union."""
    kind = without_none(branch)
    match kind:
        case Scalar():
            word = kind.name.lower()
        case DecimalOf():
            word = "decimal"
        case ChoiceOf(name=name) | RecordOf(name=name):
            word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        case _:
            word = "value"
    return f"{field.name}_{word}"


def is_oneof(shape: Shape) -> bool:
    """Return True for a union of several types."""
    return isinstance(shape, UnionOf) and len(shape.branches) > 1


def has_presence(field: FieldOf) -> bool:
    """Return True for a field that is written as `optional`."""
    inner = without_none(field.shape)
    if isinstance(inner, ListOf | MapOf | RecordOf | DecimalOf) or inner in MESSAGES:
        return False
    return inner is not field.shape or field.default is not NO_DEFAULT or field.has_factory
