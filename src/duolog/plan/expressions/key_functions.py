"""Python functions that choose a partition by a record's key: `to("out", partitioner=by_region)`.

They are called in the process that started the application, never in the tasks.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duolog.plan.awaiting import ensure_awaits_nothing
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.expressions import Expression
from duolog.plan.schema import Schema
from duolog.plan.types import Column

PARTITIONS_MAX = 2**31 - 1

OfKey = Callable[[Any], int | None]
"""A function of a key: the value of a single column, or a tuple."""


@dataclass(frozen=True, slots=True)
class KeyFunction(Expression):
    """The result of a function for a record's key: a partition, or None for the key's partition.

    Allowed only as a partitioner.
    """

    function: OfKey
    key: tuple[Column, ...]

    def __str__(self) -> str:
        return f"{self.called}({', '.join(column.name for column in self.key)})"

    @property
    def called(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def partition(self, row: Sequence[object] | None) -> int | None:
        """Return the function's result for the columns of a key; it receives None if all are null.

        Raises:
            ValueError: the result is not a partition. Errors of the function are passed on.
        """
        key: object = None
        if row is not None and any(value is not None for value in row):
            key = row[0] if len(row) == 1 else tuple(row)
        found = self.function(key)
        if found is None:
            return None
        if isinstance(found, bool) or not hasattr(found, "__index__"):
            raise ValueError(
                f"{found!r} is not a partition: it must be an int, or None if the key decides"
            )
        partition = operator.index(found)
        if not 0 <= partition <= PARTITIONS_MAX:
            raise ValueError(f"the partition is {partition}")
        return partition


def key_function(function: OfKey, schema: Schema) -> KeyFunction:
    """Return a partitioner that calls `function` with the key of records of this schema.

    Raises:
        StatementError: records have no key, or the function returns a coroutine or generator.
    """
    found = KeyFunction(function, schema.key)
    ensure_awaits_nothing(function, "Give a function that returns the partition.")
    if not schema.key:
        raise InvalidPlan(
            f"{found.called} chooses a partition by key, but the records have no key",
            hint='Set a key with select_key(...), or choose by a column: partitioner=col("region") '
            "% 4.",
        )
    return found
