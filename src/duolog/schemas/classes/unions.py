"""Unions of several types: distinguish their branches, and find the branch of a value."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import combinations
from typing import Any, Final

from duolog.schemas.classes.classes import is_typed_dict
from duolog.schemas.classes.shapes import (
    ChoiceOf,
    DecimalOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    called,
)

_TYPES: Final[dict[Scalar, tuple[type, ...]]] = {
    Scalar.TEXT: (str,),
    Scalar.INT: (int,),
    Scalar.LONG: (int,),
    Scalar.DOUBLE: (float,),
    Scalar.BOOLEAN: (bool,),
    Scalar.BYTES: (bytes, bytearray),
    Scalar.DATE: (dt.date,),
    Scalar.TIME: (dt.time,),
    Scalar.DATETIME: (dt.datetime,),
    Scalar.UUID: (uuid.UUID,),
}


def types_of(shape: Shape) -> tuple[type, ...]:  # noqa: PLR0911 - a table of cases
    """Return the Python types of the values that a type has."""
    match shape:
        case Scalar():
            return _TYPES[shape]
        case DecimalOf():
            return (Decimal,)
        case ChoiceOf(of=of):
            return (str,) if of is None else (of,)
        case ListOf(made=made):
            return (made,)
        case MapOf():
            return (dict,)
        case RecordOf(of=of):
            return (dict,) if is_typed_dict(of) else (of,)
        case _:
            return ()


def python_kind(shape: Shape) -> object:
    """Return the Python type of the values of a type; types of one kind are not distinguished."""
    return types_of(shape)[:1]


def clash(shapes: Iterable[Shape], kind_of: Callable[[Shape], object]) -> str | None:
    """Return the names of two types of the same kind; None if there are none."""
    for one, other in combinations(shapes, 2):
        if kind_of(one) == kind_of(other):
            return f"{called(one)} and {called(other)}"
    return None


def branch_of(shapes: tuple[Shape, ...], value: Any) -> int | None:
    """Return the number of the branch for a value; None if none of them has it.

    The type itself comes before types that it is derived from: a bool is an int in Python.
    """
    for number, shape in enumerate(shapes):
        if type(value) in types_of(shape):
            return number
    for number, shape in enumerate(shapes):
        if isinstance(value, types_of(shape)) and not isinstance(value, bool):
            return number
    return None


def tag_of(records: list[RecordOf]) -> str | None:
    """Return the field that distinguishes classes; None if there is none.

    Each class has it as a Literal, with other texts than the other classes.
    """
    for name in [field.name for field in records[0].fields]:
        shapes = [
            field.shape for record in records for field in record.fields if field.name == name
        ]
        choices = [shape for shape in shapes if isinstance(shape, ChoiceOf) and shape.of is None]
        texts = [text for shape in choices for text in shape.texts]
        if len(choices) == len(records) and len(set(texts)) == len(texts):
            return name
    return None
