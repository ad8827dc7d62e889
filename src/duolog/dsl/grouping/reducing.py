"""Reduces the records of a group to one of the same kind: the fold of `reduce`.

    reduce({"amount": acc("amount") + col("amount"), "place": col("place")})

The first record of a group is the initial state, and later ones change it. The accumulators are
therefore columns of records, and a flag that is set after the first record.

Source: Kafka Streams `KStreamReduce`, `KTableReduce`; a session's merger is its reducer.
"""

from collections.abc import Mapping
from typing import Final

from duolog.dsl.expressions.names import Columns, named
from duolog.plan.aggregates import Fold, custom_fold
from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Scope,
    TableColumnRef,
    column_names,
    literal,
    rewrite,
)
from duolog.plan.nodes import GroupBy
from duolog.plan.types import Column, quote

ANY: Final = "any(*)"
"""The accumulator that is true once a group has had a record."""

_Steps = dict[str, Expression]


def reducing_fold(group: GroupBy, adder: Columns, subtractor: Columns | None) -> Fold:
    """Return the fold that reduces the records of `group`.

    Raises:
        StatementError: a step reads or sets columns that are not stored.
    """
    kept = _kept_columns(group, adder)
    add = _steps("adder", group, kept, adder)
    subtract = None if subtractor is None else _steps("subtractor", group, kept, subtractor)
    so_far = AccumulatorRef(ANY)
    first = {name: ColumnRef(name) for name in kept}
    later = {name: _of_later_session(step, kept) for name, step in add.items()}
    others = {name: TableColumnRef(name) for name in kept}
    folded = custom_fold(
        {**{name: Cast(literal(None), of.type) for name, of in kept.items()}, ANY: literal(False)},  # noqa: FBT003
        {**_either(so_far, add, first), ANY: literal(True)},  # noqa: FBT003
        None if subtract is None else {**subtract, ANY: so_far},
        Scope(group.schema.columns),
        {**_either(so_far, later, others), ANY: literal(True)},  # noqa: FBT003
    )
    return Fold(folded.accumulators, tuple((name, AccumulatorRef(name)) for name in kept))


def _kept_columns(group: GroupBy, adder: Columns) -> dict[str, Column]:
    values = {column.name: column for column in group.schema.value}
    if not adder:
        raise InvalidPlan("reduce needs an adder", hint=f"Write {_example(values)}.")
    for name in adder:
        if name not in values:
            raise unknown_name("value column", name, values)
    return {name: values[name] for name in adder}


def _steps(what: str, group: GroupBy, kept: Mapping[str, Column], given: Columns) -> _Steps:
    known = group.schema.names
    steps = dict(named((), given, known))
    if steps.keys() != kept.keys():
        raise InvalidPlan(
            f"the {what} does not set every column",
            detail=f"The adder has {', '.join(kept)}, the {what} {', '.join(steps) or 'none'}.",
        )
    for name, step in steps.items():
        for read in sorted(column_names(step) - kept.keys()):
            if read not in known:
                raise unknown_name("column", read, kept)
            raise InvalidPlan(
                f"the {what} of {quote(name)} reads {quote(read)}, which reduce does not store",
                detail=f"It stores {', '.join(map(quote, kept))}.",
                hint="Reduce that column too, or use aggregate(initializer=..., adder=...).",
            )
    return steps


def _either(condition: Expression, then: _Steps, otherwise: Mapping[str, Expression]) -> _Steps:
    return {name: Call("IF", (condition, step, otherwise[name])) for name, step in then.items()}


def _of_later_session(step: Expression, kept: Mapping[str, Column]) -> Expression:
    def change(part: Expression) -> Expression | None:
        if isinstance(part, ColumnRef) and part.name in kept:
            return TableColumnRef(part.name)
        return None

    return rewrite(step, change)


def _example(values: Mapping[str, Column]) -> str:
    name = next(iter(values), "amount")
    return f'reduce({{"{name}": acc("{name}") + col("{name}")}})'
