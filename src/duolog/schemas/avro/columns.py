"""Convert Avro schemas to types of columns, and columns to Avro schemas.

Reading, as ksqlDB infers the columns of a topic:

    boolean, string, enum, uuid   BOOLEAN, STRING         decimal (bytes, fixed)  DECIMAL
    int, long                     INT, BIGINT             date, time-millis       DATE, TIME
    float, double                 DOUBLE                  timestamp-millis        TIMESTAMP
    bytes, fixed                  BYTES                   other logical types     as without them
    array, map, record            ARRAY, MAP, STRUCT      [null, T], [T]          T
    array of MapEntry records     MAP                     [A, B]                  STRUCT<A, B>

Writing, as ksqlDB registers a sink: each field is a union with null and has the default null; a
MAP is an array of entries, because its keys may be null or not texts. The attributes `connect.…`
name the types that Avro does not have, for readers in Kafka Connect.

Source: ksqlDB's documentation of AVRO; Kafka Connect's Avro converter.
"""

import json
from collections.abc import Sequence
from typing import Final

from duolog.core import types as sql
from duolog.core.types import Column
from duolog.schemas.avro import types as avro
from duolog.schemas.avro.types import Json
from duolog.schemas.errors import InvalidSchemaError

SPACE: Final = "io.confluent.ksql.avro_schemas"
VALUE_NAME: Final = f"{SPACE}.KsqlDataSourceSchema"
"""Full name of the record that a value is, unless the statement names another."""
MAP_ENTRY: Final = "MapEntry"
_ENTRY_MARK: Final = "connect.internal.type"
_ENTRY_NAME: Final = "io.confluent.connect.avro.MapEntry"
_CONNECT: Final = "org.apache.kafka.connect.data"
_DEPTH_MAX: Final = 100
_TYPES_MAX: Final = 10_000

_PLAIN: Final[dict[str, sql.Type]] = {
    "boolean": sql.BOOLEAN,
    "int": sql.INT,
    "long": sql.BIGINT,
    "float": sql.DOUBLE,
    "double": sql.DOUBLE,
    "bytes": sql.BYTES,
    "fixed": sql.BYTES,
    "string": sql.STRING,
    "enum": sql.STRING,
}
_LOGICAL: Final[dict[str, sql.Type]] = {
    "date": sql.DATE,
    "time-millis": sql.TIME,
    "timestamp-millis": sql.TIMESTAMP,
}
_KEYS_OF_MAPS: Final = (sql.BOOLEAN, sql.INT, sql.BIGINT, sql.STRING)


def type_of(root: avro.Type, *, upper: bool = True) -> sql.Type:
    """Return the type of the column or, for a record, of the columns that a schema describes.

    Args:
        root: the type of the schema.
        upper: True to write the names of fields in upper case, as inference without an id does.

    Raises:
        InvalidSchemaError: a type has no counterpart, or contains itself.
    """
    return _Reader(upper=upper).of(root, "", ())


def entry_of(node: avro.Type) -> avro.Record | None:
    """Return the record of an array's entries if the array stands for a MAP."""
    if not isinstance(node, avro.Array) or not isinstance(node.items, avro.Record):
        return None
    item = node.items
    marked = item.props.get(_ENTRY_MARK) == MAP_ENTRY or item.name.full == _ENTRY_NAME
    named = {field.name for field in item.fields} == {"key", "value"}
    return item if marked and named else None


def without_null(node: avro.Type) -> avro.Type:
    """Return the only branch of a union besides null; any other type as it is."""
    if isinstance(node, avro.Union):
        branches = [branch for branch in node.branches if branch.kind != "null"]
        if len(branches) == 1:
            return branches[0]
    return node


def branch_name(node: avro.Type) -> str:
    """Return the name of the field for a branch of a union, as Kafka Connect calls it."""
    return node.name.simple if isinstance(node, avro.Named) else node.kind


class _Reader:
    def __init__(self, *, upper: bool) -> None:
        self._upper = upper
        self._types = 0

    def of(  # noqa: PLR0911 - a table of cases
        self, node: avro.Type, path: str, around: tuple[int, ...]
    ) -> sql.Type:
        """Return the type of a node; `around` are the nodes that it is in."""
        node = without_null(node)
        self._types += 1
        if len(around) > _DEPTH_MAX or self._types > _TYPES_MAX:
            raise _refused(path, "is nested too deep, or has too many fields")
        match node:
            case avro.Record():
                return self._struct(node, path, around)
            case avro.Union():
                return self._union(node, path, (*around, id(node)))
            case avro.Array():
                return self._array(node, path, (*around, id(node)))
            case avro.Map():
                inner = self.of(node.values, f"{path}{{}}", (*around, id(node)))
                return sql.Map(sql.STRING, inner)
            case _ if node.logical is not None and node.logical.name == "decimal":
                return self._decimal(node.logical, path)
            case _ if node.logical is not None and node.logical.name in _LOGICAL:
                return _LOGICAL[node.logical.name]
            case _ if node.kind in _PLAIN:
                return _PLAIN[node.kind]
            case _:
                raise _refused(path, f"has the type {node.kind}, which no column can have")

    def _name(self, name: str) -> str:
        return name.upper() if self._upper else name

    def _struct(self, node: avro.Record, path: str, around: tuple[int, ...]) -> sql.Type:
        if id(node) in around:
            raise _refused(path, f"is a {node.name.full} inside a {node.name.full}")
        inside = (*around, id(node))
        return self._struct_of(
            [
                Column(self._name(one.name), self.of(one.type, _below(path, one.name), inside))
                for one in node.fields
            ],
            path,
        )

    def _union(self, node: avro.Union, path: str, around: tuple[int, ...]) -> sql.Type:
        branches = [branch for branch in node.branches if branch.kind != "null"]
        if not branches:
            raise _refused(path, "is always null")
        return self._struct_of(
            [
                Column(
                    self._name(branch_name(one)), self.of(one, _below(path, one.full_name), around)
                )
                for one in branches
            ],
            path,
        )

    def _array(self, node: avro.Array, path: str, around: tuple[int, ...]) -> sql.Type:
        entry = entry_of(node)
        if entry is None:
            return sql.Array(self.of(node.items, f"{path}[]", around))
        parts = {field.name: field.type for field in entry.fields}
        key = self.of(parts["key"], f"{path}{{key}}", around)
        if key not in _KEYS_OF_MAPS:
            raise _refused(path, f"is a map with keys of type {key}")
        return sql.Map(key, self.of(parts["value"], f"{path}{{}}", around))

    def _struct_of(self, columns: list[Column], path: str) -> sql.Struct:
        repeated = sql.repeated_name(columns)
        # The statement refuses two columns of one name, in ksqlDB's words.
        if repeated is not None and (path or not self._upper):
            raise _refused(path, f'has two fields for the column "{repeated}"')
        return sql.Struct(tuple(columns))

    def _decimal(self, logical: avro.LogicalType, path: str) -> sql.Type:
        if logical.precision > sql.DECIMAL_PRECISION_MAX:
            raise _refused(
                path,
                f"is a decimal of {logical.precision} digits, and a column has at most "
                f"{sql.DECIMAL_PRECISION_MAX}",
            )
        return sql.Decimal(logical.precision, logical.scale)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _refused(path: str, why: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f'cannot read the Avro schema as columns: "{path or "the schema"}" {why}'
    )


def value_schema(columns: Sequence[Column], name: str = VALUE_NAME) -> Json:
    """Return the schema of a record with these columns.

    Args:
        columns: the columns.
        name: the full name of the record; a name without dots is in no namespace.
    """
    return _record(columns, name, name)


def single_schema(of: sql.Type, name: str = VALUE_NAME) -> Json:
    """Return the schema of a value, or key, that is one column without a record around it.

    A record is not in a union with null: a missing value is a record without bytes.
    """
    return _written(of, name, optional=not isinstance(of, sql.Struct))


def schema_text(schema: Json) -> str:
    """Return a schema as compact JSON."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def _record(fields: Sequence[Column], name: str, inner: str) -> dict[str, Json]:
    space, _, simple = name.rpartition(".")
    record: dict[str, Json] = {"type": "record", "name": simple}
    if space:
        record["namespace"] = space
    record["fields"] = [
        {
            "name": field.name,
            "type": _written(field.type, f"{inner}_{field.name}", optional=True),
            "default": None,
        }
        for field in fields
    ]
    record["connect.name"] = name
    return record


def _written(of: sql.Type, name: str, *, optional: bool) -> Json:
    schema = _definite(of, name)
    return ["null", schema] if optional else schema


def _definite(of: sql.Type, name: str) -> Json:
    match of:
        case sql.Struct(fields=fields):
            return _record(fields, name, name)
        case sql.Array(element=element):
            return {"type": "array", "items": _written(element, name, optional=True)}
        case sql.Map(key=key, value=value):
            entry: dict[str, Json] = {"type": "record", "name": name.rpartition(".")[2]}
            if "." in name:
                entry["namespace"] = name.rpartition(".")[0]
            entry["fields"] = [
                {"name": part, "type": _written(kind, name + mark, optional=True), "default": None}
                for part, kind, mark in (("key", key, "_MapKey"), ("value", value, "_MapValue"))
            ]
            entry[_ENTRY_MARK] = MAP_ENTRY
            return {"type": "array", "items": entry}
        case sql.Decimal(precision=precision, scale=scale):
            return {
                "type": "bytes",
                "scale": scale,
                "precision": precision,
                "connect.version": 1,
                "connect.parameters": {
                    "scale": str(scale),
                    "connect.decimal.precision": str(precision),
                },
                "connect.name": f"{_CONNECT}.Decimal",
                "logicalType": "decimal",
            }
        case _:
            return _NAMES[of]


def _connect(kind: str, name: str, logical: str) -> Json:
    return {
        "type": kind,
        "connect.version": 1,
        "connect.name": f"{_CONNECT}.{name}",
        "logicalType": logical,
    }


_NAMES: Final[dict[sql.Type, Json]] = {
    sql.BOOLEAN: "boolean",
    sql.INT: "int",
    sql.BIGINT: "long",
    sql.DOUBLE: "double",
    sql.STRING: "string",
    sql.BYTES: "bytes",
    sql.DATE: _connect("int", "Date", "date"),
    sql.TIME: _connect("int", "Time", "time-millis"),
    sql.TIMESTAMP: _connect("long", "Timestamp", "timestamp-millis"),
}
