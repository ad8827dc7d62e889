"""Grammar of .proto files: proto2, proto3 and editions, as a parser that goes down the rules.

It accepts what Confluent's registry accepts, whose parser is Square's Wire, and in addition what
only protoc accepts: groups with everything a message may have, angle brackets, editions. It does
not check whether numbers and names are free and allowed; `descriptors` does. Nesting is limited,
so that no text can exhaust Python's stack.

Sources: the language specifications on protobuf.dev; protoc's and Wire's parsers for the cases
which these leave open.
"""

from typing import TYPE_CHECKING, TypeAlias

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.cursor import Cursor
from duolog.schemas.protobuf.elements import (
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    KEY_TYPES,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Import,
    Label,
    Member,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    special_options_last,
)
from duolog.schemas.protobuf.option_parser import maybe_bracketed_options, option_statement

if TYPE_CHECKING:
    from collections.abc import Callable

_LABELS = {label.value: label for label in Label}
_SYNTAXES = ("proto2", "proto3")
_EDITIONS = ("2023", "2024")

_TopLevel: TypeAlias = Message | Enum | Service | Extend | Option


def parse_file(text: str) -> File:
    """Parse a .proto text.

    Raises:
        InvalidSchemaError: the text is not a .proto file; the message names the place.
    """
    return _Parser(text).file()


class _Parser(Cursor):
    """One method for each rule; a method is called after the word that selects the rule."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.syntax = ""
        self.edition = ""

    def file(self) -> File:
        package = ""
        imports: list[Import] = []
        members: list[_TopLevel] = []
        self.syntax_statement()
        while self.next:
            if self.maybe(";"):
                continue
            if self.maybe("package"):
                package = self.dotted("the name of a package")
                self.expect(";")
            elif self.maybe("import"):
                imports.append(self.import_statement())
            else:
                members.append(self.top_level())
        _ensure_different_names(members)
        return File(self.syntax, self.edition, package, tuple(imports), tuple(members))

    def syntax_statement(self) -> None:
        """Read `syntax = "…";` or `edition = "…";`, which only the start of a file may have."""
        if self.after_next() == "=":
            if self.maybe("syntax"):
                self.syntax = self.one_of(_SYNTAXES)
            elif self.maybe("edition"):
                self.edition = self.one_of(_EDITIONS)

    def one_of(self, allowed: tuple[str, ...]) -> str:
        self.expect("=")
        value = self.string("a string")
        if value not in allowed:
            raise self.error_before(" or ".join(f'"{name}"' for name in allowed))
        self.expect(";")
        return value

    def import_statement(self) -> Import:
        kind = self.take() if self.next in {"public", "weak"} else ""
        path = self.string("the path of a file")
        self.expect(";")
        return Import(_plain_path(path), kind)

    def top_level(self) -> _TopLevel:
        rules: dict[str, Callable[[], _TopLevel]] = {
            "message": self.message,
            "enum": self.enum,
            "service": self.service,
            "extend": self.extend,
            "option": lambda: option_statement(self),
        }
        rule = rules.get(self.next)
        if rule is None:
            raise self.error("message, enum, service, extend, option, import or package")
        self.take()
        return rule()

    def message(self) -> Message:
        name = self.word("the name of a message")
        return Message(name, self.message_body())

    def message_body(self) -> tuple[Member, ...]:
        self.expect("{")
        self.enter()
        members: list[Member] = []
        while not self.maybe("}"):
            if not self.maybe(";"):
                members.append(self.member())
        self.leave()
        _ensure_different_names(members)
        return tuple(members)

    def member(self) -> Member:
        rules: dict[str, Callable[[], Member]] = {
            "message": self.message,
            "enum": self.enum,
            "extend": self.extend,
            "oneof": self.oneof,
            "option": lambda: option_statement(self),
            "reserved": lambda: self.reserved(FIELD_NUMBER_MAX),
            "extensions": self.extensions,
        }
        rule = rules.get(self.next)
        if rule is None:
            return self.field()
        self.take()
        return rule()

    def field(self) -> Field | Group:
        """Read a field with its label, which only proto3 and editions allow to be absent."""
        label = _LABELS.get(self.next)
        if label is not None:
            self.ensure_allowed(label)
            self.take()
        elif self.next == "map" and self.after_next() == "<":
            self.take()
            return self.map_field()
        elif self.syntax != "proto3" and not self.edition:
            raise self.error("optional, required or repeated before the type")
        if self.next == "map" and self.after_next() == "<":
            raise self.error("a type: a map has no label")
        return self.field_after_label(label)

    def ensure_allowed(self, label: Label) -> None:
        if label is Label.REQUIRED and self.syntax == "proto3":
            raise self.error("optional or repeated: proto3 has no required fields")
        if label is not Label.REPEATED and self.edition:
            raise self.error("a type: editions have no required and optional, but features")

    def field_after_label(self, label: Label | None) -> Field | Group:
        type_name = self.dotted("the type of a field")
        if type_name == "group" and self.at_word():
            return self.group(label)
        name = self.word("the name of a field")
        number, options = self.number_and_options()
        return Field(label, type_name, name, number, special_options_last(options))

    def map_field(self) -> Field:
        self.expect("<")
        key_type = self.word("the type of the keys")
        if key_type not in KEY_TYPES:
            raise self.error_before("an integer type, bool or string as the type of a map's keys")
        self.expect(",")
        type_name = self.dotted("the type of the values")
        self.expect(">")
        name = self.word("the name of a field")
        number, options = self.number_and_options()
        return Field(None, type_name, name, number, special_options_last(options), key_type)

    def number_and_options(self) -> tuple[int, tuple[Option, ...]]:
        self.expect("=")
        number = self.integer("a number")
        options = maybe_bracketed_options(self)
        self.expect(";")
        return number, options

    def group(self, label: Label | None) -> Group:
        name = self.word("the name of a group")
        self.expect("=")
        number = self.integer("the number of the group")
        options = maybe_bracketed_options(self)
        return Group(label, name, number, self.message_body(), options)

    def oneof(self) -> OneOf:
        name = self.word("the name of a oneof")
        self.expect("{")
        self.enter()
        members: list[Field | Group | Option] = []
        while not self.maybe("}"):
            if self.maybe(";"):
                continue
            if self.next in _LABELS or (self.next == "map" and self.after_next() == "<"):
                raise self.error("a type: a field of a oneof has no label and is not a map")
            if self.maybe("option"):
                members.append(option_statement(self))
            else:
                members.append(self.field_after_label(None))
        self.leave()
        return OneOf(name, tuple(members))

    def extend(self) -> Extend:
        name = self.dotted("the name of a message")
        self.expect("{")
        self.enter()
        members: list[Field | Group] = []
        while not self.maybe("}"):
            if not self.maybe(";"):
                members.append(self.field())
        self.leave()
        return Extend(name, tuple(members))

    def reserved(self, last_max: int) -> Reserved:
        values: list[str | Range] = []
        while True:
            if self.at_string():
                values.append(self.string("a name"))
            elif self.at_word():  # editions spell names without quotes
                values.append(self.take())
            else:
                values.append(self.range(last_max))
            if self.maybe(";"):
                return Reserved(tuple(values), bare=bool(self.edition))
            self.expect(",")

    def extensions(self) -> Extensions:
        ranges = [self.range(FIELD_NUMBER_MAX)]
        while self.maybe(","):
            ranges.append(self.range(FIELD_NUMBER_MAX))
        options = maybe_bracketed_options(self)
        self.expect(";")
        return Extensions(tuple(ranges), options)

    def range(self, last_max: int) -> Range:
        first = self.integer("a number")
        if not self.maybe("to"):
            return Range(first, first, single=True)
        last = last_max if self.maybe("max") else self.integer('a number or "max"')
        return Range(first, last)

    def enum(self) -> Enum:
        name = self.word("the name of an enum")
        self.expect("{")
        self.enter()
        members: list[EnumValue | Option | Reserved] = []
        while not self.maybe("}"):
            if self.maybe(";"):
                continue
            named = self.after_next() == "="  # a constant may be called option or reserved
            if not named and self.maybe("option"):
                members.append(option_statement(self))
            elif not named and self.maybe("reserved"):
                members.append(self.reserved(ENUM_NUMBER_MAX))
            else:
                constant = self.word("the name of a constant")
                number, options = self.number_and_options()
                members.append(EnumValue(constant, number, options))
        self.leave()
        return Enum(name, tuple(members))

    def service(self) -> Service:
        name = self.word("the name of a service")
        self.expect("{")
        self.enter()
        members: list[Rpc | Option] = []
        while not self.maybe("}"):
            if self.maybe(";"):
                continue
            if self.maybe("option"):
                members.append(option_statement(self))
            elif self.maybe("rpc"):
                members.append(self.rpc())
            else:
                raise self.error('rpc, option or "}"')
        self.leave()
        return Service(name, tuple(members))

    def rpc(self) -> Rpc:
        name = self.word("the name of a method")
        request_streaming, request = self.rpc_type()
        self.expect("returns")
        response_streaming, response = self.rpc_type()
        options = self.rpc_options()
        return Rpc(name, request, response, request_streaming, response_streaming, options)

    def rpc_type(self) -> tuple[bool, str]:
        self.expect("(")
        streaming = self.next == "stream" and self.after_next() != ")"
        if streaming:
            self.take()
        name = self.dotted("the name of a message")
        self.expect(")")
        return streaming, name

    def rpc_options(self) -> tuple[Option, ...] | None:
        if self.maybe(";"):
            return None
        self.expect("{")
        options: list[Option] = []
        while not self.maybe("}"):
            if self.maybe(";"):
                continue
            if not self.maybe("option"):
                raise self.error('option or "}"')
            options.append(option_statement(self))
        return tuple(options)


def _plain_path(path: str) -> str:
    """Return a path with slashes and without steps that lead nowhere, as Wire does."""
    steps = path.replace("\\", "/").split("/")
    return "/".join(
        step
        for index, step in enumerate(steps)
        if step not in {"", "."} or (not step and not index)
    )


def _ensure_different_names(members: list[_TopLevel] | list[Member]) -> None:
    """Refuse two types, or two services, of one name.

    Raises:
        InvalidSchemaError: two types or services have the same name.
    """
    seen: set[tuple[str, str]] = set()
    for member in members:
        if isinstance(member, Message | Enum | Service):
            key = ("service" if isinstance(member, Service) else "type", member.name)
            if key in seen:
                raise InvalidSchemaError(f'{key[0]} "{member.name}" is defined twice')
            seen.add(key)
