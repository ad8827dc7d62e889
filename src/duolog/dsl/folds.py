"""What an aggregate keeps and gives, from what a user has said of it."""

from duolog.dsl.columns import Steps, named
from duolog.dsl.python_folds import python_fold
from duolog.dsl.python_functions import is_function
from duolog.plan.aggregates import Fold, custom_fold, fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named, RowTime, walk
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
    """Return the fold of `wanted` results, by steps of the user's own if there are any."""
    scope = scope_of(group)
    if initializer is None and adder is None and subtractor is None and merger is None:
        found = fold(wanted, scope, undo=group.is_table)
        if group.is_table:
            _ensure_found_again(found, group)
        return found
    if initializer is None or adder is None:
        raise InvalidPlan("an aggregate of your own needs an initializer and an adder")
    steps = (initializer, adder, subtractor, merger)
    if any(map(is_function, steps)):
        return python_fold(group, wanted, steps)
    assert not callable(initializer)
    assert not callable(adder)
    assert not callable(subtractor)
    assert not callable(merger)
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
    """Raise a StatementError if values are kept by a time that they do not have when they are taken back."""
    table = group.parent
    while isinstance(table, Filter | Project | Rename):
        table = table.parent
    by_time = any(one.paged and RowTime() in walk(one.add) for one in found.accumulators)
    if by_time and isinstance(table, TableJoin):
        raise InvalidPlan(
            f'cannot keep values of "{table}" by time',
            detail="A row of a join has the later time of two rows, and no more when that one has gone.",
            hint='Ask by a column of the row: top_k("changed_at", 1, "value").',
        )
