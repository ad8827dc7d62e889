"""A function that chooses a partition by the key, called in a process beside an executor: as the application's would call it.

    the key as JSON, a text  ->  the partition, None where the key chooses

Source: the kernel's `KeyFunctions`, `engine.key_functions`.
"""

from typing import Any

from duolog.plan.expressions.key_functions import KeyFunction
from duolog.serde.json import JsonSerde


class OfKey:
    """A function of the key; errors name what it is made of."""

    def __init__(self, function: KeyFunction) -> None:
        self._function = function
        self._serde = JsonSerde(function.key)
        self.__wrapped__ = function.function
        self.__qualname__ = function.called

    def __call__(self, key: str) -> int | None:
        return self._function.partition(self._serde.deserialize(key.encode()))

    def __reduce__(self) -> Any:
        return OfKey, (self._function,)
