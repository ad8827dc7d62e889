"""Convert Protobuf messages to types of columns, and columns to Protobuf schemas.

Reading, as ksqlDB infers the columns of a topic:

    bool                          BOOLEAN       repeated                  ARRAY
    int32, sint32, sfixed32       INT           map<string, …>            MAP
    uint32, fixed32, 64 bits      BIGINT        message, group            STRUCT
    float, double                 DOUBLE        oneof                     STRUCT <name>_<number>
    string, enum                  STRING        google.protobuf.…Value    the type inside it
    bytes                         BYTES         google.protobuf.Timestamp TIMESTAMP
    confluent.type.Decimal        DECIMAL       google.type.Date          DATE
                                                google.type.TimeOfDay     TIME

Writing, as ksqlDB registers a sink: fields are numbered in order; a STRUCT is a message inside the
message; a MAP is repeated entries, whose bytes are those of a map. Protobuf has no null. By
default, a null is written as the default of its type. With the representation `optional` a field
knows whether it is there, with `wrapper` it is a message.

Source: ksqlDB's documentation of PROTOBUF; Kafka Connect's Protobuf converter.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.unknown_fields import UnknownFieldSet

from duolog.core import types as sql
from duolog.core.types import Column
from duolog.schemas.errors import InvalidSchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

    from duolog.schemas.protobuf.schema import ProtobufSchema

Nullable = Literal["optional", "wrapper"]

MESSAGE: Final = "ConnectDefault"
"""Start of the names of messages that no statement names; a number follows."""
ENTRY: Final = "Entry"
"""End of the names of messages that are entries of maps."""
TIMESTAMP: Final = "google.protobuf.Timestamp"
DATE: Final = "google.type.Date"
TIME: Final = "google.type.TimeOfDay"
DECIMAL: Final = "confluent.type.Decimal"
WRAPPERS: Final[dict[str, sql.Type]] = {
    "google.protobuf.BoolValue": sql.BOOLEAN,
    "google.protobuf.Int32Value": sql.INT,
    "google.protobuf.Int64Value": sql.BIGINT,
    "google.protobuf.UInt32Value": sql.BIGINT,
    "google.protobuf.UInt64Value": sql.BIGINT,
    "google.protobuf.FloatValue": sql.DOUBLE,
    "google.protobuf.DoubleValue": sql.DOUBLE,
    "google.protobuf.StringValue": sql.STRING,
    "google.protobuf.BytesValue": sql.BYTES,
}
_MESSAGES: Final[dict[str, sql.Type]] = {
    TIMESTAMP: sql.TIMESTAMP,
    DATE: sql.DATE,
    TIME: sql.TIME,
    **WRAPPERS,
}
_META: Final = "confluent.Meta"
_META_NUMBER: Final = 1088
_DEPTH_MAX: Final = 100
_TYPES_MAX: Final = 10_000

# Numbers of google.protobuf.FieldDescriptor.TYPE_…
TYPE_GROUP, TYPE_MESSAGE, TYPE_ENUM = 10, 11, 14
_SCALARS: Final[dict[int, sql.Type]] = {
    1: sql.DOUBLE,
    2: sql.DOUBLE,  # float
    3: sql.BIGINT,  # int64
    4: sql.BIGINT,  # uint64
    5: sql.INT,
    6: sql.BIGINT,  # fixed64
    7: sql.BIGINT,  # fixed32
    8: sql.BOOLEAN,
    9: sql.STRING,
    12: sql.BYTES,
    13: sql.BIGINT,  # uint32
    TYPE_ENUM: sql.STRING,
    15: sql.INT,  # sfixed32
    16: sql.BIGINT,  # sfixed64
    17: sql.INT,  # sint32
    18: sql.BIGINT,  # sint64
}

UNSIGNED_64: Final = (4, 6)
"""Types whose values Java reads as signed numbers of the same bits."""


def type_of_scalar(kind: int) -> sql.Type:
    """Return the type of a column for the number of a scalar type."""
    return _SCALARS[kind]


def type_of(schema: "ProtobufSchema", name: str | None, *, upper: bool = True) -> sql.Struct:
    """Return the columns that a message describes.

    Args:
        schema: the schema.
        name: the full name of the message; None for the first one.
        upper: True to write the names of fields in upper case, as inference without an id does.

    Raises:
        InvalidSchemaError: there is no such message, a type has no counterpart, or contains itself.
    """
    full_name = name or schema.message_name((0,))
    message = schema.message_class(full_name).DESCRIPTOR
    return _Reader(schema, upper=upper).struct(message, "", ())


def union_name(oneof: "OneofDescriptor") -> str:
    """Return the name of the column that a oneof is."""
    return f"{oneof.name}_{oneof.index}"


def oneofs_of(message: "Descriptor") -> list["OneofDescriptor"]:
    """Return the oneofs of a message, without those that stand for `optional`."""
    optional = _optional_names(message)
    return [one for one in message.oneofs if not _is_synthetic(one, optional)]


def plain_fields_of(message: "Descriptor") -> list["FieldDescriptor"]:
    """Return the fields of a message that are in no oneof."""
    optional = _optional_names(message)
    return [
        field
        for field in message.fields
        if field.containing_oneof is None or _is_synthetic(field.containing_oneof, optional)
    ]


def _optional_names(message: "Descriptor") -> frozenset[str]:
    """Return the names of the fields that proto3 calls optional."""
    if not message.oneofs:
        return frozenset()
    made = DescriptorProto()
    message.CopyToProto(made)
    return frozenset(field.name for field in made.field if field.proto3_optional)


def _is_synthetic(oneof: "OneofDescriptor", optional: frozenset[str]) -> bool:
    return len(oneof.fields) == 1 and oneof.fields[0].name in optional


def is_map(field: "FieldDescriptor") -> bool:
    """Tell whether a field is a map, or the repeated entries of one that Kafka Connect writes."""
    message = field.message_type
    if message is None or not field.is_repeated:
        return False
    if message.GetOptions().map_entry:
        return True
    named = message.name.endswith(ENTRY) and [one.name for one in message.fields] == [
        "key",
        "value",
    ]
    return named and not any(one.is_repeated for one in message.fields)


def is_struct(field: "FieldDescriptor") -> bool:
    """Tell whether the type of a field is a message that is a STRUCT."""
    message = field.message_type
    return message is not None and message.full_name not in {*_MESSAGES, DECIMAL}


def type_of_single(schema: "ProtobufSchema", field: "FieldDescriptor") -> sql.Type:
    """Return the type of one value of a field.

    Raises:
        InvalidSchemaError: it has no counterpart, or contains itself.
    """
    return _Reader(schema, upper=False).single(field, field.name, ())


class _Reader:
    def __init__(self, schema: "ProtobufSchema", *, upper: bool) -> None:
        self._schema = schema
        self._upper = upper
        self._types = 0

    def struct(self, message: "Descriptor", path: str, around: tuple[str, ...]) -> sql.Struct:
        """Return the type of a message; `around` are the messages that it is in."""
        if message.full_name in around:
            raise _refused(path, f"is a {message.full_name} inside a {message.full_name}")
        inside = (*around, message.full_name)
        unions = [
            Column(
                self._name(union_name(oneof)),
                self._struct_of(tuple(self._columns(oneof.fields, path, inside)), path),
            )
            for oneof in oneofs_of(message)
        ]
        fields = (*unions, *self._columns(plain_fields_of(message), path, inside))
        return self._struct_of(fields, path)

    def _columns(
        self, fields: Sequence["FieldDescriptor"], path: str, around: tuple[str, ...]
    ) -> Iterator[Column]:
        for field in fields:
            below = f"{path}.{field.name}" if path else field.name
            yield Column(self._name(field.name), self._field(field, below, around))

    def _name(self, name: str) -> str:
        return name.upper() if self._upper else name

    def _field(self, field: "FieldDescriptor", path: str, around: tuple[str, ...]) -> sql.Type:
        self._types += 1
        if len(around) > _DEPTH_MAX or self._types > _TYPES_MAX:
            raise _refused(path, "is nested too deep, or has too many fields")
        if is_map(field):
            parts = field.message_type.fields_by_name
            key = self.single(parts["key"], path, around)
            return sql.Map(key, self.single(parts["value"], f"{path}{{}}", around))
        single = self.single(field, path, around)
        return sql.Array(single) if field.is_repeated else single

    def single(self, field: "FieldDescriptor", path: str, around: tuple[str, ...]) -> sql.Type:
        """Return the type of one value of a field; `around` are the messages that it is in."""
        message = field.message_type
        if message is None:
            return _SCALARS[field.type]
        if message.full_name in _MESSAGES:
            return _MESSAGES[message.full_name]
        if message.full_name == DECIMAL:
            return self._decimal(field, path)
        return self.struct(message, path, around)

    def _struct_of(self, columns: tuple[Column, ...], path: str) -> sql.Struct:
        repeated = sql.repeated_name(columns)
        # The statement refuses two columns of one name, in ksqlDB's words.
        if repeated is not None and (path or not self._upper):
            raise _refused(path, f'has two fields for the column "{repeated}"')
        return sql.Struct(columns)

    def _decimal(self, field: "FieldDescriptor", path: str) -> sql.Type:
        parameters: dict[str, str] = {}
        for option in UnknownFieldSet(field.GetOptions()):
            if option.field_number == _META_NUMBER:
                meta = self._schema.message_class(_META).FromString(option.data)
                parameters |= dict(meta.params)
        try:
            return sql.Decimal(int(parameters["precision"]), int(parameters.get("scale", "0")))
        except Exception as error:  # missing, not a number, or beyond the limits of DECIMAL
            raise _refused(
                path,
                "is a decimal whose option confluent.field_meta has no precision and scale that a "
                "column can have",
            ) from error


def _refused(path: str, why: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f'cannot read the Protobuf message as columns: "{path or "the message"}" {why}'
    )


_IMPORTS: Final = {
    "google.protobuf.": "google/protobuf/wrappers.proto",
    TIMESTAMP: "google/protobuf/timestamp.proto",
    DATE: "google/type/date.proto",
    TIME: "google/type/timeofday.proto",
    DECIMAL: "confluent/type/decimal.proto",
}
_NAMES: Final[dict[sql.Type, str]] = {
    sql.BOOLEAN: "bool",
    sql.INT: "int32",
    sql.BIGINT: "int64",
    sql.DOUBLE: "double",
    sql.STRING: "string",
    sql.BYTES: "bytes",
    sql.TIMESTAMP: TIMESTAMP,
    sql.DATE: DATE,
    sql.TIME: TIME,
}
_WRAPPER_NAMES: Final = {
    sql.BOOLEAN: "google.protobuf.BoolValue",
    sql.INT: "google.protobuf.Int32Value",
    sql.BIGINT: "google.protobuf.Int64Value",
    sql.DOUBLE: "google.protobuf.DoubleValue",
    sql.STRING: "google.protobuf.StringValue",
    sql.BYTES: "google.protobuf.BytesValue",
}


def schema_text(
    columns: Sequence[Column], name: str | None = None, nullable: Nullable | None = None
) -> str:
    """Return the text of a schema whose message has these columns.

    Args:
        columns: the columns.
        name: the full name of the message; None for the default.
        nullable: the representation of null.

    Raises:
        InvalidSchemaError: Protobuf has no such type, for example arrays of arrays.
    """
    package, _, simple = (name or "").rpartition(".")
    writer = _Writer(nullable)
    body = writer.message(simple or writer.next_name(), columns, "")
    lines = ['syntax = "proto3";']
    if package:
        lines.append(f"package {package};")
    lines += [f'import "{path}";' for path in sorted(writer.imports)]
    return "\n".join([*lines, body, ""])


class _Writer:
    def __init__(self, nullable: Nullable | None) -> None:
        self.imports: set[str] = set()
        self._nullable = nullable
        self._names = 0

    def next_name(self) -> str:
        """Return the name of the next message: ConnectDefault1, then ConnectDefault2."""
        self._names += 1
        return f"{MESSAGE}{self._names}"

    def message(self, name: str, columns: Sequence[Column], path: str) -> str:
        """Return the definition of a message, with those of the messages inside it."""
        inner: list[str] = []
        fields = [
            f"{self._field(column, inner, f'{path}{column.name}')} = {number}"
            f"{self._options(column.type)};"
            for number, column in enumerate(columns, 1)
        ]
        return f"message {name} {{\n" + "\n".join([*fields, *inner]) + "\n}"

    def _field(self, column: Column, inner: list[str], path: str) -> str:
        match column.type:
            case sql.Array(element=element):
                return f"repeated {self._type(element, inner, f'{path}[]')} {column.name}"
            case sql.Map(key=key, value=value):
                if key not in {sql.STRING, sql.INT, sql.BIGINT, sql.BOOLEAN}:
                    raise _unwritten(path, f"a map with keys of type {key}")
                if isinstance(value, sql.Array | sql.Map):
                    raise _unwritten(path, f"{value} inside an array or a map")
                name = f"{self.next_name()}{ENTRY}"
                entry = (Column("key", key), Column("value", value))
                inner.append(self.message(name, entry, f"{path}."))
                return f"repeated {name} {column.name}"
            case of if self._nullable == "wrapper" and of in _WRAPPER_NAMES:
                self.imports.add(_IMPORTS["google.protobuf."])
                return f"{_WRAPPER_NAMES[of]} {column.name}"
            case of if self._nullable == "optional":
                return f"optional {self._type(of, inner, path)} {column.name}"
            case of:
                return f"{self._type(of, inner, path)} {column.name}"

    def _type(self, of: sql.Type, inner: list[str], path: str) -> str:
        match of:
            case sql.Struct(fields=fields):
                name = self.next_name()
                inner.append(self.message(name, fields, f"{path}."))
                return name
            case sql.Array() | sql.Map():
                raise _unwritten(path, f"{of} inside an array or a map")
            case sql.Decimal():
                self.imports |= {_IMPORTS[DECIMAL], "confluent/meta.proto"}
                return DECIMAL
            case _:
                if _NAMES[of] in _IMPORTS:
                    self.imports.add(_IMPORTS[_NAMES[of]])
                return _NAMES[of]

    def _options(self, of: sql.Type) -> str:
        if isinstance(of, sql.Array):
            of = of.element
        if not isinstance(of, sql.Decimal):
            return ""
        return (
            ' [(confluent.field_meta) = {params: [{key: "precision", value: '
            f'"{of.precision}"}}, {{key: "scale", value: "{of.scale}"}}]}}]'
        )


def _unwritten(path: str, what: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f'cannot write the columns as a Protobuf message: "{path}" is {what}',
        hint="Put it into a STRUCT, or use another format.",
    )
