"""Write instances as JSON texts, and make instances of parsed JSON.

str, bool, int   as they are              UUID        text
float            number, not NaN          Enum        text: its value if all values are texts
Decimal          number with all digits   list, set   array
bytes            base64                   dict        object
date, time       ISO 8601                 class       object
datetime         ISO 8601 in UTC, ending with Z
"""

import base64
import datetime as dt
import math
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from duolog.schemas.classes import checks, unions
from duolog.schemas.classes.conversion import Conversion, Convert
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
)


def kind_of(shape: Shape) -> str:
    """Return the type of JSON that a shape is written as."""
    match shape:
        case Scalar.BOOLEAN:
            return "boolean"
        case Scalar.INT | Scalar.LONG | Scalar.DOUBLE | DecimalOf():
            return "number"
        case Scalar() | ChoiceOf():
            return "string"
        case ListOf():
            return "array"
        case _:
            return "object"


class ToJson(Conversion):
    """Functions that convert Python values to values that `json.dumps` writes, and Decimals."""

    def scalar(self, shape: Scalar, path: str) -> Convert:
        change = _TO_JSON.get(shape)
        if shape == Scalar.DOUBLE:
            return lambda value: _finite(checks.scalar(value, shape, path), path)
        if change is None:
            return lambda value: checks.scalar(value, shape, path)
        return lambda value: change(checks.scalar(value, shape, path))

    def decimal(self, shape: DecimalOf, path: str) -> Convert:
        return lambda value: checks.decimal_of(checks.unscaled(value, shape, path), shape.scale)

    def choice(self, shape: ChoiceOf, path: str) -> Convert:
        texts = dict(zip(shape.symbols, shape.texts, strict=True))
        return lambda value: texts[checks.symbol(value, shape, path)]

    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert:
        return lambda value: [item(one) for one in checks.elements(value, shape, path)]

    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert:
        def convert(given: Any) -> Any:
            if not isinstance(given, dict):
                raise checks.wrong(given, shape, path)
            return {key(name): value(one) for name, one in given.items()}

        return convert

    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        return lambda value: each[checks.branch(value, shape, path)](value)

    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert:
        parts = [(field.name, field.attribute, field.may_be_missing, to) for field, to in fields]

        def convert(value: Any) -> Any:
            given = shape.values(checks.instance(value, shape, path))
            try:
                return {
                    name: to(given[attribute])
                    for name, attribute, optional, to in parts
                    if not optional or attribute in given
                }
            except KeyError as error:
                raise checks.WrongValueError(
                    f'"{path or shape.name}" has no key {error}'
                ) from error

        return convert


class FromJson(Conversion):
    """Functions that convert parsed JSON, in which fractions are Decimals, to Python values."""

    def scalar(self, shape: Scalar, path: str) -> Convert:
        read = _FROM_JSON.get(shape)

        def convert(value: Any) -> Any:
            if not isinstance(value, _PARSED[shape]) or (
                isinstance(value, bool) and shape != Scalar.BOOLEAN
            ):
                raise checks.wrong(value, shape, path)
            return value if read is None else read(value)

        return convert

    def decimal(self, shape: DecimalOf, path: str) -> Convert:
        def convert(value: Any) -> Decimal:
            if not isinstance(value, int | Decimal | str) or isinstance(value, bool):
                raise checks.wrong(value, shape, path)
            digits = checks.unscaled(Decimal(value), shape, path)
            return checks.decimal_of(digits, shape.scale)

        return convert

    def choice(self, shape: ChoiceOf, path: str) -> Convert:
        symbols = dict(zip(shape.texts, shape.symbols, strict=True))

        def convert(value: Any) -> Any:
            if not isinstance(value, str) or value not in symbols:
                raise checks.wrong(value, shape, path)
            return shape.value(symbols[value])

        return convert

    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert:
        def convert(value: Any) -> Any:
            if not isinstance(value, list):
                raise checks.wrong(value, shape, path)
            return shape.made([item(one) for one in value])

        return convert

    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert:
        def convert(given: Any) -> Any:
            if not isinstance(given, dict):
                raise checks.wrong(given, shape, path)
            return {key(name): value(one) for name, one in given.items()}

        return convert

    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        branches = list(zip(shape.branches, each, strict=True))
        plain = {kind_of(one): read for one, read in branches}
        records = [one for one, _ in branches if isinstance(one, RecordOf)]
        tag = unions.tag_of(records) if len(records) > 1 else None
        tagged = {text: read for one, read in branches for text in _texts(one, tag)}

        def convert(value: Any) -> Any:
            kind = _kind_of_value(value)
            if kind == "object" and tag is not None:
                if value.get(tag) not in tagged:
                    raise checks.wrong(value, shape, path)
                return tagged[value[tag]](value)
            if kind not in plain:
                raise checks.wrong(value, shape, path)
            return plain[kind](value)

        return convert

    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert:
        parts = [(field.attribute, (field.name, *field.aliases), field, to) for field, to in fields]

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                raise checks.wrong(value, shape, path)
            found = {}
            for attribute, names, field, read in parts:
                name = next((name for name in names if name in value), None)
                if name is not None:
                    found[attribute] = read(value[name])
                elif field.default is NO_DEFAULT and not field.has_factory:
                    raise checks.WrongValueError(
                        f'"{path or shape.name}" has no field "{field.name}"'
                    )
            return shape.make(found)

        return convert


def _texts(shape: Shape, tag: str | None) -> tuple[str, ...]:
    """Return the texts of the field that identifies a class."""
    if not isinstance(shape, RecordOf) or tag is None:
        return ()
    (choice,) = [field.shape for field in shape.fields if field.name == tag]
    assert isinstance(choice, ChoiceOf), choice
    return choice.texts


def _kind_of_value(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float() | Decimal():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _finite(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise checks.WrongValueError(f'"{path}" is {value}, which JSON does not have')
    return value


def _double(value: int | Decimal) -> float:
    """Return a number as a float; one beyond its range is infinity, as for the columns of JSON."""
    return float(Decimal(value))


def _datetime_text(value: dt.datetime) -> str:
    return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _datetime(text: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return found.astimezone(dt.UTC)


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_PARSED: Final[dict[Scalar, type | tuple[type, ...]]] = {
    **dict.fromkeys(Scalar, str),
    Scalar.BOOLEAN: bool,
    Scalar.INT: int,
    Scalar.LONG: int,
    Scalar.DOUBLE: (int, Decimal),
}
_TO_JSON: Final[dict[Scalar, Convert]] = {
    Scalar.UUID: str,
    Scalar.BYTES: lambda value: base64.b64encode(value).decode(),
    Scalar.DATE: lambda value: value.isoformat(),
    Scalar.TIME: lambda value: value.isoformat(),
    Scalar.DATETIME: _datetime_text,
}
_FROM_JSON: Final[dict[Scalar, Convert]] = {
    Scalar.DOUBLE: _double,
    Scalar.UUID: uuid.UUID,
    Scalar.BYTES: _base64,
    Scalar.DATE: dt.date.fromisoformat,
    Scalar.TIME: dt.time.fromisoformat,
    Scalar.DATETIME: _datetime,
}
