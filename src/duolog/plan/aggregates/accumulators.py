"""The accumulators of an aggregation, collected by name while its fold is built.

The name of an accumulator describes its content, so that functions with the same accumulator share
it: `count(x)` is used by `count`, `avg` and `stddev`.
"""

from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    Expression,
    Literal,
    Scope,
    TableColumnRef,
    literal,
    type_of,
)
from duolog.plan.types import BIGINT, NULL, Decimal, Type


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One column of the state that an aggregation stores for a key.

    `initial` reads nothing. `add` and `subtract` read the record's columns, and the accumulators as
    they were before the record. `subtract` is None if the fold never removes rows. `merge` combines
    the accumulators of two sessions: it reads the earlier session's by AccumulatorRef and the later
    one's by TableColumnRef.
    """

    name: str
    type: Type
    initial: Expression
    add: Expression
    subtract: Expression | None = None
    merge: Expression | None = None
    paged: bool = False
    """True if the value may outgrow a row: the rest is stored in pages next to the rows."""


class Accumulators:
    """The accumulators of one aggregation.

    Args:
        scope: the columns of the records.
        undo: rows are also subtracted, because a table is aggregated.
    """

    def __init__(self, scope: Scope, *, undo: bool) -> None:
        self.scope = scope
        self.undo = undo
        self.by_name: dict[str, Accumulator] = {}

    def type_of(self, arg: Expression, *, function: str = "") -> Type:
        """Return the type of an aggregated value.

        Raises:
            StatementError: a column is unknown, or `function` is given and the value is the literal
                null.
        """
        found = type_of(arg, self.scope)
        if function and found == NULL:
            raise TypeMismatch(f"{function}({arg}) has no type", hint="Cast the null to a type.")
        return found

    def keep(
        self,
        name: str,
        of: Type,
        initial: Expression,
        *,
        add: Expression,
        subtract: Expression | None = None,
        merge: Expression,
    ) -> AccumulatorRef:
        """Add an accumulator with these steps; an aggregation of a table requires `subtract`."""
        assert subtract is not None or not self.undo, name
        back = subtract if self.undo else None
        self.by_name[name] = Accumulator(name, of, initial, add, back, merge)
        return AccumulatorRef(name)

    def keep_sum(
        self, name: str, of: Type, initial: Expression, *, add: Expression, subtract: Expression
    ) -> AccumulatorRef:
        """Add an accumulator that sums `add`, and subtracts `subtract` when a row is removed."""
        kept = AccumulatorRef(name)
        return self.keep(
            name,
            of,
            initial,
            add=added(kept, add, of),
            subtract=_subtracted(kept, subtract, of),
            merge=added(kept, TableColumnRef(name), of),
        )

    def count_rows(self) -> AccumulatorRef:
        """Count the records."""
        one = literal(1)
        return self.keep_sum("count(*)", BIGINT, Literal(0, BIGINT), add=one, subtract=one)

    def count(self, arg: Expression) -> AccumulatorRef:
        """Count the records in which `arg` is not null."""
        one = call("IF", call("IS_NULL", arg), literal(0), literal(1))
        return self.keep_sum(f"count({arg})", BIGINT, Literal(0, BIGINT), add=one, subtract=one)

    def refuse_undo(self, aggregate: Expression, detail: str, hint: str) -> None:
        """Raise a StatementError if rows are subtracted, which this aggregate does not support."""
        if self.undo:
            raise InvalidPlan(
                f"cannot compute {aggregate} over a grouped table", detail=detail, hint=hint
            )


def call(function: str, *args: Expression) -> Call:
    return Call(function, args)


def null_of(of: Type) -> Expression:
    return Cast(literal(None), of)


def added(kept: Expression, add: Expression, of: Type) -> Expression:
    """Return a sum that loses no digits."""
    return call("ADD_EXACT" if isinstance(of, Decimal) else "+", kept, add)


def _subtracted(kept: Expression, subtract: Expression, of: Type) -> Expression:
    if isinstance(of, Decimal):
        return added(kept, call("-", subtract), of)
    return call("-", kept, subtract)
