"""Values of types that contain themselves, as the JSON text that `readable` writes for other types.

    message Node { int64 id = 1; Node next = 2; }    {"id":1,"next":{"id":2,"next":null}}

Such a type has no columns, so its values are walked along their schema. Values that are nested
deeper than `DEPTH_MAX` records are refused. What is not a record, a list or a map is converted as
for a column.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from duolog.core.errors import SerdeError
from duolog.core.types import BYTES, Type
from duolog.schemas.avro import AvroSchema
from duolog.schemas.avro import columns as avro_forms
from duolog.schemas.avro import types as avro
from duolog.schemas.protobuf import ProtobufSchema
from duolog.schemas.protobuf import columns as protobuf_forms
from duolog.serde import avro_reading, ksql_json, protobuf_reading
from duolog.serde.avro import reader_of
from duolog.serde.avro_bounds import is_recursive

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

DEPTH_MAX: Final = 100
"""The largest number of records inside each other."""
_NULL: Final = "null"

# The values of both libraries have no static types.
_Convert = Callable[[Any], Any]
_Write = Callable[[Any], str]


def recursive_reader(
    schema: AvroSchema | ProtobufSchema, name: str | None
) -> Callable[[bytes], str] | None:
    """Return the function that reads payloads as JSON text; None if the type is not recursive.

    Args:
        schema: the schema.
        name: the full name of the message, if the schema is Protobuf.
    """
    if isinstance(schema, AvroSchema):
        return _avro_reader(schema) if is_recursive(schema.root) else None
    made = schema.message_class(name or schema.message_name((0,)))
    return _protobuf_reader(schema, made) if _contains_itself(made.DESCRIPTOR) else None


def _avro_reader(schema: AvroSchema) -> Callable[[bytes], str]:
    read, walk = reader_of(schema), _AvroWalk()
    return lambda data: _written(lambda: walk.text(schema.root, read(data), 0))


def _protobuf_reader(schema: ProtobufSchema, made: Any) -> Callable[[bytes], str]:
    walk = _ProtobufWalk(schema)
    return lambda data: _written(lambda: walk.text(made.FromString(data), 0))


def _written(write: Callable[[], str]) -> str:
    try:
        return write()
    except (DecodeError, TypeError, ValueError, OverflowError, ArithmeticError) as error:
        raise SerdeError(
            "the bytes are not a value of their schema", detail=f"{type(error).__name__}: {error}"
        ) from error


def _ensure_shallow(depth: int) -> None:
    if depth >= DEPTH_MAX:
        raise SerdeError(f"the value is nested deeper than {DEPTH_MAX} records")


class _AvroWalk:
    """Writes values that `avro.reader_of` returns."""

    def __init__(self) -> None:
        self._leaves: dict[int, tuple[_Convert, _Write]] = {}

    def text(self, node: avro.Type, value: Any, depth: int) -> str:
        """Return the JSON of a value; `depth` records are around it."""
        if value is None:
            return _NULL
        if not isinstance(node, avro.Union):
            return self._definite(node, value, depth)
        branches = [branch for branch in node.branches if branch.kind != "null"]
        if len(branches) == 1:
            is_named = isinstance(branches[0], avro.Named) and isinstance(value, tuple)
            return self._definite(branches[0], value[1] if is_named else value, depth)
        name, inner = value[0].lstrip("."), value[1]
        return ksql_json.object_text(
            (
                avro_forms.branch_name(one),
                self._definite(one, inner, depth) if one.full_name == name else _NULL,
            )
            for one in branches
        )

    def _definite(self, node: avro.Type, value: Any, depth: int) -> str:
        if (entry := avro_forms.entry_of(node)) is not None:
            types = {field.name: field.type for field in entry.fields}
            convert, _ = self._leaf(types["key"])
            return ksql_json.object_text(
                (str(convert(one["key"])), self.text(types["value"], one["value"], depth))
                for one in value
            )
        match node:
            case avro.Record():
                _ensure_shallow(depth)
                return ksql_json.object_text(
                    (field.name, self.text(field.type, value[field.name], depth + 1))
                    for field in node.fields
                )
            case avro.Array():
                return _list(self.text(node.items, one, depth) for one in value)
            case avro.Map():
                return ksql_json.object_text(
                    (name, self.text(node.values, one, depth)) for name, one in value.items()
                )
            case _:
                convert, write = self._leaf(node)
                return write(convert(value))

    def _leaf(self, node: avro.Type) -> tuple[_Convert, _Write]:
        found = self._leaves.get(id(node))
        if found is None:
            of = avro_forms.type_of(node, upper=False)
            found = avro_reading.converter(node, of, node.kind), ksql_json.writer_of(of)
            self._leaves[id(node)] = found
        return found


class _ProtobufWalk:
    """Writes messages."""

    def __init__(self, schema: ProtobufSchema) -> None:
        self._schema = schema
        self._leaves: dict[str, tuple[Type, _Convert, _Write]] = {}

    def text(self, message: Any, depth: int) -> str:
        """Return the JSON of a message; `depth` messages are around it."""
        _ensure_shallow(depth)
        of = message.DESCRIPTOR
        unions = [
            (protobuf_forms.union_name(one), self._union(one, message, depth))
            for one in protobuf_forms.oneofs_of(of)
        ]
        fields = [
            (one.name, self._field(one, message, depth))
            for one in protobuf_forms.plain_fields_of(of)
        ]
        return ksql_json.object_text([*unions, *fields])

    def _union(self, oneof: Any, message: Any, depth: int) -> str:
        chosen = message.WhichOneof(oneof.name)
        if chosen is None:
            return _NULL
        return ksql_json.object_text(
            (one.name, self._field(one, message, depth) if one.name == chosen else _NULL)
            for one in oneof.fields
        )

    def _field(self, field: "FieldDescriptor", message: Any, depth: int) -> str:
        if protobuf_forms.is_map(field):
            return self._map(field, message, depth)
        if field.is_repeated:
            return _list(self._one(field, one, depth) for one in getattr(message, field.name))
        if field.has_presence and not message.HasField(field.name):
            return _NULL
        value = getattr(message, field.name)
        # `bytes` without presence are null if they are empty, as for columns.
        is_null = not field.has_presence and value == b"" and self._leaf(field)[0] == BYTES
        return _NULL if is_null else self._one(field, value, depth)

    def _map(self, field: "FieldDescriptor", message: Any, depth: int) -> str:
        parts = field.message_type.fields_by_name
        _, key, _ = self._leaf(parts["key"])
        if not field.message_type.GetOptions().map_entry:
            return ksql_json.object_text(
                (str(key(entry.key)), self._field(parts["value"], entry, depth))
                for entry in getattr(message, field.name)
            )
        entries = protobuf_reading.extended_entries(field.message_type)
        # Indexing a map of messages adds missing keys; `items` does not.
        pairs = [*getattr(message, field.name).items(), *entries(message, field.number)]
        return ksql_json.object_text(
            (str(key(name)), self._one(parts["value"], one, depth)) for name, one in pairs
        )

    def _one(self, field: "FieldDescriptor", value: Any, depth: int) -> str:
        if protobuf_forms.is_struct(field):
            return self.text(value, depth + 1)
        _, convert, write = self._leaf(field)
        return write(convert(value))

    def _leaf(self, field: "FieldDescriptor") -> tuple[Type, _Convert, _Write]:
        found = self._leaves.get(field.full_name)
        if found is None:
            of = protobuf_forms.type_of_single(self._schema, field)
            convert = protobuf_reading.value_converter(field, of, field.name)
            found = self._leaves[field.full_name] = of, convert, ksql_json.writer_of(of)
        return found


def _list(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def _contains_itself(root: "Descriptor") -> bool:
    """Return True if a message can be inside a message of its own type."""
    done: set[str] = set()
    inside: set[str] = set()
    # A message is entered, and left after its fields.
    waiting: list[tuple[Descriptor, bool]] = [(root, False)]
    while waiting:
        message, leaves = waiting.pop()
        name = message.full_name
        if leaves:
            inside.discard(name)
            done.add(name)
        elif name in inside:
            return True
        elif name not in done:
            inside.add(name)
            waiting.append((message, True))
            waiting += [(one.message_type, False) for one in message.fields if one.message_type]
    return False
