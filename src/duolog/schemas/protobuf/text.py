"""The canonical text of a .proto file, as Confluent's registry stores and returns it.

The order inside a message is fixed: reserved, options, fields, oneofs, groups, extensions, extend,
messages, enums, with an empty line before each of them. Indentation also fills the empty lines.

Three things that the registry's own text loses are kept, because without them the text has another
meaning: weak imports, quotes around the default of a `bytes` field, and bytes in strings that are
not UTF-8 (written as octal escapes).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from duolog.schemas.protobuf.elements import (
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Import,
    Items,
    Kind,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Scalar,
    Service,
    Value,
    of,
)

_INDENT = "  "
_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "\0": "\\000",
}
_ESCAPED = re.compile("[" + re.escape("".join(_ESCAPES)) + "\udc80-\udcff]")

_Part = TypeVar("_Part")


def file_text(file: File) -> str:
    """Return the canonical text of a file."""
    lines: list[str] = []
    if file.edition:
        lines.append(f'edition = "{file.edition}";')
    elif file.syntax:
        lines.append(f'syntax = "{file.syntax}";')
    if file.package:
        lines.append(f"package {file.package};")
    sections: list[Sequence[str]] = [
        _imports(file.imports),
        _lines(_option_statement, of(Option, file.members)),
        [
            *_lines(_message, of(Message, file.members)),
            *_lines(_enum, of(Enum, file.members)),
        ],
        _lines(_extend, of(Extend, file.members)),
        _lines(_service, of(Service, file.members)),
    ]
    for section in sections:
        if section:
            lines.extend(("", *section))
    return "".join(f"{line}\n" for line in lines)


def quoted(text: str) -> str:
    r"""Return a string as a literal.

    Example:
        >>> print(quoted('a "b"\n'))
        "a \"b\"\n"
    """
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def value_text(value: Value) -> list[str]:
    """Return the lines of an option's value."""
    if isinstance(value, Scalar):
        return [quoted(value.text) if value.kind is Kind.STRING else value.text]
    if isinstance(value, Items):
        return ["[", *_separated([value_text(part) for part in value.values]), "]"]
    return [
        "{",
        *_separated([_joined(f"{name}: ", value_text(part)) for name, part in value.fields]),
        "}",
    ]


def type_text(field: Field) -> str:
    """Return the type of a field as the text names it."""
    return field.type if field.key_type is None else f"map<{field.key_type}, {field.type}>"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\{ord(char) - 0xDC00:03o}"


def _lines(write: Callable[[_Part], list[str]], parts: Iterable[_Part]) -> list[str]:
    return [line for part in parts for line in write(part)]


def _indented(lines: Iterable[str]) -> list[str]:
    return [_INDENT + line for line in lines]


def _braces(head: str, sections: Iterable[list[str]]) -> list[str]:
    """Return `head { … }` with an empty line between the sections that have lines."""
    body: list[str] = []
    for section in sections:
        if section:
            if body:
                body.append("")
            body.extend(_indented(section))
    return [f"{head} {{", *body, "}"] if body else [f"{head} {{}}"]


def _imports(imports: Iterable[Import]) -> list[str]:
    order = {"": 0, "public": 1, "weak": 2}
    return [
        f"import {part.kind} {quoted(part.path)};" if part.kind else f"import {quoted(part.path)};"
        for part in sorted(imports, key=lambda part: order[part.kind])
    ]


def _message(message: Message) -> list[str]:
    return _braces(f"message {message.name}", _message_sections(message.members))


def _message_sections(members: Sequence[object]) -> list[list[str]]:
    return [
        _lines(_reserved, of(Reserved, members)),
        _lines(_option_statement, of(Option, members)),
        _lines(_field, of(Field, members)),
        _lines(_oneof, of(OneOf, members)),
        _lines(_group, of(Group, members)),
        _lines(_extensions, of(Extensions, members)),
        _lines(_extend, of(Extend, members)),
        [*_lines(_message, of(Message, members)), *_lines(_enum, of(Enum, members))],
    ]


def _oneof(oneof: OneOf) -> list[str]:
    sections = [
        _lines(_option_statement, of(Option, oneof.members)),
        _lines(_field, oneof.fields),
        _lines(_group, of(Group, oneof.members)),
    ]
    return _braces(f"oneof {oneof.name}", sections)


def _group(group: Group) -> list[str]:
    label = f"{group.label.value} " if group.label else ""
    options = _bracketed(group.options)
    head = [f"{label}group {group.name} = {group.number}"]
    if options:
        head = _joined(f"{head[0]} ", options)
    body = _braces(head.pop(), _message_sections(group.members))
    return [*head, *body]


def _extend(extend: Extend) -> list[str]:
    fields = [*_lines(_field, extend.fields), *_lines(_group, of(Group, extend.members))]
    return _braces(f"extend {extend.name}", [fields])


def _enum(enum: Enum) -> list[str]:
    # Unlike in a message, no empty lines.
    section = [
        *_lines(_reserved, of(Reserved, enum.members)),
        *_lines(_option_statement, of(Option, enum.members)),
        *_lines(_enum_value, enum.values),
    ]
    return _braces(f"enum {enum.name}", [section])


def _service(service: Service) -> list[str]:
    sections = [
        _lines(_option_statement, of(Option, service.members)),
        _lines(_rpc, of(Rpc, service.members)),
    ]
    return _braces(f"service {service.name}", sections)


def _rpc(rpc: Rpc) -> list[str]:
    request = f"stream {rpc.request}" if rpc.request_streaming else rpc.request
    response = f"stream {rpc.response}" if rpc.response_streaming else rpc.response
    head = f"rpc {rpc.name} ({request}) returns ({response})"
    if not rpc.options:
        return [f"{head};"]
    return [f"{head} {{", *_indented(_lines(_option_statement, rpc.options)), "};"]


def _field(field: Field) -> list[str]:
    label = f"{field.label.value} " if field.label else ""
    head = f"{label}{type_text(field)} {field.name} = {field.number}"
    return _statement(head, _bracketed(field.options))


def _enum_value(value: EnumValue) -> list[str]:
    return _statement(f"{value.name} = {value.number}", _bracketed(value.options))


def _extensions(extensions: Extensions) -> list[str]:
    ranges = ", ".join(_range(part) for part in extensions.ranges)
    return _statement(f"extensions {ranges}", _bracketed(extensions.options))


def _reserved(reserved: Reserved) -> list[str]:
    quote = "" if reserved.bare else '"'
    values = [
        _range(value) if isinstance(value, Range) else f"{quote}{value}{quote}"
        for value in reserved.values
    ]
    return [f"reserved {', '.join(values)};"]


def _range(numbers: Range) -> str:
    if numbers.single:
        return str(numbers.first)
    last = "max" if numbers.last in {FIELD_NUMBER_MAX, ENUM_NUMBER_MAX} else numbers.last
    return f"{numbers.first} to {last}"


def _statement(head: str, brackets: list[str]) -> list[str]:
    lines = _joined(f"{head} ", brackets) if brackets else [head]
    lines[-1] += ";"
    return lines


def _option_statement(option: Option) -> list[str]:
    lines = _joined("option ", _option(option))
    lines[-1] += ";"
    return lines


def _bracketed(options: Sequence[Option]) -> list[str]:
    return _brackets([_option(option) for option in options]) if options else []


def _option(option: Option) -> list[str]:
    path = ".".join(f"({part.name})" if part.extension else part.name for part in option.path)
    if isinstance(option.value, Items):
        lines = _brackets([value_text(value) for value in option.value.values])
    else:
        lines = value_text(option.value)
    return _joined(f"{path} = ", lines)


def _brackets(values: Sequence[list[str]]) -> list[str]:
    """Return `[value]` on one line, or each of several values on its own."""
    if len(values) == 1:
        lines = _joined("[", values[0])
        lines[-1] += "]"
        return lines
    return ["[", *_separated(values), "]"]


def _separated(values: Sequence[list[str]]) -> list[str]:
    """Return the lines of the values, indented, with a comma after each but the last."""
    lines: list[str] = []
    for number, value in enumerate(values, start=1):
        lines.extend(_indented(value))
        if number < len(values):
            lines[-1] += ","
    return lines


def _joined(head: str, lines: Sequence[str]) -> list[str]:
    """Return the lines with `head` before the first of them."""
    return [head + lines[0], *lines[1:]]
