"""Functions of Python's that choose a partition by the key of a record: `to("out", partitioner=by_region)`.

A user's function is called in the process that started the application, never where records are processed.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.awaiting import ensure_awaits_nothing
from duolog.plan.expressions.expressions import Expression
from duolog.plan.schema import Schema
from duolog.plan.types import Column

PARTITIONS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class KeyFunction(Expression):
    """What a function gives for the key of a record: a partition, or None where the key chooses.

    It stands where a partitioner does, and in no other expression.
    """

    function: Callable[[Any], int | None]
    key: tuple[Column, ...]

    def __str__(self) -> str:
        return f"{self.called}({', '.join(column.name for column in self.key)})"

    @property
    def called(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def partition(self, row: Sequence[object] | None) -> int | None:
        """Return what the function gives for the columns of a key; a key of nulls only is None.

        Raises:
            ValueError: it is no partition; and whatever the function raises.
        """
        key: Any = None
        if row is not None and any(value is not None for value in row):
            key = row[0] if len(row) == 1 else tuple(row)
        found = self.function(key)
        if found is None:
            return None
        if isinstance(found, bool) or not hasattr(found, "__index__"):
            raise ValueError(f"{found!r} is no partition: an int, or None where the key chooses")
        partition = operator.index(found)
        if not 0 <= partition <= PARTITIONS_MAX:
            raise ValueError(f"the partition is {partition}")
        return partition


def key_function(function: Callable[[Any], int | None], schema: Schema) -> KeyFunction:
    """Return what calls `function` with the key of records of this schema.

    Raises:
        StatementError: records have no key, or nobody would wait for the function.
    """
    found = KeyFunction(function, schema.key)
    ensure_awaits_nothing(function, "Give a function that returns the partition.")
    if not schema.key:
        raise InvalidPlan(
            f"{found.called} chooses by a key, and records have none",
            hint='Give them one, select_key(...), or choose by a column: partitioner=col("region") % 4.',
        )
    return found
