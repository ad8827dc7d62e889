"""The fold of an aggregate, built from the user's arguments."""

from collections.abc import Mapping, Sequence

from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.names import Columns, Steps, named
from duolog.dsl.expressions.python_functions import is_function
from duolog.dsl.expressions.texts import ambiguous, ensure_not_kept, texts_alone
from duolog.dsl.grouping.python_folds import python_fold
from duolog.plan.aggregates import Fold, custom_fold, fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import (
    Aggregate,
    ColumnRef,
    Expression,
    Named,
    RowTime,
    literal,
    rewrite,
    walk,
)
from duolog.plan.nodes import Filter, GroupBy, Project, Rename, TableJoin, scope_of


def fold_of(
    group: GroupBy,
    wanted: tuple[Named, ...],
    initializer: Steps | None,
    adder: Steps | None,
    *,
    subtractor: Steps | None,
    merger: Steps | None,
) -> Fold:
    """Return the fold of the `wanted` results, with the user's own steps if there are any."""
    scope = scope_of(group)
    if initializer is None and adder is None and subtractor is None and merger is None:
        _ensure_aggregated(wanted, group)
        found = fold(wanted, scope, undo=group.is_table)
        if group.is_table:
            _ensure_found_again(found, group)
        return found
    if initializer is None or adder is None:
        raise InvalidPlan("a custom aggregate needs an initializer and an adder")
    steps = (initializer, adder, subtractor, merger)
    if any(map(is_function, steps)):
        return python_fold(group, wanted, steps)
    assert not callable(initializer)
    assert not callable(adder)
    assert not callable(subtractor)
    assert not callable(merger)
    for step in (adder, subtractor or {}, merger or {}):
        ensure_not_kept(step, initializer)
    known = group.schema.names
    own = custom_fold(
        dict(named((), initializer, ())),
        dict(named((), adder, known)),
        None if subtractor is None else dict(named((), subtractor, known)),
        scope,
        None if merger is None else dict(named((), merger, ())),
    )
    return Fold(own.accumulators, wanted or own.results)


def _ensure_found_again(found: Fold, group: GroupBy) -> None:
    """Raise a StatementError if values stored by a time would be subtracted at another time."""
    table = group.parent
    while isinstance(table, Filter | Project | Rename):
        table = table.parent
    by_time = any(one.paged and RowTime() in walk(one.add) for one in found.accumulators)
    if by_time and isinstance(table, TableJoin):
        raise InvalidPlan(
            f'cannot aggregate values of "{table}" by time',
            detail="A row of a join has the later timestamp of two rows, which changes when either "
            "row does.",
            hint='Use a column of the row: top_k("changed_at", 1, "value").',
        )


def results_of(
    group: GroupBy, results: Sequence[Expr], by_name: Columns, kept: Steps | None
) -> tuple[Named, ...]:
    """Return names and expressions of results; `kept` is the user's initializer, if any.

    Raises:
        StatementError: a bare text is the name of a column or an accumulator.
    """
    known = group.schema.names
    if isinstance(kept, Mapping):
        ensure_not_kept(by_name, kept)
    for text in texts_alone(by_name) if kept is None else ():
        if text not in known:
            raise InvalidPlan(
                f'result "{text}" is a constant text',
                hint='Write an aggregate function, count() or sum_("amount"), with the column in '
                f'parentheses; or lit("{text}") for the text.',
            )
        if text in known:
            raise ambiguous(text, f"{_some_aggregate(text)} or another aggregate", "the column")
    return named(results, by_name, known)


def _ensure_aggregated(wanted: tuple[Named, ...], group: GroupBy) -> None:
    """Raise a StatementError if a result reads a column of single records: a group has many."""
    of_key = {column.name for column in group.schema.key}
    for name, result in wanted:
        alone = rewrite(result, lambda part: _NOTHING if isinstance(part, Aggregate) else None)
        for part in walk(alone):
            if (
                isinstance(part, ColumnRef)
                and part.name in group.schema.names
                and part.name not in of_key
            ):
                raise InvalidPlan(
                    f'result "{name}" reads column "{part.name}" without an aggregate function',
                    detail="A group has a value of that column for each of its records.",
                    hint=f"Aggregate it: {name}={_some_aggregate(part.name)}, or name the column "
                    "in group_by(...).",
                )


def _some_aggregate(column: str) -> str:
    return f'sum_("{column}"), last("{column}")'


_NOTHING: Expression = literal(None)
"""Replaces aggregates when only the expression around them is examined."""
