"""Convert keys and values of a topic between Python values and bytes.

    key of one column           its value, "bob"
    key of several columns      a tuple in column order, ("bob", 7); a dict by name is accepted too
    windowed key                a tuple with the window's start and end, ("bob", 0, 3600000)
    value of format KAFKA       the value itself
    any other value             a dict by name, or a dataclass; missing columns are null
    null                        None

If several nodes read or write a topic, it has the columns of all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from itertools import chain
from typing import Any

from duolog.core.errors import SerdeError
from duolog.plan.errors import unknown_name
from duolog.plan.nodes import Sink, Source
from duolog.plan.types import Column
from duolog.serde.row import Row
from duolog.serde.serde import key_serde, value_serde
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER, with_header

Headers = Sequence[tuple[str, bytes | None]]


class TopicValues:
    """Converts between bytes, rows and Python values of one topic.

    Args:
        nodes: the sources and sinks of the topic, at least one.
        topic: its name, if a source reads it by a pattern.
    """

    def __init__(self, nodes: Sequence[Source | Sink], topic: str | None = None) -> None:
        first = nodes[0]
        self.topic = topic or first.topic
        self.key_columns = _together(node.schema.key for node in nodes)
        self.value_columns = _together(node.schema.value for node in nodes)
        self._is_plain = first.value_format.name == "KAFKA"
        key, value = first.key_format, first.value_format
        self._formats = key.name, value.name
        self.key_format = key.name
        self._keys = key_serde(key.name, self.key_columns, first.schema.window, key.options)
        self._values = value_serde(value.name, self.value_columns, value.options)

    def key_bytes(self, key: object) -> bytes | None:
        """Encode a key.

        Raises:
            SerdeError: it is not a key of this topic.
            StatementError: it names an unknown column.
        """
        if key is None:
            return None
        if isinstance(key, Mapping):
            return self._keys.serialize(self._row(key, self.key_columns))
        row = tuple(key) if isinstance(key, tuple) else (key,)
        if len(row) != len(self.key_columns):
            names = ", ".join(column.name for column in self.key_columns)
            raise SerdeError(
                f'{key!r} is not a key of topic "{self.topic}"',
                detail=f"Its key has the columns {names}." if names else "Its key is not read.",
            )
        return self._keys.serialize(row)

    def value_bytes(self, value: object) -> bytes | None:
        """Encode a value.

        Raises:
            SerdeError, StatementError: as `key_bytes`.
        """
        if value is None:
            return None
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, Mapping):
            return self._values.serialize(self._row(value, self.value_columns))
        if not self._is_plain:
            names = ", ".join(column.name for column in self.value_columns)
            raise SerdeError(
                f'{value!r} is not a value of topic "{self.topic}"',
                detail=f"Its value is a row with the columns {names}.",
                hint="Pass a dict by column name, or a dataclass.",
            )
        return self._values.serialize((value,))

    def key_row(self, data: bytes | None, headers: Headers = ()) -> Row | None:
        """Decode the columns of a key; a header of its record may name its schema.

        Raises:
            SerdeError: the bytes are not a key of this topic.
        """
        return self._keys.deserialize(with_header(self._formats[0], data, headers, KEY_HEADER))

    def value_row(self, data: bytes | None, headers: Headers = ()) -> Row | None:
        """Decode the columns of a value; a header of its record may name its schema.

        Raises:
            SerdeError: the bytes are not a value of this topic.
        """
        return self._values.deserialize(with_header(self._formats[1], data, headers, VALUE_HEADER))

    def key(self, row: Row | None) -> Any:
        """Return a key as users write it."""
        if row is None:
            return None
        return row[0] if len(row) == 1 else row

    def value(self, row: Row | None) -> Any:
        """Return a value as users write it."""
        if row is None:
            return None
        if self._is_plain:
            return row[0]
        names = [column.name for column in self.value_columns]
        return dict(zip(names, row, strict=True))

    def _row(self, values: Mapping[str, object], columns: tuple[Column, ...]) -> Row:
        names = [column.name for column in columns]
        for name in values:
            if name not in names:
                raise unknown_name("column", name, names)
        return tuple(values.get(name) for name in names)


def _together(columns: Iterable[Iterable[Column]]) -> tuple[Column, ...]:
    by_name = {column.name: column for column in chain.from_iterable(columns)}
    return tuple(by_name.values())
