"""The record that a function receives: `stream.for_each(function)`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CalledRecord:
    """Key, value and metadata of a record."""

    key: Any
    """The value of a key of one column, a tuple for several columns, None for a null key.

    The start and the end of a window come last.
    """
    value: dict[str, Any] | None
    """By column; None: a null value, or a deleted row of a table."""
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]
    """Names and bytes, in order."""
    topic: str
    """The topic, partition and offset of the source record that caused this record."""
    partition: int
    offset: int
