"""Aggregate functions with one value of state per group: counts, sums, extremes and means."""

from duolog.dsl.expressions.columns import Expr
from duolog.dsl.handles.short_tracebacks import short_tracebacks_of
from duolog.plan.expressions import Aggregate, ColumnRef


def count(column: Expr | str | None = None) -> Expr:
    """Count a group's records, or those in which `column` is not null."""
    return _aggregate("count", column)


def sum_(column: Expr | str) -> Expr:
    """Sum a column over a group's records, ignoring nulls; the sum of no values is null."""
    return _aggregate("sum", column)


def min_(column: Expr | str) -> Expr:
    """Return the least value of a group, ignoring nulls.

    State: the value. Over a grouped table all values, in a tree: a record rewrites one or two of
    its pages of up to 4 KiB, even if a group has a million rows.
    """
    return _aggregate("min", column)


def max_(column: Expr | str) -> Expr:
    """Return the greatest value of a group, ignoring nulls. State: as `min_`."""
    return _aggregate("max", column)


def avg(column: Expr | str) -> Expr:
    """Return the mean of a group as a DOUBLE, ignoring nulls; the mean of no values is null."""
    return _aggregate("avg", column)


def _aggregate(function: str, column: Expr | str | None) -> Expr:
    arg = ColumnRef(column) if isinstance(column, str) else column
    return Expr(Aggregate(function, arg.expression if isinstance(arg, Expr) else arg))


short_tracebacks_of(globals())
