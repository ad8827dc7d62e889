"""Arguments and options of aggregate functions."""

from duolog.plan.aggregates.accumulators import call, null_of
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import (
    Aggregate,
    ColumnRef,
    Expression,
    Item,
    Literal,
    RowTime,
    literal,
)
from duolog.plan.types import Type, map_in


def own_name(column: Expression) -> str | None:
    """Return the name of a column, of a field, or of the timestamp; None for other expressions."""
    match column:
        case ColumnRef(name):
            return name
        case Item(_, Literal(str() as name)):
            return name
        case RowTime():
            return "rowtime"
        case _:
            return None


def argument(aggregate: Aggregate) -> Expression:
    if aggregate.arg is None:
        raise TypeMismatch(
            f"{aggregate} does not exist", hint=f"Name what to {aggregate.function}."
        )
    return aggregate.arg


def option(aggregate: Aggregate, name: str) -> Expression:
    """Return an option that is an integer, as a literal."""
    value = dict(aggregate.options)[name]
    assert isinstance(value, int), value
    return literal(value)


def unless_null(arg: Expression, value: Expression, nulls: object = None) -> Expression:
    """Return `value` if `arg` is not null; with `nulls` always."""
    return value if nulls else call("CASE", call("IS_NOT_NULL", arg), value)


def empty(of: Type) -> Expression:
    return call("EMPTY", null_of(of))


def ensure_ordered(of: Type, aggregate: Aggregate) -> None:
    if map_in(of):
        raise TypeMismatch(
            f"cannot compute {aggregate}",
            detail=f"It compares values, but values of {of} cannot be compared.",
        )
