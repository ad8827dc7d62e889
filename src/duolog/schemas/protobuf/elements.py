"""The parts of a .proto file: immutable values, in the order of the text, without comments.

    File ─┬─ Import
          ├─ Option ── Scalar | Block | Items
          ├─ Message ─┬─ Field, OneOf, Group
          │           ├─ Reserved, Extensions, Extend
          │           └─ Message, Enum
          ├─ Enum ──── EnumValue, Reserved
          ├─ Extend ── Field, Group
          └─ Service ─ Rpc

Names of types are kept as the text gives them: `Foo`, `foo.Foo` or `.foo.Foo`. A string is kept as
the text that its bytes spell in UTF-8. A byte that spells nothing is kept as the lone surrogate of
Python's error handler `surrogateescape`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum as Enumeration
from typing import TypeAlias, TypeVar

FIELD_NUMBER_MAX = (1 << 29) - 1
ENUM_NUMBER_MAX = (1 << 31) - 1
# protoc refuses messages nested 32 deep; protobuf's runtimes refuse descriptors nested 100 deep.
DEPTH_MAX = 64

_INTEGER_TYPES = frozenset(
    {"int32", "int64", "uint32", "uint64", "sint32", "sint64"}
    | {"fixed32", "fixed64", "sfixed32", "sfixed64"}
)
SCALAR_TYPES = _INTEGER_TYPES | {"bool", "bytes", "double", "float", "string"}
KEY_TYPES = _INTEGER_TYPES | {"bool", "string"}
# Written like options of a field, but fields of its descriptor.
SPECIAL_OPTIONS = ("default", "json_name")

_Part = TypeVar("_Part")


class Kind(Enumeration):
    """The kind of a scalar in an option, which decides how it is written."""

    STRING = "string"
    NUMBER = "number"
    WORD = "word"  # true, false, the name of an enum's value, inf and nan


class Label(Enumeration):
    """The word before the type of a field."""

    OPTIONAL = "optional"
    REQUIRED = "required"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of an option that has no parts."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A message as the value of an option, `{ name: value }`; names of extensions have brackets."""

    fields: tuple[tuple[str, "Value"], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list as the value of an option, `[value, value]`."""

    values: tuple["Value", ...]


Value: TypeAlias = Scalar | Block | Items


@dataclass(frozen=True, slots=True)
class NamePart:
    """A step of an option's name: the name of a field, or of an extension in parentheses."""

    name: str
    extension: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option, `(a.b).c = value`."""

    path: tuple[NamePart, ...]
    value: Value

    @property
    def extension(self) -> bool:
        """Return whether the option is an extension of google.protobuf.*Options."""
        return self.path[0].extension

    @property
    def name(self) -> str:
        """Return the name of the extension, or the dotted name up to the first extension in it."""
        if self.extension:
            return self.path[0].name
        plain = []
        for part in self.path:
            if part.extension:
                break
            plain.append(part.name)
        return ".".join(plain)


@dataclass(frozen=True, slots=True)
class Import:
    """An import; its kind is "", "public" or "weak"."""

    path: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `first` to `last`, both included; `single` if written without `to`."""

    first: int
    last: int
    single: bool = False


@dataclass(frozen=True, slots=True)
class Reserved:
    """Names and numbers that no field or value of an enum may take.

    Attributes:
        bare: names are written without quotes, as editions require.
    """

    values: tuple[str | Range, ...]
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Extensions:
    """Numbers that extensions of a message may take."""

    ranges: tuple[Range, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message or an extension.

    Attributes:
        label: the word before the type, if there is one.
        type: the name of the type; of a map, the name of the type of its values.
        key_type: the name of the type of a map's keys; None if the field is not a map.
        options: the options in the order of the text; the last are `default` and `json_name`.
    """

    label: Label | None
    type: str
    name: str
    number: int
    options: tuple[Option, ...] = ()
    key_type: str | None = None


@dataclass(frozen=True, slots=True)
class OneOf:
    """Fields of which a message has at most one."""

    name: str
    members: tuple["Field | Group | Option", ...]

    @property
    def fields(self) -> list[Field]:
        return of(Field, self.members)


@dataclass(frozen=True, slots=True)
class Group:
    """A field and its message in one, in the encoding of proto2."""

    label: Label | None
    name: str
    number: int
    members: tuple["Member", ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Extend:
    """Fields added to a message that is defined elsewhere."""

    name: str
    members: tuple["Field | Group", ...]

    @property
    def fields(self) -> list[Field]:
        return of(Field, self.members)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, with everything that its braces contain."""

    name: str
    members: tuple["Member", ...]

    @property
    def messages(self) -> list["Message"]:
        return of(Message, self.members)

    @property
    def options(self) -> list[Option]:
        return of(Option, self.members)

    @property
    def all_fields(self) -> list[Field]:
        """Return the fields, also those in oneofs, in the order of the text."""
        fields: list[Field] = []
        for member in self.members:
            if isinstance(member, Field):
                fields.append(member)
            elif isinstance(member, OneOf):
                fields.extend(member.fields)
        return fields

    @property
    def is_map_entry(self) -> bool:
        """Return whether the message is an entry of a map, as descriptors spell maps."""
        return any(
            option.name == "map_entry" and option.value == Scalar(Kind.WORD, "true")
            for option in self.options
        )


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A constant of an enum."""

    name: str
    number: int
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum, with everything that its braces contain."""

    name: str
    members: tuple["EnumValue | Option | Reserved", ...]

    @property
    def values(self) -> list[EnumValue]:
        return of(EnumValue, self.members)


@dataclass(frozen=True, slots=True)
class Rpc:
    """A method of a service."""

    name: str
    request: str
    response: str
    request_streaming: bool
    response_streaming: bool
    options: tuple[Option, ...] | None  # None if the method has no braces


@dataclass(frozen=True, slots=True)
class Service:
    """A service."""

    name: str
    members: tuple[Rpc | Option, ...]


Member: TypeAlias = Field | OneOf | Group | Reserved | Extensions | Extend | Option | Message | Enum


@dataclass(frozen=True, slots=True)
class File:
    """A .proto file.

    Attributes:
        syntax: "proto2" or "proto3"; "" if the text has none, which means proto2.
        edition: for example "2023"; "" if the file has a syntax instead.
        package: the name of its package, or "".
    """

    syntax: str
    edition: str
    package: str
    imports: tuple[Import, ...]
    members: tuple[Message | Enum | Service | Extend | Option, ...]

    @property
    def messages(self) -> list[Message]:
        return of(Message, self.members)

    @property
    def is_proto3(self) -> bool:
        return self.syntax == "proto3"


def of(kind: type[_Part], members: Iterable[object]) -> list[_Part]:
    """Return the members of one class, in their order."""
    return [member for member in members if isinstance(member, kind)]


def special_options_last(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options of a field, with the two that are no options for protoc at the end."""
    special = {option.name: option for option in options if option.name in SPECIAL_OPTIONS}
    if not special:
        return options
    usual = [option for option in options if option.name not in special]
    return (*usual, *(special[name] for name in SPECIAL_OPTIONS if name in special))
