"""Reasons why one Protobuf schema cannot read messages of another, as the registry names them.

Fields are compared by number, within messages of the same name. Types of one group have the same
encoding, so one may become another:

    int32 int64 uint32 uint64 bool, enums     sint32 sint64     string bytes
    fixed32 sfixed32      fixed64 sfixed64    float             double

A message of another file is compared where a field uses it; each pair of messages is compared
once. No step recurses: a chain of types may be longer than Python's stack.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from duolog.schemas.protobuf.elements import (
    SCALAR_TYPES,
    Enum,
    Field,
    File,
    Group,
    Label,
    Message,
    OneOf,
    of,
)
from duolog.schemas.protobuf.scope import Scope, Type
from duolog.schemas.schema import Incompatibility

_SENTENCES = {
    "PACKAGE_CHANGED": "The package at '{path}' in the {reader} schema does not match the package"
    " in the {writer} schema",
    "MESSAGE_REMOVED": "The {reader} schema is missing a MESSAGE type at path '{path}' in the"
    " {writer} schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{path}' in the {reader} schema does not"
    " match the {writer} schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{path}' in the {reader}"
    " schema does not match its kind in the {writer} schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{path}' in the {reader}"
    " schema does not match its type in the {writer} schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{path}' in the {reader}"
    " schema does not match its label in the {writer} schema",
    "REQUIRED_FIELD_ADDED": "A required field  at path '{path}' in the {reader} schema is missing"
    " in the {writer} schema",
    "REQUIRED_FIELD_REMOVED": "The {reader} schema is missing a required field at path: '{path}'"
    " in the {writer} schema",
    "ONEOF_FIELD_REMOVED": "The {reader} schema is missing a oneof field at path '{path}' in the"
    " {writer} schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{path}' in the"
    " {reader} schema are outside a oneof in the {writer} schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{path}' in the {reader} schema"
    " is outside an existing oneof in the {writer} schema",
}
_SCALAR_GROUPS = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), "general number"),
    **dict.fromkeys(("sint32", "sint64"), "signed number"),
    **dict.fromkeys(("string", "bytes"), "string or bytes"),
    **dict.fromkeys(("fixed32", "sfixed32"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64"), "fixed64"),
    "float": "float",
    "double": "double",
}

_Steps: TypeAlias = Generator["_Steps", None, None]
_Body: TypeAlias = Message | Group


def differences(
    original: File, update: File, original_scope: Scope, update_scope: Scope
) -> tuple[Incompatibility, ...]:
    """Return why `update` cannot read what `original` wrote; empty if it can."""
    comparison = _Comparison()
    place = _Place(original_scope, update_scope, ())
    if original.package != update.package:
        comparison.add("PACKAGE_CHANGED", place)
    _run(comparison.types(original.members, update.members, place))
    return tuple(comparison.found)


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in both schemas: where names are looked up, and the path that is reported."""

    original: Scope
    update: Scope
    path: tuple[str, ...]

    def inside(self, message: str) -> "_Place":
        return _Place(
            self.original.inside(message), self.update.inside(message), (*self.path, message)
        )

    def at(self, *steps: str) -> "_Place":
        return replace(self, path=(*self.path, *steps))


@dataclass(slots=True)
class _Fields:
    """The fields of a message by number, and the oneofs that some of them belong to."""

    by_number: dict[int, Field] = field(default_factory=dict)
    oneof_of: dict[int, str] = field(default_factory=dict)
    oneofs: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, message: _Body) -> "_Fields":
        fields = cls()
        for member in message.members:
            if isinstance(member, Field | Group):
                fields.by_number[member.number] = _as_field(member)
            elif isinstance(member, OneOf):
                parts = [part for part in member.members if isinstance(part, Field | Group)]
                fields.oneofs[member.name] = [part.number for part in parts]
                for part in parts:
                    fields.by_number[part.number] = _as_field(part)
                    fields.oneof_of[part.number] = member.name
        return fields


@dataclass(frozen=True, slots=True)
class _FieldType:
    """The type of a field: a scalar or enum, a map, a message or a group.

    Attributes:
        kind: "scalar", "map", "message" or "group".
        name: the name of the type as the text gives it; of a map, the type of its values.
        key: the type of a map's keys.
        found: the definition, if there is one in scope.
    """

    kind: str
    name: str
    key: str = ""
    found: Type | None = None

    @classmethod
    def of(cls, name: str, key: str | None, scope: Scope) -> "_FieldType":
        if key is not None:
            return cls("map", name, key)
        if name in SCALAR_TYPES:
            return cls("scalar", name)
        found = scope.type(name)
        element = found.element if found else None
        if isinstance(element, Enum):
            return cls("scalar", name, found=found)
        if isinstance(element, Group):
            return cls("group", name, found=found)
        if isinstance(element, Message) and element.is_map_entry:
            types = {part.name: part.type for part in of(Field, element.members)}
            return cls("map", types.get("value", ""), types.get("key", ""))
        return cls("message", name, found=found)

    @property
    def scalar_group(self) -> str:
        return _SCALAR_GROUPS.get(self.name, "general number")


class _Comparison:
    """Collects incompatibilities; each method that compares yields the comparisons it needs."""

    def __init__(self) -> None:
        self.found: list[Incompatibility] = []
        self.compared: set[tuple[str, str]] = set()
        self.incompatible: set[tuple[str, str]] = set()

    def add(self, kind: str, place: _Place) -> None:
        path = "#/" + "/".join(place.path)
        sentence = _SENTENCES[kind].replace("{path}", path)
        self.found.append(Incompatibility(kind, sentence))

    def types(self, original: Iterable[object], update: Iterable[object], place: _Place) -> _Steps:
        """Compare the messages of one level; enums are never incompatible."""
        new = {message.name: message for message in of(Message, update)}
        for message in of(Message, original):
            other = new.get(message.name)
            if other is not None:
                yield self.messages(message, other, place.inside(message.name))
            elif not message.is_map_entry:
                self.add("MESSAGE_REMOVED", place.inside(message.name))

    def messages(self, original: _Body, update: _Body, place: _Place) -> _Steps:
        old = _Fields.of(original)
        new = _Fields.of(update)
        self.oneofs(old, new, place)
        for number in sorted({*old.by_number, *new.by_number}):
            if number not in new.by_number:
                self.removed(number, old, new, place)
            elif number not in old.by_number:
                if new.by_number[number].label is Label.REQUIRED:
                    self.add("REQUIRED_FIELD_ADDED", place.at(str(number)))
            else:
                oneof = new.oneof_of.get(number)
                steps = (oneof, str(number)) if oneof is not None else (str(number),)
                yield self.fields(old.by_number[number], new.by_number[number], place.at(*steps))
        yield self.types(original.members, update.members, place)

    def oneofs(self, old: _Fields, new: _Fields, place: _Place) -> None:
        """Report fields that could be set together and now exclude each other."""
        for name, numbers in new.oneofs.items():
            existing = [number for number in numbers if number in old.by_number]
            moved = [number for number in existing if number not in old.oneof_of]
            former = {old.oneof_of[number] for number in existing if number in old.oneof_of}
            if len(former) + len(moved) > 1:
                kind = (
                    "MULTIPLE_FIELDS_MOVED_TO_ONEOF"
                    if len(moved) > 1
                    else "FIELD_MOVED_TO_EXISTING_ONEOF"
                )
                self.add(kind, place.at(name))

    def removed(self, number: int, old: _Fields, new: _Fields, place: _Place) -> None:
        oneof = old.oneof_of.get(number)
        if oneof is None:
            if old.by_number[number].label is Label.REQUIRED:
                self.add("REQUIRED_FIELD_REMOVED", place.at(str(number)))
            return
        # A oneof that is removed as a whole is like a field that is removed.
        some_left = any(member in new.by_number for member in old.oneofs[oneof])
        if oneof in new.oneofs or some_left:
            self.add("ONEOF_FIELD_REMOVED", place.at(oneof, str(number)))

    def fields(self, original: Field, update: Field, place: _Place) -> _Steps:
        labels = (original.label, update.label)
        old = _FieldType.of(original.type, original.key_type, place.original)
        new = _FieldType.of(update.type, update.key_type, place.update)
        yield self.field_types(old, new, labels, place)

    def field_types(
        self,
        old: _FieldType,
        new: _FieldType,
        labels: tuple[Label | None, Label | None],
        place: _Place,
    ) -> _Steps:
        if old.kind != new.kind:
            self.add("FIELD_KIND_CHANGED", place)
        elif old.kind == "scalar":
            self.scalars(old, new, labels, place)
        elif old.kind == "map":
            for old_name, new_name in ((old.key, new.key), (old.name, new.name)):
                old_type = _FieldType.of(old_name, None, place.original)
                new_type = _FieldType.of(new_name, None, place.update)
                yield self.field_types(old_type, new_type, (None, None), place)
        elif old.found is None or new.found is None:
            if old.name != new.name:
                self.add("FIELD_NAMED_TYPE_CHANGED", place)
        elif old.found.path != new.found.path:
            self.add("FIELD_NAMED_TYPE_CHANGED", place)
        elif old.kind == "group" or old.found.file or new.found.file:
            yield self.named_types(old.found, new.found, place)

    def scalars(
        self,
        old: _FieldType,
        new: _FieldType,
        labels: tuple[Label | None, Label | None],
        place: _Place,
    ) -> None:
        if old.scalar_group != new.scalar_group:
            self.add("FIELD_SCALAR_KIND_CHANGED", place)
        elif old.scalar_group != "string or bytes" and _differ(*labels):
            self.add("FIELD_NUMERIC_LABEL_CHANGED", place)

    def named_types(self, old: Type, new: Type, place: _Place) -> _Steps:
        """Compare two messages that are not both defined in the two files themselves."""
        assert not isinstance(old.element, Enum)
        assert not isinstance(new.element, Enum)
        pair = (f"{old.file}#{old.package}.{old.path}", f"{new.file}#{new.package}.{new.path}")
        if pair not in self.compared:
            self.compared.add(pair)
            path = tuple(old.path.split("."))
            below = _Place(_scope_at(old, place.original), _scope_at(new, place.update), path)
            found_before = len(self.found)
            yield self.messages(old.element, new.element, below)
            if len(self.found) > found_before:
                self.incompatible.add(pair)
        if pair in self.incompatible:
            self.add("FIELD_NAMED_TYPE_CHANGED", place)


def _differ(old: Label | None, new: Label | None) -> bool:
    return old is not None and new is not None and old is not new


def _as_field(member: Field | Group) -> Field:
    if isinstance(member, Field):
        return member
    return Field(member.label, member.name, member.name.lower(), member.number)


def _scope_at(found: Type, scope: Scope) -> Scope:
    """Return the scope of a message's body in its own file."""
    package = found.package.split(".") if found.package else []
    return scope.at((*package, *found.path.split(".")))


def _run(steps: _Steps) -> None:
    """Run a comparison and all those that it yields, each to its end before the next."""
    stack: list[Iterator[_Steps]] = [steps]
    while stack:
        deeper = next(stack[-1], None)
        if deeper is None:
            stack.pop()
        else:
            stack.append(deeper)
