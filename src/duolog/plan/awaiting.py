"""Detects coroutines and generators, whose call returns no result yet."""

import functools
import inspect
from typing import Any

from duolog.plan.errors import InvalidPlan


def is_coroutine(function: object) -> bool:
    """Return True for `async def`, a partial of one, or an object with such a `__call__`."""
    return any(map(inspect.iscoroutinefunction, _forms(function)))


def is_generator(function: object) -> bool:
    """Return True if a call returns a generator: the function contains `yield`."""
    return any(map(inspect.isgeneratorfunction, _forms(function)))


def is_async_generator(function: object) -> bool:
    """Return True if a call returns an asynchronous generator."""
    return any(map(inspect.isasyncgenfunction, _forms(function)))


def ensure_awaits_nothing(function: object, hint: str) -> None:
    """Check that a call of a function returns its result, and not a coroutine or generator.

    Raises:
        StatementError: it returns a coroutine or generator.
    """
    called = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    if is_coroutine(function) or is_async_generator(function):
        raise InvalidPlan(f"{called} is a coroutine function, which is not awaited here", hint=hint)
    if is_generator(function):
        raise InvalidPlan(f"{called} is a generator function, which would not run", hint=hint)


def _forms(function: Any) -> tuple[Any, ...]:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type) or not callable(function):
        return (function,)
    return function, type(function).__call__
