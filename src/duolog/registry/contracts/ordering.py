"""Java's order of texts: by UTF-16 code units, where Python compares code points."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def java_order(text: str) -> bytes:
    """Return the sort key of a text."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct texts in order."""
    return tuple(sorted(set(texts), key=java_order))


def sorted_by_name(values: Mapping[str, T]) -> dict[str, T]:
    """Return the mapping with its names in order."""
    return {name: values[name] for name in sorted(values, key=java_order)}
