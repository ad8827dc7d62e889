"""Aggregates whose steps are Python functions.

    aggregate(initializer=Basket, adder=put, subtractor=take, merger=both)

    put(basket: Basket, item: str, n: int) -> Basket    the accumulator, then the record's columns
    both(basket: Basket, other: Basket) -> Basket       of two sessions, the earlier one first

The accumulator is the result of the adder: a dataclass, whose fields are the columns of the table,
or a single type for the column `value`.
"""

from collections.abc import Sequence
from typing import Final, cast

from duolog.dsl.expressions.names import Steps
from duolog.dsl.expressions.python_functions import (
    Function,
    call_with_columns,
    is_function,
    parts_of,
    result_of,
)
from duolog.plan.aggregates import Fold, custom_fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import AccumulatorRef, Expression, Named, PythonCall, TableColumnRef
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.nodes import GroupBy, scope_of
from duolog.plan.schema import Schema

KEPT: Final = "aggregate"
"""The name of the accumulator in stores and errors."""


def python_fold(group: GroupBy, wanted: tuple[Named, ...], steps: Sequence[Steps | None]) -> Fold:
    """Return the fold of a group by functions: initializer, adder, subtractor and merger.

    Raises:
        StatementError: only some steps are functions, or one does not fit the adder.
    """
    if not all(step is None or is_function(step) for step in steps):
        raise InvalidPlan(
            "some steps of the aggregate are functions, others are not",
            hint="Write all of them as functions. As an expression, a function is call(function, "
            "acc(...), col(...)).",
        )
    initializer, adder, subtractor, merger = (cast("Function | None", step) for step in steps)
    assert initializer is not None, steps
    assert adder is not None, steps
    of = result_of(adder)
    kept = AccumulatorRef(KEPT)
    begin = PythonCall(PythonFunction(initializer, (), of), ())

    def step(function: Function, schema: Schema, *first: Expression) -> dict[str, Expression]:
        return {KEPT: call_with_columns(function, schema, first=first)}

    own = custom_fold(
        {KEPT: begin},
        step(adder, group.schema, kept),
        None if subtractor is None else step(subtractor, group.schema, kept),
        scope_of(group),
        None if merger is None else step(merger, Schema((), ()), kept, TableColumnRef(KEPT)),
    )
    return Fold(own.accumulators, wanted or parts_of(kept, of, "value"))
