"""Payloads in Protobuf: message indexes, then the message that the schema of a class describes.

A record is read as the message of the class, as generated code does it: fields go by their numbers.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from duolog.core.errors import SerdeError
from duolog.schemas.classes import checks
from duolog.schemas.classes.protobuf_names import MESSAGES, branch_name, has_presence, is_oneof
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
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes, encode_indexes, parse
from duolog.schemas.schema import Schema

# Messages and their values have no static types.
Set = Callable[[Any, Any], None]
"""Puts a value into a message."""
Get = Callable[[Any], Any]

ABSENT: Final = object()


class ProtobufPayloads:
    """Writes instances as messages, and reads them."""

    def __init__(self, shape: RecordOf, text: str) -> None:
        schema = parse(text, {})
        name = schema.message_name((0,))
        self._name = name.rpartition(".")[2]
        self._message: Any = schema.message_class(name)
        self._head = encode_indexes((0,))
        self._fill = _Writer().record(shape, "")
        self._read = _Reader().record(shape, "")

    def encode(self, value: object) -> bytes:
        """Return the payload of an instance."""
        message = self._message()
        self._fill(message, value)
        data: bytes = message.SerializeToString(deterministic=True)
        return self._head + data

    def decoder(self, writer: Schema | None) -> Callable[[bytes], object]:
        """Return the function that reads payloads which were written with a schema."""
        if not isinstance(writer, ProtobufSchema):
            raise SerdeError("the record was not written in Protobuf")

        def decode(payload: bytes) -> object:
            indexes, at = decode_indexes(payload)
            name = writer.message_name(indexes).rpartition(".")[2]
            if name != self._name:
                raise checks.WrongValueError(f"the message is a {name}, not a {self._name}")
            return self._read(self._message.FromString(payload[at:]))

        return decode


class _Writer:
    def __init__(self) -> None:
        self._records: dict[int, Set] = {}

    def record(self, shape: RecordOf, path: str) -> Set:
        """Return the function that fills a message with an instance."""
        if id(shape) in self._records:
            # It looks the function up with each value: it may not be complete yet.
            return lambda message, value: self._records[id(shape)](message, value)  # noqa: PLW0108
        self._records[id(shape)] = _never
        parts = [
            (field, self._field(field, f"{path}.{field.attribute}" if path else field.attribute))
            for field in shape.fields
        ]

        def fill(message: Any, value: Any) -> None:
            given = shape.values(checks.instance(value, shape, path))
            for field, put in parts:
                if field.may_be_missing and field.attribute not in given:
                    continue
                if field.attribute not in given:
                    raise checks.WrongValueError(
                        f'"{path or shape.name}" has no key {field.attribute!r}'
                    )
                put(message, given[field.attribute])

        self._records[id(shape)] = fill
        return fill

    def _field(self, field: FieldOf, path: str) -> Set:
        shape = field.shape
        if isinstance(shape, UnionOf):
            put = (
                self._oneof(field, shape, path)
                if is_oneof(shape)
                else self._plain(field.name, shape.branches[0], path)
            )
            if not shape.nullable:
                return put
            return lambda message, value: None if value is None else put(message, value)
        return self._plain(field.name, shape, path)

    def _oneof(self, field: FieldOf, shape: UnionOf, path: str) -> Set:
        each = [self._plain(branch_name(field, one), one, path) for one in shape.branches]
        return lambda message, value: each[checks.branch(value, shape, path)](message, value)

    def _plain(self, name: str, shape: Shape, path: str) -> Set:
        match shape:
            case ListOf():
                return self._list(name, shape, path)
            case MapOf():
                return self._map(name, shape, path)
            case _ if _is_message(shape):
                fill = self._message(shape, path)

                def put(message: Any, value: Any) -> None:
                    inner = getattr(message, name)
                    inner.SetInParent()
                    fill(inner, value)

                return put
            case _:
                convert = _scalar(shape, path)
                return lambda message, value: setattr(message, name, convert(value))

    def _list(self, name: str, shape: ListOf, path: str) -> Set:
        below = f"{path}[]"
        fill = self._message(shape.item, below) if _is_message(shape.item) else None
        convert = _scalar(shape.item, below) if fill is None else None

        def put(message: Any, value: Any) -> None:
            target = getattr(message, name)
            for one in checks.elements(value, shape, path):
                if fill is not None:
                    fill(target.add(), one)
                elif convert is not None:
                    target.append(convert(one))

        return put

    def _map(self, name: str, shape: MapOf, path: str) -> Set:
        key = _scalar(shape.key, f"{path}{{key}}")
        below = f"{path}{{}}"
        fill = self._message(shape.value, below) if _is_message(shape.value) else None
        convert = _scalar(shape.value, below) if fill is None else None

        def put(message: Any, value: Any) -> None:
            if not isinstance(value, dict):
                raise checks.wrong(value, shape, path)
            target = getattr(message, name)
            for given, one in value.items():
                if fill is not None:
                    fill(target[key(given)], one)
                elif convert is not None:
                    target[key(given)] = convert(one)

        return put

    def _message(self, shape: Shape, path: str) -> Set:
        match shape:
            case RecordOf():
                return self.record(shape, path)
            case DecimalOf():
                return lambda message, value: _put_decimal(message, value, shape, path)
            case _:
                assert isinstance(shape, Scalar), shape
                put = _PUT[shape]
                return lambda message, value: put(message, checks.scalar(value, shape, path))


class _Reader:
    def __init__(self) -> None:
        self._records: dict[int, Get] = {}

    def record(self, shape: RecordOf, path: str) -> Get:
        """Return the function that makes an instance of a message."""
        if id(shape) in self._records:
            # As above.
            return lambda message: self._records[id(shape)](message)  # noqa: PLW0108
        self._records[id(shape)] = _never
        parts = [
            (field, self._field(field, f"{path}.{field.attribute}" if path else field.attribute))
            for field in shape.fields
        ]

        def make(message: Any) -> Any:
            found = {field.attribute: read(message) for field, read in parts}
            for field, _ in parts:
                if found[field.attribute] is ABSENT:
                    if field.default is NO_DEFAULT and not field.has_factory:
                        raise checks.WrongValueError(
                            f'"{path or shape.name}" has no field "{field.name}"'
                        )
                    del found[field.attribute]
            return shape.make(found)

        self._records[id(shape)] = make
        return make

    def _field(self, field: FieldOf, path: str) -> Get:
        """Return the function that reads a field; its result is `ABSENT` if it is not there."""
        shape, name = field.shape, field.name
        absent = None if isinstance(shape, UnionOf) and shape.nullable else ABSENT
        if isinstance(shape, UnionOf) and is_oneof(shape):
            each = {branch_name(field, one): self._value(one, path) for one in shape.branches}

            def choose(message: Any) -> Any:
                chosen = message.WhichOneof(name)
                return absent if chosen is None else each[chosen](getattr(message, chosen))

            return choose
        inner = without_none(shape)
        if isinstance(inner, ListOf):
            item, made = self._value(inner.item, f"{path}[]"), inner.made
            return lambda message: made([item(one) for one in getattr(message, name)])
        if isinstance(inner, MapOf):
            key, value = self._value(inner.key, path), self._value(inner.value, f"{path}{{}}")
            return lambda message: {
                key(given): value(one) for given, one in getattr(message, name).items()
            }
        read = self._value(inner, path)
        if _is_message(inner) or has_presence(field):
            return lambda message: (
                read(getattr(message, name)) if message.HasField(name) else absent
            )
        return lambda message: read(getattr(message, name))

    def _value(self, shape: Shape, path: str) -> Get:
        match shape:
            case RecordOf():
                return self.record(shape, path)
            case DecimalOf():
                return lambda message: _decimal(message, shape, path)
            case ChoiceOf():
                return lambda number: _choice(number, shape, path)
            case Scalar():
                return _GET.get(shape, _same)
            case _:
                raise AssertionError(shape)


def _never(*_: Any) -> None:
    raise AssertionError("a message is read before its function is complete")


def _is_message(shape: Shape) -> bool:
    return isinstance(shape, RecordOf | DecimalOf) or shape in MESSAGES


def _scalar(shape: Shape, path: str) -> Get:
    if isinstance(shape, ChoiceOf):
        return lambda value: shape.symbols.index(checks.symbol(value, shape, path))
    assert isinstance(shape, Scalar), shape
    change: Get = {Scalar.UUID: str, Scalar.BYTES: bytes}.get(shape, _same)
    return lambda value: change(checks.scalar(value, shape, path))


def _same(value: Any) -> Any:
    return value


def _put_decimal(message: Any, value: Any, shape: DecimalOf, path: str) -> None:
    digits = checks.unscaled(value, shape, path)
    length = (digits + (digits < 0)).bit_length() // 8 + 1
    message.value = digits.to_bytes(length, "big", signed=True)
    message.precision, message.scale = shape.precision, shape.scale


def _put_date(message: Any, value: dt.date) -> None:
    message.year, message.month, message.day = value.year, value.month, value.day


def _put_time(message: Any, value: dt.time) -> None:
    message.hours, message.minutes, message.seconds = value.hour, value.minute, value.second
    message.nanos = value.microsecond * 1000


def _put_datetime(message: Any, value: dt.datetime) -> None:
    seconds, micros = divmod(checks.microseconds(value), 1_000_000)
    message.seconds, message.nanos = seconds, micros * 1000


def _decimal(message: Any, shape: DecimalOf, path: str) -> Decimal:
    found = checks.decimal_of(int.from_bytes(message.value, "big", signed=True), message.scale)
    return checks.decimal_of(checks.unscaled(found, shape, path), shape.scale)


def _choice(number: int, shape: ChoiceOf, path: str) -> object:
    if not 0 <= number < len(shape.symbols):
        raise checks.WrongValueError(f'"{path}" is {number}, which is not a {shape.name}')
    return shape.value(shape.symbols[number])


_PUT: Final[dict[Scalar, Set]] = {
    Scalar.DATE: _put_date,
    Scalar.TIME: _put_time,
    Scalar.DATETIME: _put_datetime,
}
_GET: Final[dict[Scalar, Get]] = {
    Scalar.UUID: uuid.UUID,
    Scalar.DATE: lambda value: dt.date(value.year, value.month, value.day),
    Scalar.TIME: lambda value: dt.time(
        value.hours, value.minutes, value.seconds, value.nanos // 1000
    ),
    Scalar.DATETIME: lambda value: checks.datetime_of(
        value.seconds * 1_000_000 + value.nanos // 1000
    ),
}
