"""Aggregates of users' as folds: one accumulator, whose steps call Python.

keeps      what `initialize` gives, in its type
adds       `aggregate`          takes back    `undo`, where there is one
merges     `merge`              gives         `map`, or what is kept
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
"""The option of an aggregate that says what it calls."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an aggregate calls, and the type of what it keeps."""

    routine: Routine
    """Its step `aggregate`, with the types of the columns alone."""
    state: Type

    def __repr__(self) -> str:
        # Part of the name of what is kept: replacing a function leaves it as it is.
        return str(self.routine.constants)


def user_fold(kept: Accumulators, aggregate: Aggregate, of: Kept) -> Expression:
    """Keep what an aggregate keeps; return its result.

    Raises:
        StatementError: rows are taken back too, and it has no `undo`.
    """
    columns = () if aggregate.arg is None else (aggregate.arg, *aggregate.others)
    steps, name = of.routine.overload.steps, str(aggregate)
    before = AccumulatorRef(name)
    step = _step_of(of)
    if "undo" not in steps:
        kept.refuse_undo(
            aggregate,
            f"{of.routine.function.name} has no undo.",
            "Give it one: undo(self, kept, value).",
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
    of: Kept,
) -> Callable[[Step, tuple[Type, ...], tuple[Expression, ...], Type], Expression]:
    def step(
        name: Step, types: tuple[Type, ...], args: tuple[Expression, ...], gives: Type
    ) -> Expression:
        routine = replace(of.routine, step=name, arguments=types, result=gives)
        return user_call(routine, args)

    return step
