"""A record as a function gets it: `stream.for_each(function)`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CalledRecord:
    """Key, value, and what stands beside them."""

    key: Any
    """The value of a key of one column, a tuple of several (a window's start and end last); None: a null key."""
    value: dict[str, Any] | None
    """By column; None: a null value, of a table a deleted row."""
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]
    """Names and bytes, in their order."""
    topic: str
    """Where the record stands that set this one off, with its partition and offset."""
    partition: int
    offset: int
