"""Convert instances to values of Avro without logical types, as fastavro writes them, and back.

str, UUID      text                     Decimal    bytes of the unscaled number
int, bool      as they are              Enum       symbol
float          double                   list, set  list
bytes          bytes                    dict       dict; keys that are not texts: entries
date           days since 1970          class      dict
time           microseconds of the day  A | B      a pair of the branch's name and the value,
datetime       microseconds since 1970             unless Python's type shows the branch
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, Final

from duolog.schemas.classes import checks
from duolog.schemas.classes.conversion import Conversion, Convert
from duolog.schemas.classes.shapes import (
    ChoiceOf,
    DecimalOf,
    FieldOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
)

_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
_NAMES: Final = {
    Scalar.TEXT: "string",
    Scalar.UUID: "string",
    Scalar.INT: "int",
    Scalar.DATE: "int",
    Scalar.LONG: "long",
    Scalar.TIME: "long",
    Scalar.DATETIME: "long",
    Scalar.DOUBLE: "double",
    Scalar.BOOLEAN: "boolean",
    Scalar.BYTES: "bytes",
}
_PYTHON: Final = {
    "string": str,
    "int": int,
    "long": int,
    "double": float,
    "boolean": bool,
    "bytes": bytes,
}


def kind_of(shape: Shape) -> str:
    """Return the type of Avro that a shape is written as, without namespace."""
    match shape:
        case Scalar():
            return _NAMES[shape]
        case DecimalOf():
            return "bytes"
        case MapOf(key=key) if key == Scalar.TEXT:
            return "map"
        case ListOf() | MapOf():
            return "array"
        case ChoiceOf(name=name) | RecordOf(name=name):
            return name
        case UnionOf():
            return "union"


class ToAvro(Conversion):
    """Functions that convert Python values to values that fastavro writes.

    Args:
        namespace: the namespace of all names.
        names_branches: False to return the values of unions without the name of their branch.
    """

    def __init__(self, namespace: str | None, *, names_branches: bool = True) -> None:
        super().__init__()
        self._prefix = f"{namespace}." if namespace else ""
        self._names_branches = names_branches

    def scalar(self, shape: Scalar, path: str) -> Convert:
        change = _TO_AVRO.get(shape)
        if change is None:
            return lambda value: checks.scalar(value, shape, path)
        return lambda value: change(checks.scalar(value, shape, path))

    def decimal(self, shape: DecimalOf, path: str) -> Convert:
        def convert(value: Any) -> bytes:
            digits = checks.unscaled(value, shape, path)
            length = (digits + (digits < 0)).bit_length() // 8 + 1
            return digits.to_bytes(length, "big", signed=True)

        return convert

    def choice(self, shape: ChoiceOf, path: str) -> Convert:
        return lambda value: checks.symbol(value, shape, path)

    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert:
        return lambda value: [item(one) for one in checks.elements(value, shape, path)]

    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert:
        is_map = shape.key == Scalar.TEXT

        def convert(given: Any) -> Any:
            if not isinstance(given, dict):
                raise checks.wrong(given, shape, path)
            pairs = [(key(name), value(one)) for name, one in given.items()]
            return dict(pairs) if is_map else [{"key": one, "value": two} for one, two in pairs]

        return convert

    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        names = [
            f"{self._prefix}{kind_of(branch)}"
            if isinstance(branch, RecordOf)
            else _NAMES.get(branch)
            if isinstance(branch, Scalar)
            else None
            for branch in shape.branches
        ]

        def convert(value: Any) -> Any:
            number = checks.branch(value, shape, path)
            found, name = each[number](value), names[number]
            return found if name is None or not self._names_branches else (name, found)

        return convert

    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert:
        parts = [(field.name, field.attribute, field.may_be_missing, to) for field, to in fields]

        def convert(value: Any) -> Any:
            given = shape.values(checks.instance(value, shape, path))
            try:
                return {
                    name: to(given.get(attribute) if optional else given[attribute])
                    for name, attribute, optional, to in parts
                }
            except KeyError as error:
                raise checks.WrongValueError(
                    f'"{path or shape.name}" has no key {error}'
                ) from error

        return convert


class FromAvro(Conversion):
    """Functions that convert values that fastavro reads to Python values.

    A value of a class or Enum in a union of several types is a pair of its name and itself.
    """

    def scalar(self, shape: Scalar, path: str) -> Convert:
        return _FROM_AVRO.get(shape, _same)

    def decimal(self, shape: DecimalOf, path: str) -> Convert:
        return lambda value: checks.decimal_of(
            int.from_bytes(value, "big", signed=True), shape.scale
        )

    def choice(self, shape: ChoiceOf, path: str) -> Convert:
        return lambda value: shape.value(_unnamed(value))

    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert:
        return lambda value: shape.made([item(one) for one in value])

    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert:
        if shape.key == Scalar.TEXT:
            return lambda given: {key(name): value(one) for name, one in given.items()}
        return lambda given: {key(one["key"]): value(one["value"]) for one in given}

    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        named = {
            branch.name: convert
            for branch, convert in zip(shape.branches, each, strict=True)
            if isinstance(branch, RecordOf | ChoiceOf)
        }
        plain: dict[type, Convert] = {}
        for branch, convert in zip(shape.branches, each, strict=True):
            kind = kind_of(branch)
            if kind in _PYTHON:
                plain[_PYTHON[kind]] = convert
            elif kind in {"map", "array"}:
                plain[dict if kind == "map" else list] = convert

        def read(value: Any) -> Any:
            if isinstance(value, tuple):
                return named[value[0].rpartition(".")[2]](value[1])
            return plain[type(value)](value)

        return read

    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert:
        parts = [(field.attribute, field.name, read) for field, read in fields]

        def convert(value: Any) -> Any:
            found = _unnamed(value)
            return shape.make({attribute: read(found[name]) for attribute, name, read in parts})

        return convert


def _unnamed(value: Any) -> Any:
    return value[1] if isinstance(value, tuple) else value


def _same(value: Any) -> Any:
    return value


_TO_AVRO: Final[dict[Scalar, Convert]] = {
    Scalar.UUID: str,
    Scalar.BYTES: bytes,
    Scalar.DATE: lambda value: value.toordinal() - _EPOCH_DAY,
    Scalar.TIME: checks.microseconds_of_day,
    Scalar.DATETIME: checks.microseconds,
}
_FROM_AVRO: Final[dict[Scalar, Convert]] = {
    Scalar.UUID: uuid.UUID,
    Scalar.DATE: lambda value: dt.date.fromordinal(value + _EPOCH_DAY),
    Scalar.TIME: checks.time_of,
    Scalar.DATETIME: checks.datetime_of,
}
