"""Values of types that columns cannot have, as the JSON text that `readable` writes for others.

    message Node { int64 id = 1; Node next = 2; }    {"id":1,"next":{"id":2,"next":null}}
    {"type":"null"}, only in Avro                    null
    a decimal of more than 38 digits                 all its digits
    [a.Order, b.Order], only in Avro                 {"a.Order":{…},"b.Order":null}

Such values are walked along their schema. Values that are nested deeper than `DEPTH_MAX` records
are refused. What is not a record, a list or a map is converted as for a column.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from google.protobuf.message import DecodeError

from duolog.core.errors import SerdeError
from duolog.core.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Struct,
    Type,
)
from duolog.schemas.avro import AvroSchema
from duolog.schemas.avro import columns as avro_forms
from duolog.schemas.avro import types as avro
from duolog.schemas.protobuf import ProtobufSchema
from duolog.schemas.protobuf import columns as protobuf_forms
from duolog.serde import avro_reading, ksql_json, protobuf_reading
from duolog.serde.avro import reader_of
from duolog.serde.json_writing import key_text
from duolog.serde.matching import decimal_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

DEPTH_MAX: Final = 100
"""The largest number of records inside each other."""
_DIGITS_MAX: Final = 1000
"""The most digits of a decimal, and decimal places."""
_DIGITS_OF_BYTE: Final = 2.41
_NUMBERS: Final[dict[Type, Type]] = {DATE: INT, TIME: INT, TIMESTAMP: BIGINT}
_KEYS: Final = frozenset(("string", "enum", "int", "long", "boolean"))
_NULL: Final = "null"

# The values of both libraries have no static types.
_Convert = Callable[[Any], Any]
_Write = Callable[[Any], str]


def walked_reader(schema: AvroSchema | ProtobufSchema, name: str | None) -> Callable[[bytes], str]:
    """Return the function that reads payloads as JSON text.

    Args:
        schema: the schema.
        name: the full name of the message, if the schema is Protobuf.

    Raises:
        InvalidSchemaError: Protobuf refuses the schema, or a type has no text.
    """
    if isinstance(schema, AvroSchema):
        avro_walk, read = _AvroWalk(), reader_of(schema)
        return lambda data: _written(lambda: avro_walk.text(schema.root, read(data), 0))
    walk = _ProtobufWalk(schema)
    made: Any = schema.message_class(name or schema.message_name((0,)))
    return lambda data: _written(lambda: walk.text(made.FromString(data), 0))


def _written(write: Callable[[], str]) -> str:
    try:
        return write()
    except RecursionError as error:
        raise SerdeError("the value is nested too deep") from error
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
            (called, self._definite(one, inner, depth) if one.full_name == name else _NULL)
            for called, one in zip(_names_of(branches), branches, strict=True)
        )

    def _definite(self, node: avro.Type, value: Any, depth: int) -> str:
        entry = avro_forms.entry_of(node)
        types = {} if entry is None else {field.name: field.type for field in entry.fields}
        if types and avro_forms.without_null(types["key"]).kind in _KEYS:
            convert, _ = self._leaf(types["key"])
            return ksql_json.object_text(
                (key_text(convert(one["key"])), self.text(types["value"], one["value"], depth))
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
            logical = node.logical
            if logical is not None and logical.name == "decimal":
                found = _same, lambda value: _decimal_text(value, logical.scale)
            else:
                of = times_as_numbers(avro_forms.type_of(node, upper=False))
                found = avro_reading.converter(node, of, node.kind), ksql_json.writer_of(of)
            self._leaves[id(node)] = found
        return found


class _Parts(NamedTuple):
    """The parts of a message: its oneofs with the names that they are shown by, and the rest."""

    unions: "list[tuple[str, OneofDescriptor]]"
    fields: "list[FieldDescriptor]"


def _parts_of(message: "Descriptor") -> _Parts:
    fields = protobuf_forms.plain_fields_of(message)
    unions = []
    for one in protobuf_forms.oneofs_of(message):
        name = protobuf_forms.union_name(one)
        # No field has the name of the oneof itself.
        unions.append((one.name if name in message.fields_by_name else name, one))
    return _Parts(unions, fields)


def _is_decimal(field: "FieldDescriptor") -> bool:
    message = field.message_type
    return message is not None and message.full_name == protobuf_forms.DECIMAL


class _ProtobufWalk:
    """Writes messages."""

    def __init__(self, schema: ProtobufSchema) -> None:
        self._schema = schema
        self._leaves: dict[str, tuple[Type, _Convert, _Write]] = {}
        self._parts: dict[str, _Parts] = {}

    def text(self, message: Any, depth: int) -> str:
        """Return the JSON of a message; `depth` messages are around it."""
        _ensure_shallow(depth)
        of = message.DESCRIPTOR
        parts = self._parts.get(of.full_name)
        if parts is None:
            parts = self._parts[of.full_name] = _parts_of(of)
        unions = [(name, self._union(one, message, depth)) for name, one in parts.unions]
        fields = [(one.name, self._field(one, message, depth)) for one in parts.fields]
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
                (key_text(key(entry.key)), self._field(parts["value"], entry, depth))
                for entry in getattr(message, field.name)
            )
        entries = protobuf_reading.extended_entries(field.message_type)
        # Indexing a map of messages adds missing keys; `items` does not.
        pairs = [*getattr(message, field.name).items(), *entries(message, field.number)]
        return ksql_json.object_text(
            (key_text(key(name)), self._one(parts["value"], one, depth)) for name, one in pairs
        )

    def _one(self, field: "FieldDescriptor", value: Any, depth: int) -> str:
        if protobuf_forms.is_struct(field):
            return self.text(value, depth + 1)
        _, convert, write = self._leaf(field)
        return write(convert(value))

    def _leaf(self, field: "FieldDescriptor") -> tuple[Type, _Convert, _Write]:
        found = self._leaves.get(field.full_name)
        if found is None and _is_decimal(field):
            # Its type may have no precision, and the text needs none.
            text: _Write = lambda value: _decimal_text(value.value, value.scale)  # noqa: E731
            found = self._leaves[field.full_name] = DOUBLE, _same, text
        elif found is None:
            of = protobuf_forms.type_of_single(self._schema, field)
            convert = protobuf_reading.value_converter(field, of, field.name)
            found = self._leaves[field.full_name] = of, convert, ksql_json.writer_of(of)
        return found


def _list(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def times_as_numbers(of: Type) -> Type:
    """Return a type with numbers in the place of dates and times; numbers have no least year.

    Example:
        >>> from duolog.core.types import parse_type
        >>> str(times_as_numbers(parse_type("MAP<STRING, ARRAY<STRUCT<A TIMESTAMP, B DATE>>>")))
        'MAP<STRING, ARRAY<STRUCT<A BIGINT, B INT>>>'
    """
    match of:
        case Array(element=element):
            return Array(times_as_numbers(element))
        case Map(key=key, value=value):
            return Map(times_as_numbers(key), times_as_numbers(value))
        case Struct(fields=fields):
            return Struct(tuple(Column(name, times_as_numbers(kind)) for name, kind in fields))
        case _:
            return _NUMBERS.get(of, of)


def _names_of(branches: list[avro.Type]) -> list[str]:
    """Return the names of a union's types: full names if they differ in their namespaces only."""
    names = [avro_forms.branch_name(one) for one in branches]
    return names if len(set(names)) == len(names) else [one.full_name for one in branches]


def _decimal_text(unscaled: bytes, scale: int) -> str:
    if max(len(unscaled) * _DIGITS_OF_BYTE, abs(scale)) > _DIGITS_MAX:
        raise ValueError("a decimal has too many digits")
    return f"{decimal_of(unscaled, scale):f}"


def _same(value: Any) -> Any:
    return value
