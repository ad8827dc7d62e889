"""Convert JSON Schemas to types of columns, and columns to JSON Schemas.

Reading, as ksqlDB infers the columns of a topic:

    boolean                       BOOLEAN       array                         ARRAY
    integer                       BIGINT        array, connect.type map       MAP, as entries
    integer, connect.type int32   INT           object                        STRUCT
    number                        DOUBLE        object, connect.type map      MAP<STRING, …>
    string, enum of strings       STRING        additionalProperties alone    MAP<STRING, …>
    string, connect.type bytes    BYTES         oneOf, anyOf of null and T    T
    titles of Kafka Connect       DECIMAL, DATE, TIME, TIMESTAMP

Fields are in the order of `connect.index`; those without it keep their places.

Writing, as ksqlDB registers a sink: each field may be null, and a MAP is an array of entries,
because its keys may be null or not texts.

Source: ksqlDB's documentation of JSON_SR; Kafka Connect's JSON Schema converter.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from duolog.core import types as sql
from duolog.core.types import Column
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.json_text import JsonValue

_CONNECT: Final = "org.apache.kafka.connect.data"
_DEPTH_MAX: Final = 100
_TYPES_MAX: Final = 10_000
_INTEGERS: Final = {"int8": sql.INT, "int16": sql.INT, "int32": sql.INT}
_TITLES: Final[dict[str, sql.Type]] = {
    f"{_CONNECT}.Date": sql.DATE,
    f"{_CONNECT}.Time": sql.TIME,
    f"{_CONNECT}.Timestamp": sql.TIMESTAMP,
}
_PRECISION: Final = 38
_KEYS_OF_MAPS: Final = (sql.BOOLEAN, sql.INT, sql.BIGINT, sql.STRING)
_PLAIN: Final = {"boolean": sql.BOOLEAN, "number": sql.DOUBLE, "string": sql.STRING}


def type_of(documents: Documents, *, upper: bool = True) -> sql.Type:
    """Return the type of the column or, for an object, of the columns that a schema describes.

    Args:
        documents: the schema.
        upper: True to write the names of fields in upper case, as inference without an id does.

    Raises:
        InvalidSchemaError: a type has no counterpart, or contains itself.
    """
    return _Reader(documents, upper=upper).of(documents.root, "", ())


class _Reader:
    def __init__(self, documents: Documents, *, upper: bool) -> None:
        self._documents = documents
        self._upper = upper
        self._types = 0

    def of(self, node: Node, path: str, around: tuple[int, ...]) -> sql.Type:
        """Return the type of a schema; `around` are the schemas that it is in."""
        node = self._definite(node, path)
        raw = node.raw
        self._types += 1
        if id(raw) in around:
            raise _refused(path, "contains itself")
        if len(around) > _DEPTH_MAX or self._types > _TYPES_MAX:
            raise _refused(path, "is nested too deep, or has too many fields")
        if not isinstance(raw, dict):
            raise _refused(path, "has no type")
        inside = (*around, id(raw))
        match _kind(raw):
            case "object":
                return self._object(raw, node, path, inside)
            case "array":
                return self._array(raw, node, path, inside)
            case kind:
                return _scalar(raw, kind, path)

    def _definite(self, node: Node, path: str) -> Node:
        """Return the schema that a `$ref`, or a choice between null and one type, stands for."""
        for _ in range(_DEPTH_MAX):
            further = self._documents.target(node)
            if further is None and isinstance(node.raw, dict):
                further = self._alternative(node.raw, node, path)
            if further is None:
                return node
            node = further
        raise _refused(path, "refers to itself")

    def _alternative(self, raw: Mapping[str, JsonValue], node: Node, path: str) -> Node | None:
        for word in ("oneOf", "anyOf", "allOf"):
            listed = raw.get(word)
            if isinstance(listed, list) and "type" not in raw:
                parts = [self._documents.node(one, node) for one in listed]
                left = [one for one in parts if not _is_null(one.raw)]
                if len(left) != 1:
                    raise _refused(path, f"is a choice of {len(left)} types, not of one and null")
                return left[0]
        return None

    def _object(
        self, raw: Mapping[str, JsonValue], node: Node, path: str, around: tuple[int, ...]
    ) -> sql.Type:
        properties, others = raw.get("properties"), raw.get("additionalProperties")
        alone = not properties and isinstance(others, dict)
        if raw.get("connect.type") == "map" or alone:
            inner = self._documents.node(others, node)
            return sql.Map(sql.STRING, self.of(inner, f"{path}{{}}", around))
        if not isinstance(properties, dict):
            properties = {}
        columns = tuple(
            Column(
                name.upper() if self._upper else name,
                self.of(self._documents.node(properties[name], node), _below(path, name), around),
            )
            for name in ordered(properties)
        )
        repeated = sql.repeated_name(columns)
        # The statement refuses two columns of one name, in ksqlDB's words.
        if repeated is not None and path:
            raise _refused(path, f'has two properties for the column "{repeated}"')
        return sql.Struct(columns)

    def _array(
        self, raw: Mapping[str, JsonValue], node: Node, path: str, around: tuple[int, ...]
    ) -> sql.Type:
        items = raw.get("items")
        if not isinstance(items, dict):
            raise _refused(path, "is an array whose items have no single type")
        item = self._documents.node(items, node)
        if raw.get("connect.type") != "map":
            return sql.Array(self.of(item, f"{path}[]", around))
        parts = items.get("properties")
        if not isinstance(parts, dict) or not {"key", "value"} <= parts.keys():
            raise _refused(path, "is a map whose entries have no key and value")
        key = self.of(self._documents.node(parts["key"], item), f"{path}{{key}}", around)
        if key not in _KEYS_OF_MAPS:
            raise _refused(path, f"is a map with keys of type {key}")
        inner = self._documents.node(parts["value"], item)
        return sql.Map(key, self.of(inner, f"{path}{{}}", around))


def ordered(properties: Mapping[str, JsonValue]) -> list[str]:
    """Return the names of properties in the order of their fields.

    Example:
        >>> ordered({"a": {"connect.index": 1}, "b": {"connect.index": 0}, "c": {}})
        ['b', 'a', 'c']
    """
    places: dict[str, int] = {}
    for number, (name, raw) in enumerate(properties.items()):
        index = raw.get("connect.index") if isinstance(raw, dict) else None
        places[name] = index if isinstance(index, int) else number
    return sorted(properties, key=lambda name: places[name])


def _kind(raw: Mapping[str, JsonValue]) -> str | None:
    kind = raw.get("type")
    if isinstance(kind, list):
        left = [one for one in kind if one != "null"]
        kind = left[0] if len(left) == 1 else None
    if isinstance(kind, str):
        return kind
    if isinstance(raw.get("properties"), dict):
        return "object"
    enum = raw.get("enum")
    texts = isinstance(enum, list) and all(isinstance(one, str | None) for one in enum)
    return "string" if texts or isinstance(raw.get("const"), str) else None


def _is_null(raw: object) -> bool:
    return isinstance(raw, dict) and raw.get("type") == "null"


def _scalar(raw: Mapping[str, JsonValue], kind: str | None, path: str) -> sql.Type:
    title, connect = raw.get("title"), raw.get("connect.type")
    if title == f"{_CONNECT}.Decimal" and kind in {"number", "string", "integer"}:
        return _decimal(raw, path)
    if isinstance(title, str) and title in _TITLES and kind == "integer":
        return _TITLES[title]
    if kind == "integer":
        return _INTEGERS.get(str(connect), sql.BIGINT)
    if kind == "string" and connect == "bytes":
        return sql.BYTES
    if kind in _PLAIN:
        return _PLAIN[kind]
    what = "has no type" if kind is None else f"has the type {kind}, which no column can have"
    raise _refused(path, what)


def _decimal(raw: Mapping[str, JsonValue], path: str) -> sql.Type:
    given = raw.get("connect.parameters")
    parameters = given if isinstance(given, dict) else {}
    try:
        scale = int(str(parameters.get("scale", 0)))
        precision = int(str(parameters.get("connect.decimal.precision", _PRECISION)))
        return sql.Decimal(precision, scale)
    except Exception as error:  # a text that is not a number, or limits of DECIMAL
        raise _refused(path, f"is a decimal that no column can hold: {parameters}") from error


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _refused(path: str, why: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f'cannot read the JSON Schema as columns: "{path or "the schema"}" {why}'
    )


def value_schema(columns: Sequence[Column]) -> dict[str, JsonValue]:
    """Return the schema of an object with these columns."""
    return {
        "type": "object",
        "properties": {
            column.name: {"connect.index": number, **_optional(column.type)}
            for number, column in enumerate(columns)
        },
    }


def single_schema(of: sql.Type) -> dict[str, JsonValue]:
    """Return the schema of a value that is one column without an object around it."""
    return _optional(of)


def schema_text(schema: dict[str, JsonValue]) -> str:
    """Return a schema as compact JSON."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def _optional(of: sql.Type) -> dict[str, JsonValue]:
    return {"oneOf": [{"type": "null"}, _written(of)]}


def _written(of: sql.Type) -> dict[str, JsonValue]:
    match of:
        case sql.Struct(fields=fields):
            return value_schema(fields)
        case sql.Array(element=element):
            return {"type": "array", "items": _optional(element)}
        case sql.Map(key=key, value=value):
            entry = value_schema((Column("key", key), Column("value", value)))
            return {"type": "array", "connect.type": "map", "items": entry}
        case sql.Decimal(precision=precision, scale=scale):
            return {
                "type": "number",
                "title": f"{_CONNECT}.Decimal",
                "connect.version": 1,
                "connect.type": "bytes",
                "connect.parameters": {
                    "scale": str(scale),
                    "connect.decimal.precision": str(precision),
                },
            }
        case _:
            return _NAMES[of]


def _titled(name: str, connect: str) -> dict[str, JsonValue]:
    return {
        "type": "integer",
        "title": f"{_CONNECT}.{name}",
        "connect.version": 1,
        "connect.type": connect,
    }


_NAMES: Final[dict[sql.Type, dict[str, JsonValue]]] = {
    sql.BOOLEAN: {"type": "boolean"},
    sql.INT: {"type": "integer", "connect.type": "int32"},
    sql.BIGINT: {"type": "integer", "connect.type": "int64"},
    sql.DOUBLE: {"type": "number", "connect.type": "float64"},
    sql.STRING: {"type": "string"},
    sql.BYTES: {"type": "string", "connect.type": "bytes"},
    sql.DATE: _titled("Date", "int32"),
    sql.TIME: _titled("Time", "int32"),
    sql.TIMESTAMP: _titled("Timestamp", "int64"),
}


def has_object_maps(documents: Documents) -> bool:
    """Tell whether a schema describes maps as objects, not as arrays of entries."""
    for node in documents.nodes():
        raw = node.raw
        if isinstance(raw, dict) and isinstance(raw.get("additionalProperties"), dict):
            return True
    return False
