"""Options of a text from the options of a descriptor.

Standard options come in the order in which Confluent's registry writes them, then its own
`confluent.*_meta`, then all other extensions by number.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as ProtoMessage

from duolog.schemas.protobuf.elements import Block, Items, Kind, NamePart, Option, Scalar, Value

_META_PREFIX = "confluent."
# Fields whose place in the text is not that of their number.
_ORDERS = {
    "google.protobuf.FileOptions": (
        "java_package java_outer_classname java_multiple_files java_generate_equals_and_hash"
        " java_string_check_utf8 optimize_for"
    ),
    "google.protobuf.FieldOptions": "ctype packed jstype deprecated",
    "google.protobuf.EnumValueOptions": "deprecated debug_redact",
}
_VALUE_FIRST = frozenset({"precision", "scale"})
_INTEGERS = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    }
)


class OptionReader:
    """Reads options with the extensions that a pool knows.

    Attributes:
        with_extensions: returns a message of options in which the extensions are fields.
    """

    def __init__(self, with_extensions: Callable[[ProtoMessage], ProtoMessage]) -> None:
        self.with_extensions = with_extensions

    def read(self, options: ProtoMessage) -> list[Option]:
        """Return the options that a message such as google.protobuf.FieldOptions has."""
        if not options.ByteSize():
            return []
        complete = self.with_extensions(options)
        order = _ORDERS.get(complete.DESCRIPTOR.full_name, "").split()
        standard: list[tuple[int, Option]] = []
        meta: list[Option] = []
        custom: list[Option] = []
        for field, value in complete.ListFields():
            if field.name == "uninterpreted_option" and not field.is_extension:
                continue
            if not field.is_extension:
                place = order.index(field.name) if field.name in order else len(order)
                standard.extend((place, part) for part in _options(field, value))
            elif field.full_name.startswith(_META_PREFIX):
                meta.extend(_meta(field, value))
            else:
                custom.extend(_options(field, value))
        standard.sort(key=lambda part: part[0])
        return [*(option for _, option in standard), *meta, *custom]


def _options(field: FieldDescriptor, value: object) -> list[Option]:
    """Return the options of one field; each value of a repeated field is an option of its own."""
    values = list(value) if field.is_repeated and isinstance(value, Iterable) else [value]
    name = field.full_name if field.is_extension else field.name
    path = (NamePart(name, extension=field.is_extension),)
    return [Option(path, _single(field, part)) for part in values]


def _single(field: FieldDescriptor, value: object) -> Value:
    if isinstance(value, ProtoMessage):
        return Block(tuple(_entries(value)))
    if isinstance(value, bool):
        return Scalar(Kind.WORD, "true" if value else "false")
    if isinstance(value, str):
        return Scalar(Kind.STRING, value)
    if isinstance(value, bytes):
        return Scalar(Kind.STRING, value.decode(errors="surrogateescape"))
    if field.enum_type is not None and isinstance(value, int):
        named = field.enum_type.values_by_number.get(value)
        return Scalar(Kind.WORD, named.name) if named else Scalar(Kind.NUMBER, str(value))
    text = str(value)
    infinite = text in {"inf", "nan"}
    return Scalar(Kind.WORD if infinite else Kind.NUMBER, text)


def _entries(message: ProtoMessage) -> Iterator[tuple[str, Value]]:
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if not field.is_repeated:
            yield name, _single(field, value)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            yield name, Items(tuple(_map_entries(field, value)))
        else:
            yield name, Items(tuple(_single(field, part) for part in value))


def _map_entries(field: FieldDescriptor, value: object) -> Iterator[Value]:
    assert field.message_type is not None
    assert isinstance(value, Mapping)
    parts = field.message_type.fields_by_name
    for key in sorted(value):  # the library gives them in any order
        entry = (
            ("key", _single(parts["key"], key)),
            ("value", _single(parts["value"], value[key])),
        )
        yield Block(entry)


def _meta(field: FieldDescriptor, value: ProtoMessage) -> list[Option]:
    """Return Confluent's own option; the parameters of decimals have their value first."""
    entries: list[tuple[str, Value]] = []
    for name, part in _entries(value):
        if name == "params" and isinstance(part, Items):
            part = Items(tuple(map(_parameter, part.values)))  # noqa: PLW2901
        entries.append((name, part))
    if not entries:
        return []
    return [Option((NamePart(field.full_name, extension=True),), Block(tuple(entries)))]


def _parameter(entry: Value) -> Value:
    assert isinstance(entry, Block)
    key = entry.fields[0][1]
    if isinstance(key, Scalar) and key.text in _VALUE_FIRST:
        return Block(tuple(reversed(entry.fields)))
    return entry
