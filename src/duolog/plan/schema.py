"""The columns of a record: those of its key and those of its value.

Names are distinct across both, so an expression needs only a name. A key is null when all of its
columns are null, which for one column is what one expects; a schema without key columns has null
keys only. A value is null or it is a row, and a row of nulls is not a null value.
"""

from dataclasses import dataclass

from duolog.plan.types import Column, ensure_distinct, parse_columns, render_columns


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a record's key and value."""

    key: tuple[Column, ...]
    value: tuple[Column, ...]

    def __post_init__(self) -> None:
        ensure_distinct(list(self.names))

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, those of the key first."""
        return self.key + self.value

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
