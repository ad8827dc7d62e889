"""Options of a descriptor from the options of a text.

A standard option is a field of google.protobuf.*Options, a custom one an extension of it. Both are
written as Protobuf's text format, which the library parses. An option whose extension is not in
scope is kept as the descriptor's `uninterpreted_option`.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from google.protobuf import descriptor_pb2, text_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.message_factory import GetMessageClass

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import Block, Items, Kind, Option, Scalar, Value
from duolog.schemas.protobuf.scope import Scope
from duolog.schemas.protobuf.text import quoted, value_text

_DOUBLE_MAX = sys.float_info.max


@dataclass(slots=True)
class CustomOptions:
    """Options whose values depend on the extensions of a file, until the file is complete."""

    waiting: list[tuple[ProtoMessage, Option, Scope]] = field(default_factory=list)

    def write(self, options: Iterable[Option], target: ProtoMessage, scope: Scope) -> None:
        """Write options into `target`, a message such as google.protobuf.FieldOptions.

        Raises:
            InvalidSchemaError: the value of a standard option is not of its type.
        """
        for option in options:
            if any(part.extension for part in option.path):
                self.waiting.append((target, option, scope))
            elif option.path[0].name not in target.DESCRIPTOR.fields_by_name:
                _keep_uninterpreted(option, target)
            else:
                text = _assignment(option, scope)
                try:
                    text_format.Merge(text, target)
                except text_format.ParseError as error:
                    raise _wrong_value(option) from error

    def interpret(self, pool: DescriptorPool) -> None:
        """Write the custom options, given a pool with the file itself and all that it imports."""
        targets: dict[int, tuple[ProtoMessage, list[tuple[Option, Scope]]]] = {}
        for target, option, scope in self.waiting:
            targets.setdefault(id(target), (target, []))[1].append((option, scope))
        for target, options in targets.values():
            try:
                message = GetMessageClass(pool.FindMessageTypeByName(target.DESCRIPTOR.full_name))()
            except KeyError:  # no file that the pool has defines options
                message = None
            for option, scope in options:
                if message is None or not _merge(option, scope, message, pool):
                    _keep_uninterpreted(option, target)
            if message is not None:
                target.MergeFromString(message.SerializeToString())


def _merge(option: Option, scope: Scope, message: ProtoMessage, pool: DescriptorPool) -> bool:
    """Write an option, and return whether the pool has its extension."""
    try:
        text_format.Merge(_assignment(option, scope), message, descriptor_pool=pool)
    except text_format.ParseError:
        return False
    return True


def _assignment(option: Option, scope: Scope) -> str:
    """Return an option in text format: `[a.b] { c: 1 }` for `(a.b).c = 1`."""
    names = [
        f"[{scope.extension_name(part.name) or part.name}]" if part.extension else part.name
        for part in option.path
    ]
    value = _text(option.value, scope)
    last = names.pop()
    return " { ".join([*names, f"{last}: {value}"]) + " }" * len(names)


def _text(value: Value, scope: Scope) -> str:
    if isinstance(value, Scalar):
        return quoted(value.text) if value.kind is Kind.STRING else value.text
    if isinstance(value, Items):
        return "[" + ", ".join(_text(part, scope) for part in value.values) + "]"
    return "{ " + ", ".join(_entry(name, part, scope) for name, part in value.fields) + " }"


def _entry(name: str, value: Value, scope: Scope) -> str:
    if name.startswith("["):
        name = f"[{scope.extension_name(name[1:-1]) or name[1:-1]}]"
    return f"{name}: {_text(value, scope)}"


def _keep_uninterpreted(option: Option, target: ProtoMessage) -> None:
    kept = descriptor_pb2.UninterpretedOption()
    for part in option.path:
        kept.name.add(name_part=part.name, is_extension=part.extension)
    value = option.value
    if isinstance(value, Block | Items):
        kept.aggregate_value = " ".join(line.strip() for line in value_text(value))
    elif value.kind is Kind.STRING:
        kept.string_value = value.text.encode(errors="surrogateescape")
    elif value.kind is Kind.WORD:
        kept.identifier_value = value.text
    else:
        _keep_number(value.text, kept)
    target.MergeFromString(
        # Each kind of options has this field under the same number.
        descriptor_pb2.FileOptions(uninterpreted_option=[kept]).SerializeToString()
    )


def _keep_number(text: str, kept: descriptor_pb2.UninterpretedOption) -> None:
    number = _number(text)
    if isinstance(number, float) or not -(1 << 63) <= number < 1 << 64:
        kept.double_value = float(number) if abs(number) < _DOUBLE_MAX else math.inf
    elif number < 0:
        kept.negative_int_value = number
    else:
        kept.positive_int_value = number


def _number(text: str) -> int | float:
    digits = text.removeprefix("-")
    sign = -1 if digits != text else 1
    if digits[:2] in {"0x", "0X"}:
        return sign * int(digits, 16)
    octal = digits.startswith("0") and not digits.strip("01234567")
    try:
        return sign * int(digits, 8 if octal else 10)
    except ValueError:
        return sign * float(digits.rstrip("fF") or digits)


def _wrong_value(option: Option) -> InvalidSchemaError:
    return InvalidSchemaError(
        f'option "{option.name}" has a value that it cannot have',
        detail=f"The value is {' '.join(value_text(option.value))[:80]}.",
    )
