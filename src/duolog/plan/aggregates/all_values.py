"""All values of a group, and results that are read from them.

"All values" is a sorted list of the different values with their counts. If it outgrows the row, the
rest is stored in pages (except in windows). A result is stored next to it, so that only the fold
reads pages.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.expressions import (
    AccumulatorRef,
    Expression,
    Scope,
    TableColumnRef,
    literal,
    type_of,
)
from duolog.plan.types import BYTES

NO_LIMIT: Final = literal(2**31 - 1)
ANY: Final = literal(value=False)
DISTINCT: Final = literal(value=True)
_ONE: Final = literal(1)
_WITH_FLAG: Final = {"VALUES_LEAST", "VALUES_GREATEST"}
"""The functions that return each value either once or as often as it was added."""


def as_it_is(found: Expression) -> Expression:
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """A result that is read from all values: `part` of what the function returns."""

    function: str
    limit: Expression = _ONE
    distinct: bool = False
    part: Callable[[Expression], Expression] = as_it_is

    def of(self, values: Expression, like: Expression) -> Expression:
        """Return the result over the stored `values`, whose elements have the type of `like`."""
        flag = [DISTINCT if self.distinct else ANY] if self.function in _WITH_FLAG else []
        return self.part(call(self.function, values, like, self.limit, *flag))


def distinct_of_all(kept: Accumulators, arg: Expression) -> Expression:
    """Store all values, and return the number of different ones."""
    return call("VALUES_DISTINCT", AccumulatorRef(all_values(kept, arg)))


def read_of_all(
    kept: Accumulators, name: str, value: Expression, reading: Reading
) -> AccumulatorRef:
    """Store all values, and next to them the result of `reading`."""
    like = null_of(type_of(value, kept.scope))
    values = kept.by_name[all_values(kept, value)]
    of = type_of(reading.of(null_of(BYTES), like), Scope(()))
    return kept.keep(
        name,
        of,
        null_of(of),
        add=reading.of(values.add, like),
        subtract=None if values.subtract is None else reading.of(values.subtract, like),
        merge=reading.of(values.merge or values.add, like),
    )


def all_values(kept: Accumulators, value: Expression) -> str:
    """Store all values with their counts; return the accumulator's name."""
    name = f"values({value})"
    if name in kept.by_name:
        return name
    slot = 1 + sum(one.paged for one in kept.by_name.values())
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD", before, value, literal(slot)),
        subtract=call("VALUES_SUBTRACT", before, value),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), NO_LIMIT),
    )
    kept.by_name[name] = replace(kept.by_name[name], paged=True)
    return name
