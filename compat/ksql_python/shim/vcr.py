"""Replaces the library vcr of the tests, which plays recorded answers: these ask the server."""

from collections.abc import Callable
from typing import Any


def use_cassette(path: str) -> Callable[[Any], Any]:
    """Return a decorator that changes nothing."""
    del path
    return lambda test: test
