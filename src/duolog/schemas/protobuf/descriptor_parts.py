"""Parts of a descriptor that need a rule of their own: defaults, reserved, synthetic names."""

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from google.protobuf import descriptor_pb2

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import (
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    SCALAR_TYPES,
    File,
    Kind,
    Option,
    Range,
    Reserved,
    Scalar,
)

_Proto: TypeAlias = descriptor_pb2.FieldDescriptorProto
_INTEGERS = frozenset(
    _Proto.Type.Value(f"TYPE_{name.upper()}")
    for name in SCALAR_TYPES
    if "int" in name or "fixed" in name
)
_FLOATS = frozenset({_Proto.TYPE_FLOAT, _Proto.TYPE_DOUBLE})
_DIGITS_MAX = 400  # of a number that is a default
_C_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def default_text(option: Option, field: descriptor_pb2.FieldDescriptorProto) -> str:
    """Return the default of a field as a descriptor spells it.

    Raises:
        InvalidSchemaError: the field cannot have such a default.
    """
    value = option.value
    try:
        if isinstance(value, Scalar) and len(value.text) <= _DIGITS_MAX:
            if field.type in _INTEGERS:
                return str(_integer(value))
            if field.type in _FLOATS:
                return _float(value, single=field.type == _Proto.TYPE_FLOAT)
        if isinstance(value, Scalar):
            if field.type == _Proto.TYPE_BYTES and value.kind is Kind.STRING:
                raw = value.text.encode(errors="surrogateescape")
                return "".join(map(_c_escaped, raw))
            if field.type == _Proto.TYPE_STRING and value.kind is Kind.STRING:
                value.text.encode()
                return value.text
            named = field.type == _Proto.TYPE_ENUM or value.text in {"true", "false"}
            if named and value.kind is Kind.WORD:
                return value.text
    except ValueError:
        pass
    raise InvalidSchemaError(f'the default of field "{field.name}" is not a value of its type')


def map_entry_name(field_name: str) -> str:
    """Return the name of the message that holds an entry of a map.

    Example:
        >>> map_entry_name("my_map2x")
        'MyMap2xEntry'
    """
    parts = field_name.split("_")
    return "".join(part[:1].upper() + part[1:] for part in parts) + "Entry"


def reserve(
    reserved: Reserved,
    target: descriptor_pb2.DescriptorProto | descriptor_pb2.EnumDescriptorProto,
) -> None:
    """Write reserved names and numbers; the end of a range is only part of it in an enum."""
    after_last = 1 if isinstance(target, descriptor_pb2.DescriptorProto) else 0
    for value in reserved.values:
        if isinstance(value, Range):
            target.reserved_range.add(start=value.first, end=value.last + after_last)
        else:
            target.reserved_name.append(value)


def add_synthetic_oneofs(message: descriptor_pb2.DescriptorProto) -> None:
    """Add the oneof of each optional field of proto3, after those that the text names."""
    taken = {field.name for field in message.field} | {one.name for one in message.oneof_decl}
    for field in message.field:
        if not field.proto3_optional:
            continue
        name = field.name if field.name.startswith("_") else f"_{field.name}"
        while name in taken:
            name = f"X{name}"
        taken.add(name)
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=name)


def widen_message_set(message: descriptor_pb2.DescriptorProto) -> None:
    """Let `max` mean more in a message of this old format, whose numbers have 31 bits."""
    if message.options.message_set_wire_format:
        for part in (*message.extension_range, *message.reserved_range):
            if part.end == FIELD_NUMBER_MAX + 1:
                part.end = ENUM_NUMBER_MAX


def visible_files(imports: Iterable[str], known: Mapping[str, File]) -> set[str]:
    """Return the paths of imported files, and of those which these import publicly."""
    visible: set[str] = set()
    waiting = list(imports)
    while waiting:
        path = waiting.pop()
        if path in visible or path not in known:
            continue
        visible.add(path)
        waiting.extend(part.path for part in known[path].imports if part.kind == "public")
    return visible


def _integer(value: Scalar) -> int:
    if value.kind is not Kind.NUMBER:
        raise ValueError
    sign, digits = (-1, value.text[1:]) if value.text.startswith("-") else (1, value.text)
    if digits[:2] in {"0x", "0X"}:
        return sign * int(digits, 16)
    return sign * (int(digits, 8) if digits.startswith("0") else int(digits))


def _float(value: Scalar, *, single: bool) -> str:
    if value.kind is Kind.STRING:
        raise ValueError
    text = value.text
    if "x" in text.lower():
        number = float(_integer(value))
    else:
        number = float(text.rstrip("fF") if text[-2:-1].isdigit() else text)
    if math.isfinite(number) and single:
        return _shortest(_as_single(number), (6, 9), _as_single)
    return _shortest(number, (15, 17), float)


def _as_single(number: float | str) -> float:
    """Return the nearest number of 32 bits, infinite if it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", float(number)))[0])
    except OverflowError:
        return math.copysign(math.inf, float(number))


def _shortest(number: float, digits: tuple[int, int], parse: Callable[[str], float]) -> str:
    """Return the digits that protoc writes: its usual precision if it is enough."""
    usual, exact = digits
    text = f"{number:.{usual}g}"
    return text if math.isnan(number) or parse(text) == number else f"{number:.{exact}g}"


def _c_escaped(byte: int) -> str:
    if byte in _C_ESCAPES:
        return _C_ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
