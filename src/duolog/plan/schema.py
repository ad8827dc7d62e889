"""The columns of a record: those of its key and those of its value.

Names are distinct across both, so an expression needs only a name. A key is null if all of its
columns are null; a schema without key columns has only null keys. A value is either null or a row,
and a row whose columns are all null is not a null value.

The key of a windowed table ends with the bounds of its window. Its bytes are those of the preceding
columns, followed by the window. Only the preceding columns choose the task and the partition.
"""

from dataclasses import dataclass, replace
from typing import Final

from duolog.core.windowed_key import WindowedKey
from duolog.plan.types import BIGINT, Column, ensure_distinct, parse_columns, render_columns

BOUNDS: Final = (Column("window_start", BIGINT), Column("window_end", BIGINT))
"""The last columns of a windowed key: milliseconds since 1970, like `row_time()`."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a record's key and value.

    `window` is the kind of window in the key, if any.
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
    """Return the schema declared by two column lists.

    Example:
        >>> print(parse_schema("carrier STRING", "dest STRING, dep_delay BIGINT"))
        key (carrier STRING) value (dest STRING, dep_delay BIGINT)
    """
    return Schema(parse_columns(key), parse_columns(value))
