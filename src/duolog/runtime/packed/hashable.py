"""Hashable forms of values."""

from typing import Any


def hashable(value: object) -> Any:
    """Return a hashable form of a value: lists become tuples, dicts tuples of their items."""
    match value:
        case list() | tuple():
            return tuple(hashable(item) for item in value)
        case dict():
            return tuple((name, hashable(item)) for name, item in value.items())
        case _:
            return value
