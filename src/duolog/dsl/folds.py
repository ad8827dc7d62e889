"""What an aggregate keeps and gives, from what a user has said of it."""

from duolog.dsl.columns import Columns, named
from duolog.plan.aggregates import Fold, custom_fold, fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named
from duolog.plan.nodes import GroupBy, scope_of


def fold_of(
    group: GroupBy,
    wanted: tuple[Named, ...],
    initializer: Columns | None,
    adder: Columns | None,
    *,
    subtractor: Columns | None,
    merger: Columns | None,
) -> Fold:
    """Return the fold of `wanted` results, by steps of the user's own if there are any."""
    scope = scope_of(group)
    if initializer is None and adder is None and subtractor is None and merger is None:
        return fold(wanted, scope, undo=group.is_table)
    if initializer is None or adder is None:
        raise InvalidPlan("an aggregate of your own needs an initializer and an adder")
    known = group.schema.names
    own = custom_fold(
        dict(named((), initializer, ())),
        dict(named((), adder, known)),
        None if subtractor is None else dict(named((), subtractor, known)),
        scope,
        None if merger is None else dict(named((), merger, ())),
    )
    return Fold(own.accumulators, wanted or own.results)
