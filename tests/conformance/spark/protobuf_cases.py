"""Random Protobuf schemas, messages of them, and what happens to bytes on the way."""

import random
from typing import Any, Final

from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.schemas.protobuf import ProtobufSchema, parse
from duolog.schemas.protobuf.columns import schema_text, type_of

NUMBERS: Final = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
    "fixed64", "sfixed32", "sfixed64", "bool",
)  # fmt: skip
KEYS: Final = (*tuple(name for name in NUMBERS if name not in {"double", "float"}), "string")
WELL_KNOWN: Final = (
    "google.protobuf.Timestamp", "google.type.Date", "google.type.TimeOfDay",
    "google.protobuf.Int32Value", "google.protobuf.UInt64Value", "google.protobuf.StringValue",
    "google.protobuf.BytesValue", "google.protobuf.BoolValue", "google.protobuf.FloatValue",
)  # fmt: skip
IMPORTS: Final = "\n".join(
    f'import "{path}.proto";'
    for path in (
        "google/protobuf/timestamp", "google/protobuf/wrappers", "google/type/date",
        "google/type/timeofday", "confluent/type/decimal", "confluent/meta",
    )
)  # fmt: skip
DECIMAL_OPTION: Final = (
    '[(confluent.field_meta) = {params: [{key: "precision", value: "9"}, '
    '{key: "scale", value: "3"}]}]'
)
TEXTS: Final = ("", "a", "é\u2028😀", "x" * 200, "\0")
WHOLE: Final = (0, 1, -1, 127, 128, -129, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))
REALS: Final = (0.0, -0.0, 1.5, -2.25, 1e300, 1e-300, float("inf"), float("nan"))
KNOWN: Final[dict[str, dict[str, tuple[Any, ...]]]] = {
    "google.protobuf.Timestamp": {
        "seconds": (0, -1, 1_700_000_000, -62_000_000_000), "nanos": (0, 1, 999_999_999)
    },
    "google.type.Date": {"year": (1, 1969, 9999), "month": (1, 12), "day": (1, 28, 31)},
    "google.type.TimeOfDay": {
        "hours": (0, 23), "minutes": (0, 59), "seconds": (0, 59), "nanos": (0, 7_000_000)
    },
    "confluent.type.Decimal": {
        "value": (b"", b"\0", b"\xff", b"\x03\xe8", b"\0\0\x7b"), "scale": (0, 1, 3, -1), "precision": (9,)
    },
}  # fmt: skip
FIELDS: Final = 12
DEPTH: Final = 3


class Writer:
    """Writes one random schema, whose first message is `R`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a seed that can be run again
        self._syntax = ("proto3", "proto2", "2023")[seed % 3]
        self._names = 0

    def schema(self) -> ProtobufSchema:
        head = f'edition = "{self._syntax}";'
        if self._syntax.startswith("proto"):
            head = f'syntax = "{self._syntax}";'
        enum = "enum E { ZERO = 0; ONE = 1; UNO = 1; FAR = 70000; MINUS = -1; }"
        alias = enum.replace("{", "{ option allow_alias = true;", 1)
        return parse("\n".join((head, IMPORTS, self._message("R", DEPTH), alias)), {})

    def _message(self, name: str, depth: int) -> str:
        members: list[str] = []
        inner: list[str] = []
        numbers = self._random.sample([*range(1, 20), 300, 5000, 2**29 - 1], FIELDS + 3)
        members.extend(self._field(number, depth, inner) for number in numbers[:FIELDS])
        if depth == DEPTH or self._random.random() < 0.3:
            types = (self._plain(), self._plain(), self._message_type(depth, inner))
            choices = (
                f"{kind} o{number} = {number};"
                for kind, number in zip(types, numbers[FIELDS:], strict=True)
            )
            members.append(f"oneof choice {{ {' '.join(choices)} }}")
        return f"message {name} {{\n" + "\n".join([*members, *inner]) + "\n}"

    def _field(self, number: int, depth: int, inner: list[str]) -> str:
        name = f"{self._random.choice(('f', 'F', 'camelCase'))}{number}"
        match self._random.randrange(8):
            case 0:
                value = self._random.choice((self._plain(), self._message_type(depth, inner)))
                return f"map<{self._random.choice(KEYS)}, {value}> {name} = {number};"
            case 1 | 2:
                plain = self._plain()
                packed = ""
                if plain in NUMBERS and self._syntax != "2023":
                    packed = self._random.choice(("", " [packed=true]", " [packed=false]"))
                return f"repeated {plain} {name} = {number}{packed};"
            case 3:
                return f"repeated {self._message_type(depth, inner)} {name} = {number};"
            case 4:
                label = self._label()
                return f"{label}{self._message_type(depth, inner)} {name} = {number};"
            case 5:
                return f"{self._label()}confluent.type.Decimal {name} = {number} {DECIMAL_OPTION};"
            case _:
                option = ""
                if self._syntax == "2023" and self._random.random() < 0.5:
                    option = " [features.field_presence = IMPLICIT]"
                plain = "int32" if option else self._plain()
                return f"{self._label()}{plain} {name} = {number}{option};"

    def _label(self) -> str:
        if self._syntax == "2023":
            return ""
        if self._syntax == "proto2":
            return "optional " if self._random.random() < 0.97 else "required "
        return self._random.choice(("", "", "optional "))

    def _plain(self) -> str:
        return self._random.choice((*NUMBERS, "string", "string", "bytes", "E"))

    def _message_type(self, depth: int, inner: list[str]) -> str:
        if depth == 0 or self._random.random() < 0.5:
            return self._random.choice(WELL_KNOWN)
        self._names += 1
        name = self._random.choice((f"M{self._names}", f"M{self._names}Entry"))
        inner.append(self._message(name, depth - 1))
        return name


def fill(message: Any, chance: random.Random) -> None:
    """Set some fields of a message to random values."""
    if message.DESCRIPTOR.full_name in KNOWN and chance.random() < 0.99:
        for name, values in KNOWN[message.DESCRIPTOR.full_name].items():
            setattr(message, name, chance.choice(values))
        return
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.4:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _fill_map(getattr(message, field.name), field.message_type, chance)
        elif field.is_repeated:
            items = getattr(message, field.name)
            for _ in range(chance.randrange(4)):
                if field.message_type is None:
                    items.append(_value(field, chance))
                else:
                    fill(items.add(), chance)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            fill(getattr(message, field.name), chance)
        else:
            setattr(message, field.name, _value(field, chance))


def _fill_map(items: Any, entry: Any, chance: random.Random) -> None:
    parts = entry.fields_by_name
    for _ in range(chance.randrange(4)):
        key = _value(parts["key"], chance)
        if parts["value"].message_type is not None:
            fill(items[key], chance)
        else:
            items[key] = _value(parts["value"], chance)


def _value(field: Any, chance: random.Random) -> Any:
    match field.cpp_type:
        case field.CPPTYPE_STRING:
            text = chance.choice(TEXTS)
            return text.encode() if field.type == field.TYPE_BYTES else text
        case field.CPPTYPE_BOOL:
            return chance.random() < 0.5
        case field.CPPTYPE_ENUM:
            return chance.choice((0, 1, 70000, -1))
        case field.CPPTYPE_DOUBLE | field.CPPTYPE_FLOAT:
            return chance.choice(REALS)
    bits = 64 if field.cpp_type in {field.CPPTYPE_INT64, field.CPPTYPE_UINT64} else 32
    number = chance.choice((*WHOLE, chance.getrandbits(64))) % (1 << bits)
    if field.cpp_type in {field.CPPTYPE_INT32, field.CPPTYPE_INT64} and number >> (bits - 1):
        return number - (1 << bits)
    return number


UNKNOWN: Final = (
    b"\xa8\x1f\x01", b"\xa2\x1f\x03abc", b"\xa5\x1f\x01\x02\x03\x04", b"\xa3\x1f\x08\x01\xa4\x1f",
    b"\xa1\x1f" + b"\x01" * 8, b"\xa3\x1f" * 100 + b"\xa4\x1f" * 100,
    b"\xa3\x1f" * 101 + b"\xa4\x1f" * 101,
)  # fmt: skip


def damaged(data: bytes, other: bytes, chance: random.Random) -> bytes:  # noqa: PLR0911 - cases
    """Return what another writer, or a bad disk, makes of bytes."""
    at = chance.randrange(len(data) + 1)
    match chance.randrange(9):
        case 0:
            return data[:at]
        case 1:
            return data + other  # the same message in two parts
        case 2:
            return data + chance.choice(UNKNOWN)
        case 3:
            return data[:at] + bytes([chance.getrandbits(8)]) + data[at:]
        case 4:
            return data[:at] + bytes([chance.getrandbits(8)]) + data[at + 1 :]
        case 5:
            return data[:at] + data[at + 1 :]
        case 6:
            return chance.randbytes(chance.randrange(12))
        case _:
            return data


def columns_of(schema: ProtobufSchema, chance: random.Random) -> tuple[Column, ...]:
    """Return columns that a message can be read as: those of inference, or some like them."""
    found = type_of(schema, "R", upper=chance.random() < 0.7).fields
    return _similar(found, chance)


def _similar(columns: tuple[Column, ...], chance: random.Random) -> tuple[Column, ...]:
    kept = [
        Column(column.name, _similar_type(column.type, chance))
        for column in columns
        if chance.random() < 0.9
    ]
    return (*kept, Column("NEW", STRING))


def _similar_type(of: Type, chance: random.Random) -> Type:
    match of:
        case Struct(fields=fields):
            return Struct(_similar(fields, chance))
        case Array(element=element):
            return Array(_similar_type(element, chance))
        case Map(key=key, value=value):
            return Map(key, _similar_type(value, chance))
    if of == INT and chance.random() < 0.3:
        return BIGINT
    return STRING if of in {INT, BIGINT, BOOLEAN} and chance.random() < 0.05 else of


def columns_to_write(chance: random.Random, depth: int = 2) -> tuple[Column, ...]:
    """Return random columns, of types that Protobuf has."""
    return tuple(
        Column(f"C{number}", _type(chance, depth, inside=False))
        for number in range(chance.randrange(1, 10))
    )


def _type(chance: random.Random, depth: int, *, inside: bool) -> Type:
    plain = (
        BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP,
        Decimal(9, 3), Decimal(38, 10), Decimal(5, 0),
    )  # fmt: skip
    match chance.randrange(8) if depth else 9:
        case 0:
            return Struct(columns_to_write(chance, depth - 1))
        case 1 | 2 if not inside:
            return Array(_type(chance, depth - 1, inside=True))
        case 3 if not inside:
            key = chance.choice((STRING, INT, BIGINT, BOOLEAN))
            return Map(key, _type(chance, depth - 1, inside=True))
    return chance.choice(plain)


def schema_of(columns: tuple[Column, ...], nullable: Any) -> ProtobufSchema:
    return parse(schema_text(columns, "R", nullable=nullable), {})
