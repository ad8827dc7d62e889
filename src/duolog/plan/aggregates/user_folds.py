"""Users' aggregate functions as folds: one accumulator whose steps call Python.

initial value   `initialize`, whose result type is the accumulator's type
add             `aggregate`
subtract        `undo`, if there is one
merge           `merge`, if there is one
result          `map`, else the accumulator
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulator, Accumulators
from duolog.plan.expressions import AccumulatorRef, Aggregate, Expression, TableColumnRef
from duolog.plan.expressions.user_calls import user_call
from duolog.plan.sql.user_functions import Routine, Step
from duolog.plan.types import Type

OF_USER: Final = "constants"
"""The option of an aggregate that names the routine to call."""


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A user's aggregate function, and the type of its accumulator."""

    routine: Routine
    """The step `aggregate`, with the column types as its only argument types."""
    state: Type

    def __repr__(self) -> str:
        # Part of the accumulator's name: it must not change when the function is replaced.
        return str(self.routine.constants)


def user_fold(kept: Accumulators, aggregate: Aggregate, of: UserAggregate) -> Expression:
    """Add the accumulator of a user's aggregate function; return its result.

    Raises:
        StatementError: rows are also subtracted, and the function has no `undo`.
    """
    columns = () if aggregate.arg is None else (aggregate.arg, *aggregate.others)
    steps, name = of.routine.overload.steps, str(aggregate)
    before = AccumulatorRef(name)
    step = _step_of(of)
    if "undo" not in steps:
        kept.refuse_undo(
            aggregate,
            f"{of.routine.function.name} has no `undo`.",
            "Add one: undo(self, kept, value).",
        )
    types = of.routine.arguments
    kept.by_name[name] = Accumulator(
        name,
        of.state,
        step("initialize", (), (), of.state),
        step("aggregate", (of.state, *types), (before, *columns), of.state),
        step("undo", (of.state, *types), (before, *columns), of.state) if kept.undo else None,
        step("merge", (of.state, of.state), (before, TableColumnRef(name)), of.state)
        if "merge" in steps
        else None,
    )
    if "map" not in steps:
        return before
    return step("map", (of.state,), (before,), of.routine.result)


def _step_of(
    of: UserAggregate,
) -> Callable[[Step, tuple[Type, ...], tuple[Expression, ...], Type], Expression]:
    def step(
        name: Step, types: tuple[Type, ...], args: tuple[Expression, ...], gives: Type
    ) -> Expression:
        routine = replace(of.routine, step=name, arguments=types, result=gives)
        return user_call(routine, args)

    return step
