"""List the fields of a schema by their paths, in any language.

    Avro          address.city       string | null = null
    JSON Schema   address.city       string, required
    Protobuf      Order.address      .shop.Address = 3

Items of arrays are `lines[]`, values of maps `labels{}`. A type that contains itself is listed
once. A type that is used in many places is listed in each, up to a number of fields: a short schema
of Avro can have more fields than there is memory.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from duolog.schemas.avro import AvroSchema
from duolog.schemas.avro import types as avro
from duolog.schemas.json_schema import JsonSchema
from duolog.schemas.protobuf import ProtobufSchema
from duolog.schemas.schema import Schema

ROOT: Final = "(schema)"
_DEPTH_MAX: Final = 50
_SHOWN_MAX: Final = 100
_REPEATED_MAX: Final = 20_000
"""Number of fields after which the fields of a type are not listed in a second place."""
_JSON_TYPE_WORDS: Final = ("format", "enum", "const", "pattern", "minimum", "maximum", "$ref")

Found = Iterator[tuple[str, str]]


def fields_of(schema: Schema) -> dict[str, str]:
    """Return the description of each field, by its path and in order."""
    match schema:
        case AvroSchema():
            return dict(_AvroFields().below(schema.root, "", ()))
        case ProtobufSchema():
            return dict(_protobuf(schema))
        case JsonSchema():
            return dict(_json(json.loads(schema.canonical), "", "", 0))
        case _:
            return {}


def place_of(schema: Schema, path: str) -> str:
    """Return the path of a field for the path in an incompatibility; the latter if none fits."""
    steps = path.removeprefix("#").strip("/").split("/")
    match schema:
        case AvroSchema():
            return _avro_place(schema.root, steps) or ROOT
        case ProtobufSchema():
            return _protobuf_place(schema, steps)
        case _:
            return _json_place(steps) or ROOT


class _AvroFields:
    def __init__(self) -> None:
        self._numbers = count()
        self._listed: set[int] = set()
        """The types of which each field is listed somewhere."""

    def below(
        self, node: avro.Type, path: str, inside: tuple[int, ...], default: str = ""
    ) -> Found:
        """Yield the place of a type, and those below it."""
        yield path or ROOT, f"{_avro_text(node)}{default}"
        if id(node) in inside or len(inside) > _DEPTH_MAX:
            return
        if next(self._numbers) > _REPEATED_MAX and id(node) in self._listed:
            return
        self._listed.add(id(node))
        inside = (*inside, id(node))
        match node:
            case avro.Record():
                for field in node.fields:
                    given = field.default
                    told = "" if isinstance(given, avro.Missing) else f" = {json.dumps(given)}"
                    yield from self.below(field.type, _below(path, field.name), inside, told)
            case avro.Array():
                yield from self.below(node.items, f"{path}[]", inside)
            case avro.Map():
                yield from self.below(node.values, f"{path}{{}}", inside)
            case avro.Union():
                for branch in node.branches:
                    if not isinstance(branch, avro.Primitive):
                        parts = self.below(branch, path, inside)
                        next(parts)  # the union itself has this path
                        yield from parts
            case _:
                return


def _avro_text(node: avro.Type) -> str:
    match node:
        case avro.Union():
            return " | ".join(map(_avro_text, node.branches))
        case avro.Enum():
            told = f", default {node.default}" if node.default is not None else ""
            return f"enum {node.name.simple}({', '.join(node.symbols)}{told})"
        case avro.Fixed():
            return f"fixed {node.name.simple}({node.size})"
        case avro.Named():
            return f"{node.kind} {node.name.full}"
        case _ if node.logical is not None and node.logical.name == "decimal":
            return f"decimal({node.logical.precision}, {node.logical.scale})"
        case _:
            return node.logical.name if node.logical is not None else node.kind


def _avro_place(root: avro.Type, steps: list[str]) -> str:
    """Follow `fields/2/type/1` from the root."""
    node, path = root, ""
    left = list(steps)
    while left:
        step = left.pop(0)
        match node:
            case avro.Record() if step == "fields" and left and left[0].isdigit():
                number = int(left.pop(0))
                if number >= len(node.fields):
                    return path
                field = node.fields[number]
                node, path = field.type, _below(path, field.name)
            case avro.Union() if step.isdigit() and int(step) < len(node.branches):
                node = node.branches[int(step)]
            case avro.Array() if step == "items":
                node, path = node.items, f"{path}[]"
            case avro.Map() if step == "values":
                node, path = node.values, f"{path}{{}}"
            case _ if step == "type":
                continue
            case _:
                return path
    return path


def _json(node: object, path: str, more: str, depth: int) -> Found:
    yield path or ROOT, f"{_json_text(node)}{more}"
    if not isinstance(node, Mapping) or depth > _DEPTH_MAX:
        return
    required = node.get("required")
    names = required if isinstance(required, list) else []
    for name, one in _mapping(node, "properties").items():
        yield from _json(one, _below(path, name), ", required" * (name in names), depth + 1)
    if "items" in node:
        yield from _json(node["items"], f"{path}[]", "", depth + 1)
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from _json(node["additionalProperties"], f"{path}{{}}", "", depth + 1)
    for kind in ("definitions", "$defs"):
        for name, one in _mapping(node, kind).items():
            yield from _json(one, f"#/{kind}/{name}", "", depth + 1)


def _json_text(node: object) -> str:
    if not isinstance(node, Mapping):
        return "anything" if node is True else "nothing" if node is False else str(node)
    of = node.get("type", "anything")
    told = [" | ".join(map(str, of)) if isinstance(of, list) else str(of)]
    told += [f"{word} {json.dumps(node[word])}" for word in _JSON_TYPE_WORDS if word in node]
    told += [
        f"{word} {_short(json.dumps(node[word]))}"
        for word in ("oneOf", "anyOf", "allOf")
        if word in node
    ]
    if node.get("additionalProperties") is False:
        told.append("closed")
    if "default" in node:
        told.append(f"default {json.dumps(node['default'])}")
    return ", ".join(told)


def _short(text: str) -> str:
    """Return a text that differs for texts that differ, and is not long."""
    if len(text) <= _SHOWN_MAX:
        return text
    return f"{text[:_SHOWN_MAX]}… ({zlib.crc32(text.encode()):08x})"


def _json_place(steps: list[str]) -> str:
    """Follow `properties/a/items` without the schema: the words of keywords are known."""
    path = ""
    left = list(steps)
    while left:
        step = left.pop(0)
        if step == "properties" and left:
            path = _below(path, left.pop(0))
        elif step == "items":
            path = f"{path}[]"
        elif step == "additionalProperties":
            path = f"{path}{{}}"
        elif step in {"definitions", "$defs"} and left:
            path = f"#/{step}/{left.pop(0)}"
        else:
            return path
    return path


def _protobuf(schema: ProtobufSchema) -> Found:
    file = schema.descriptor
    for name, message in _messages(file):
        yield from _message(name, message)
    for enum in file.enum_type:
        yield enum.name, _enum_text({value.number: value.name for value in enum.value})


def _message(name: str, message: DescriptorProto) -> Found:
    yield name, "message"
    for field in message.field:
        yield f"{name}.{field.name}", _protobuf_text(field, message)
    for enum in message.enum_type:
        values = {value.number: value.name for value in enum.value}
        yield f"{name}.{enum.name}", _enum_text(values)


def _protobuf_text(field: FieldDescriptorProto, message: DescriptorProto) -> str:
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    label = {2: "required ", 3: "repeated "}.get(field.label, "")
    if field.proto3_optional:
        label = "optional "
    elif field.HasField("oneof_index"):
        label = f"oneof {message.oneof_decl[field.oneof_index].name} "
    return f"{label}{field.type_name or kind} = {field.number}"


def _enum_text(values: Mapping[int, str]) -> str:
    return f"enum({', '.join(f'{name} = {number}' for number, name in values.items())})"


def _protobuf_place(schema: ProtobufSchema, steps: list[str]) -> str:
    """Follow `Order/3`: names of messages, then the number of a field."""
    names = [step for step in steps if not step.isdigit()]
    numbers = [int(step) for step in steps if step.isdigit()]
    messages = dict(_messages(schema.descriptor))
    while names and ".".join(names) not in messages:
        names.pop()  # the name of a oneof
    name = ".".join(names)
    if not numbers or name not in messages:
        return name or ROOT
    found = [field.name for field in messages[name].field if field.number == numbers[-1]]
    return f"{name}.{found[0]}" if found else name


def _messages(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    waiting = [(message.name, message) for message in reversed(file.message_type)]
    while waiting:
        name, message = waiting.pop()
        yield name, message
        waiting += [(f"{name}.{one.name}", one) for one in reversed(message.nested_type)]


def _mapping(node: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = node.get(name)
    return found if isinstance(found, Mapping) else {}


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
