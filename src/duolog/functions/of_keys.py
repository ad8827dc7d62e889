"""A partitioner of keys, called next to an executor, with the same result as in the application.

    the key as JSON text  ->  the partition; None if the key decides

Source: the kernel's `KeyFunctions`, `engine.key_functions`.
"""

from duolog.plan.expressions.key_functions import KeyFunction
from duolog.serde.json import JsonSerde


class OfKey:
    """A function of the key; errors use the name of the user's function."""

    def __init__(self, function: KeyFunction) -> None:
        self._function = function
        self._serde = JsonSerde(function.key)
        self.__wrapped__ = function.function
        self.__qualname__ = function.called

    def __call__(self, key: str) -> int | None:
        return self._function.partition(self._serde.deserialize(key.encode()))

    def __reduce__(self) -> tuple[type["OfKey"], tuple[KeyFunction]]:
        return OfKey, (self._function,)
