"""Defaults of fields: values of their types, and what remains of them in a normalized text."""

from typing import Final

from duolog.schemas.avro.json_text import shortest_float
from duolog.schemas.avro.types import (
    MISSING,
    Array,
    Field,
    Json,
    Map,
    Missing,
    Record,
    Type,
    Union,
)
from duolog.schemas.errors import InvalidSchemaError

_DEPTH_MAX: Final = 100


class DefaultCheck:
    """Checks the defaults of one schema; remembers what it has checked.

    A record's default may omit fields that have defaults, which are then checked in its place. This
    way, a default of three characters can stand for any number of values.
    """

    def __init__(self) -> None:
        self._valid: dict[tuple[int, int], bool] = {}

    def check(self, field: Field, record: Record) -> None:
        """Refuse a default that is not a value of the field's type.

        Raises:
            InvalidSchemaError: it is not.
        """
        if isinstance(field.default, Missing) or self._is_value(field.type, field.default, 0):
            return
        raise InvalidSchemaError(
            f'default of field "{field.name}" of record "{record.name.full}" is not a value'
            f" of its type {field.type.full_name}",
            hint="Change the default; a union takes a value of any of its types.",
        )

    def _is_value(self, node: Type, value: "Json | Missing", depth: int) -> bool:
        if isinstance(value, Missing):
            return False
        if not isinstance(node, Array | Map | Record | Union):
            return _is_simple_value(node.kind, value)
        if depth > _DEPTH_MAX:
            raise InvalidSchemaError(f"default is nested deeper than {_DEPTH_MAX} levels")
        pair = (id(node), id(value))
        known = self._valid.get(pair)
        if known is None:
            self._valid[pair] = False  # a default that contains itself never ends
            known = self._valid[pair] = self._is_container_value(node, value, depth + 1)
        return known

    def _is_container_value(self, node: Type, value: Json, depth: int) -> bool:
        match node, value:
            case Union(), _:
                return any(self._is_value(each, value, depth) for each in node.branches)
            case Array(), list():
                return all(self._is_value(node.items, each, depth) for each in value)
            case Map(), dict():
                return all(self._is_value(node.values, each, depth) for each in value.values())
            case Record(), dict():
                return all(
                    self._is_value(field.type, value.get(field.name, field.default), depth)
                    for field in node.fields
                )
            case _:
                return False


def _is_simple_value(kind: str, value: Json) -> bool:
    match kind:
        case "int":
            return _is_integer(value, 31)
        case "long":
            return _is_integer(value, 63)
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, str)


def normalized_default(value: Json, node: Type | None) -> "Json | Missing":  # noqa: PLR0911 - a table of cases
    """Return a default as the registry writes it in a normalized schema.

    The registry converts it to a value of the type and back. It takes the first type of a union. A
    value of another type is lost, and the field then has no default.
    """
    if isinstance(node, Union):
        node = node.branches[0] if node.branches else None
    kind = node.kind if node is not None else None
    match value:
        case None | bool():
            return value
        case int():
            return _normalized_integer(value, kind)
        case float():
            if kind == "float":
                return shortest_float(value)
            return value if kind in {None, "double"} else MISSING
        case str():
            if kind in {"bytes", "fixed"}:
                return value.encode("latin-1", "replace").decode("latin-1")
            return value if kind in {None, "string", "enum"} else MISSING
        case list():
            part = node.items if isinstance(node, Array) else None
            return [_kept(each, part) for each in value]
        case _:
            return {key: _kept(each, _part(node, key)) for key, each in value.items()}


def _normalized_integer(value: int, kind: str | None) -> "Json | Missing":
    if not _is_integer(value, 63):
        return MISSING
    if kind == "float":
        return shortest_float(value)
    if kind == "double":
        return float(value)
    if kind in {None, "long", "int"}:
        return value
    return MISSING


def _kept(value: Json, node: Type | None) -> Json:
    kept = normalized_default(value, node)
    return value if isinstance(kept, Missing) else kept


def _part(node: Type | None, key: str) -> Type | None:
    if isinstance(node, Map):
        return node.values
    if isinstance(node, Record):
        return next((field.type for field in node.fields if field.name == key), None)
    return None


def _is_integer(value: Json, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits
