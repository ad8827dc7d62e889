"""The SQL type of values that were seen, and the values as rows of it.

    whole numbers        BIGINT; beyond 64 bits, or with others: DOUBLE
    true, false          BOOLEAN
    text, several kinds  STRING: a value that is not a text is its JSON
    arrays, objects      ARRAY<…>, STRUCT<…> with the fields that are asked for

A shape only grows, so that its type fits all values that it has seen.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from duolog.core.types import BIGINT, BOOLEAN, DOUBLE, STRING, Array, Column, Struct, Type

_DEPTH_MAX: Final = 20
_BIGINT: Final = range(-(2**63), 2**63)
NO_FIELD: Final = "_"
"""The field of an outermost object of which the predicate mentions no field."""
_SCALARS: Final = {"boolean": BOOLEAN, "int": BIGINT, "double": DOUBLE, "string": STRING}


class Names:
    """The names that a predicate mentions.

    Args:
        plain: names without quotes, in upper case.
        quoted: names in backquotes.
    """

    def __init__(self, plain: frozenset[str], quoted: frozenset[str] = frozenset()) -> None:
        self._plain = plain
        self._quoted = quoted

    def of(self, field: str) -> str | None:
        """Return the name of a field in SQL; None if the predicate does not mention it."""
        if field in self._quoted:
            return field
        upper = field.upper()
        return upper if upper in self._plain else None


class Shape:
    """The values that were seen at one place.

    Attributes:
        fields: shapes by the name in SQL.
        known: all names of fields that were seen, for hints; some of them if there are many.
    """

    _KNOWN_MAX: Final = 2_000

    def __init__(self, names: Names, depth: int = 0) -> None:
        self._names = names
        self._depth = depth
        self._kinds: set[str] = set()
        self._items: Shape | None = None
        self.fields: dict[str, Shape] = {}
        self.known: set[str] = set()

    def add(self, value: object) -> None:
        """Look at a value."""
        match value:
            case None:
                return
            case dict() if self._depth < _DEPTH_MAX:
                self._kinds.add("object")
                self._add_fields(value)
            case list() if self._depth < _DEPTH_MAX:
                self._kinds.add("array")
                self._items = self._items or Shape(self._names, self._depth + 1)
                for one in value:
                    self._items.add(one)
            case _:
                self._kinds.add(_kind(value))

    def _add_fields(self, value: Mapping[str, object]) -> None:
        for field, one in value.items():
            if len(self.known) < self._KNOWN_MAX:
                self.known.add(field)
            name = self._names.of(field)
            if name is not None:
                if name not in self.fields:
                    self.fields[name] = Shape(self._names, self._depth + 1)
                self.fields[name].add(one)

    def mentions(self, value: Mapping[str, object]) -> bool:
        """Return whether the predicate mentions a field of an object."""
        return any(self._names.of(field) is not None for field in value)

    def type(self) -> Type:
        """Return the type of all values that were seen; STRING if there were none."""
        match sorted(self._kinds):
            case ["object"] if self.fields:
                columns = (Column(name, one.type()) for name, one in sorted(self.fields.items()))
                return Struct(tuple(columns))
            case ["object"] if self._depth == 0:
                return Struct((Column(NO_FIELD, STRING),))
            case ["array"]:
                assert self._items is not None
                return Array(self._items.type())
            case ["double", "int"]:
                return DOUBLE
            case [kind] if kind in _SCALARS:
                return _SCALARS[kind]
            case _:
                return STRING

    def row_value(self, value: object) -> Any:
        """Return a value that was seen as a value of `type`."""
        return self._of(value, self.type())

    def _of(self, value: object, of: Type) -> Any:
        match value, of:
            case None | str(), _:
                return value
            case dict(), Struct():
                named = ((self._names.of(field), one) for field, one in value.items())
                return {
                    name: self.fields[name].row_value(one)
                    for name, one in named
                    if name is not None
                }
            case list(), Array():
                assert self._items is not None
                return [self._items.row_value(one) for one in value]
            case _ if of == STRING:
                return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            case _:
                return float(value) if of == DOUBLE else value  # type: ignore[arg-type]


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "int" if value in _BIGINT else "double"
        case float():
            return "double"
        case str():
            return "string"
        case _:
            return "other"
