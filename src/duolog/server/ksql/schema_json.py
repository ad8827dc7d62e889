"""Columns and types as ksqlDB's entities describe them.

    MAP<STRING, INTEGER>    {"type": "MAP", "fields": null, "memberSchema": {"type": "INTEGER", …}}

Source: ksqlDB's documentation of the /ksql endpoint, and responses in the tests of its clients.
"""

from collections.abc import Iterable
from typing import Any

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import Array, Decimal, Map, Struct, Type

Json = dict[str, Any]


def type_json(of: Type) -> Json:
    """Return a type: its name, the fields of a STRUCT, the type of elements or values.

    Example:
        >>> from duolog.plan.types import INT, Array
        >>> type_json(Array(INT))["memberSchema"]
        {'type': 'INTEGER', 'fields': None, 'memberSchema': None}
    """
    match of:
        case Array(element=element):
            return _schema("ARRAY", member=element)
        case Map(value=value):
            return _schema("MAP", member=value)
        case Struct(fields=fields):
            inner = [{"name": one.name, "schema": type_json(one.type)} for one in fields]
            return _schema("STRUCT") | {"fields": inner}
        case Decimal(precision=precision, scale=scale):
            return _schema("DECIMAL") | {"parameters": {"precision": precision, "scale": scale}}
        case _:
            return _schema(sql_name(of))


def fields_json(columns: Iterable[SqlColumn]) -> list[Json]:
    """Return the columns of a source or a query; keys and headers are marked by `type`."""
    return [_field(column) for column in columns]


def _field(column: SqlColumn) -> Json:
    made: Json = {"name": column.name, "schema": type_json(column.type)}
    match column.role:
        case "KEY":
            return made | {"type": "KEY"}
        case "HEADER":
            return made | {"type": "HEADER", "headerKey": column.header}
        case "HEADERS":
            return made | {"type": "HEADER"}
        case _:
            return made


def _schema(name: str, member: Type | None = None) -> Json:
    inner = None if member is None else type_json(member)
    return {"type": name, "fields": None, "memberSchema": inner}
