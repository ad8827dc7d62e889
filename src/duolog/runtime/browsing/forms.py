"""The shape of a form for a key or value, made from the latest schema of its subject.

    {"subject", "version", "schemaId", "format", "schema", "fields": node | null, "example": JSON}
    node   {"type": "struct", "fields": [{"name", …node}]}, {"type": "array", "items": node},
           {"type": "map", "key": node, "values": node}, {"type": "bigint"}, …

A schema whose types have no counterpart in SQL has no fields: its JSON is written as text.
"""

import json
from typing import Any, Final

from duolog.core.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.schemas.columns import type_of
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.source import SchemaSource, Version

_FORMATS: Final = {"AVRO": "AVRO", "JSON": "JSON_SR", "PROTOBUF": "PROTOBUF"}
_DEPTH_MAX: Final = 12


def form_of(version: Version, source: SchemaSource) -> dict[str, Any]:
    """Return the form for a version of a subject.

    Raises:
        RegistryError: the registry does not answer.
    """
    try:
        of: Type | None = type_of(source.by_id(version.schema_id), upper=False)
    except InvalidSchemaError:
        of = None
    return {
        "subject": version.subject,
        "version": version.number,
        "schemaId": version.schema_id,
        "format": _FORMATS[version.schema.language.value],
        "schema": version.schema.text,
        "fields": None if of is None else _node(of),
        "example": "{}" if of is None else json.dumps(_example(of), indent=2),
    }


def _node(of: Type, depth: int = 0) -> dict[str, Any]:
    if depth > _DEPTH_MAX:
        return {"type": "json"}
    match of:
        case Struct(fields=fields):
            inner = [{"name": one.name, **_node(one.type, depth + 1)} for one in fields]
            return {"type": "struct", "fields": inner}
        case Array(element=element):
            return {"type": "array", "items": _node(element, depth + 1)}
        case Map(key=key, value=value):
            return {"type": "map", "key": _node(key), "values": _node(value, depth + 1)}
        case Decimal(precision=precision, scale=scale):
            return {"type": "decimal", "precision": precision, "scale": scale}
        case _:
            return {"type": of.name.lower()}


def _example(of: Type) -> object:
    match of:
        case Struct(fields=fields):
            return {one.name: _example(one.type) for one in fields}
        case Array():
            return []
        case Map():
            return {}
        case _:
            return _EXAMPLES.get(of, 0)


_EXAMPLES: Final[dict[Type, object]] = {
    BOOLEAN: False,
    DOUBLE: 0.0,
    STRING: "",
    BYTES: "",
    DATE: 0,
    TIME: 0,
    TIMESTAMP: 0,
}
