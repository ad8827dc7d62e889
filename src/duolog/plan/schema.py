"""The columns of a record: those of its key and those of its value.

Names are distinct across both, so an expression needs only a name. A key is null when all of its
columns are null, which for one column is what one expects; a schema without key columns has null
keys only. A value is null or it is a row, and a row of nulls is not a null value.

The key of a windowed table ends with the bounds of its window. Its bytes are those of the columns
before them, and then of the window: tasks and partitions are chosen by the former alone.
"""

from dataclasses import dataclass, replace
from typing import Final

from duolog.core.windowed_key import WindowedKey
from duolog.plan.types import BIGINT, Column, ensure_distinct, parse_columns, render_columns

BOUNDS: Final = (Column("window_start", BIGINT), Column("window_end", BIGINT))
"""The last columns of a windowed key: milliseconds since 1970, as `row_time()` has them."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a record's key and value.

    `window` says what kind of window is in the key, if any.
    """

    key: tuple[Column, ...]
    value: tuple[Column, ...]
    window: WindowedKey | None = None

    def __post_init__(self) -> None:
        ensure_distinct(list(self.names))

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, those of the key first."""
        return self.key + self.value

    @property
    def inner_key(self) -> tuple[Column, ...]:
        """The key without its window."""
        return self.key if self.window is None else self.key[: -len(BOUNDS)]

    def with_value(self, value: tuple[Column, ...]) -> "Schema":
        return replace(self, value=value)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __str__(self) -> str:
        return f"key ({render_columns(self.key)}) value ({render_columns(self.value)})"


def parse_schema(key: str, value: str) -> Schema:
    """Return the schema declared by two lists of columns.

    Example:
        >>> print(parse_schema("carrier STRING", "dest STRING, dep_delay BIGINT"))
        key (carrier STRING) value (dest STRING, dep_delay BIGINT)
    """
    return Schema(parse_columns(key), parse_columns(value))
