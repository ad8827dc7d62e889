"""Calls of aggregate functions as those of the plan: which overload is meant, which arguments are columns.

TOPK(km, city, 3)     ─▶   km, city: columns of the records    3: a constant
COUNT(DISTINCT km)    ─▶   km, of values that are equal one
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.binder import Binder
from duolog.ksql.bound import Bound, converted
from duolog.ksql.errors import SqlError
from duolog.ksql.formatting import formatted
from duolog.ksql.nodes import place_of
from duolog.ksql.settings import Settings
from duolog.ksql.types import sql_name
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import Aggregate, Literal
from duolog.plan.sql.aggregates import SQL_AGGREGATES, SqlAggregate
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import INT, NULL, Type

_LIMITS: Final[Mapping[str, str]] = {
    "COLLECT_LIST": settings.LIST_LIMIT,
    "COLLECT_SET": settings.SET_LIMIT,
}
"""The settings that say how many values a function may collect."""

_OF_DISTINCT: Final = ("AVG", "COUNT", "MAX", "MIN", "SUM")
"""The functions that may read each value once."""
_SAME_OF_DISTINCT: Final = ("MAX", "MIN")


def is_aggregate(node: exp.Expression) -> bool:
    """Tell if an expression is the call of an aggregate function."""
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in SQL_AGGREGATES


def aggregates_in(*found: exp.Expression | None) -> list[exp.Anonymous]:
    """Return the calls of aggregate functions in expressions, in their order."""
    return [
        part
        for node in found
        if node is not None
        for part in node.walk(bfs=False)
        if isinstance(part, exp.Anonymous) and is_aggregate(part)
    ]


def called(node: exp.Anonymous) -> SqlAggregate:
    """Return the function that a call is one of."""
    return SQL_AGGREGATES[str(node.this).upper()]


def bind_aggregate(node: exp.Anonymous, binder: Binder, given: Settings) -> Aggregate:
    """Return the aggregate of the plan that a call means, over records in the binder's scope.

    Raises:
        SqlError: no overload takes the arguments, what is to be a constant is none, or it calls an aggregate.
    """
    inner = aggregates_in(*node.expressions)
    if inner:
        raise SqlError(
            f"Aggregate functions can not be nested: {formatted(node)}", at=place_of(inner[0])
        )
    name = called(node).function.name
    value = _distinct(node)
    nodes = [value] if value is not None else node.expressions
    nodes = [arg for arg in nodes if not isinstance(arg, exp.Star)]
    args = [binder.bind(arg) for arg in nodes]
    wanted, names = _resolved(node, args)
    many = called(node).columns_of(len(args))
    columns = [converted(arg, of).expression for arg, of in zip(args[:many], wanted, strict=False)]
    options = [
        (parameter, _constant(node, nodes[at], args[at], at))
        for at, parameter in list(enumerate(names))[many:]
    ]
    if name in _LIMITS:
        options.append(("limit", given.number(_LIMITS[name])))
    if value is not None and name not in _SAME_OF_DISTINCT:
        options.append(("distinct", True))
    elif name == "COUNT" and columns and isinstance(columns[0], Literal):
        columns = [] if columns[0].value is not None else columns
    return Aggregate(
        PREFIX + name, columns[0] if columns else None, tuple(columns[1:]), tuple(options)
    )


def _distinct(node: exp.Anonymous) -> exp.Expression | None:
    """Return what a call reads each value of once, None where it reads all.

    Raises:
        SqlError: DISTINCT stands where nothing can come of it.
    """
    found = next((arg for arg in node.expressions if isinstance(arg, exp.Distinct)), None)
    if found is None:
        return None
    name = called(node).function.name
    if name not in _OF_DISTINCT:
        raise SqlError(
            f"{name} cannot have DISTINCT",
            at=place_of(found),
            hint=f"{', '.join(_OF_DISTINCT)} can; COLLECT_SET and TOPKDISTINCT read each value once.",
        )
    if len(node.expressions) > 1:
        raise SqlError(f"{name} cannot have DISTINCT beside other arguments", at=place_of(found))
    value: exp.Expression = found.expressions[0]
    return value


def _resolved(node: exp.Anonymous, args: Sequence[Bound]) -> tuple[Sequence[Type], tuple[str, ...]]:
    """Return the types that the arguments of a call are cast to, and the names of its parameters."""
    function = called(node).function
    types = tuple(arg.type for arg in args)
    try:
        found = function.resolve(types)
    except TypeMismatch:
        raise _not_accepted(node, types) from None
    if NULL in found.arguments:
        raise _not_accepted(node, types)
    return found.arguments, found.signature.names_for(len(args)) or ()


def _not_accepted(node: exp.Anonymous, types: Sequence[Type]) -> SqlError:
    name, given = called(node).function.name, ", ".join(map(sql_name, types))
    return SqlError(f"Function '{name}' does not accept parameters ({given}).", at=place_of(node))


def _constant(node: exp.Anonymous, given: exp.Expression, bound: Bound, at: int) -> object:
    """Return the value of an argument that is no column."""
    name, value = called(node).function.name, bound.expression
    if not isinstance(value, Literal) or value.value is None:
        raise SqlError(
            f"Parameter {at + 1} passed to function {name} must be a literal constant, "
            f"but was expression: '{formatted(given)}'",
            at=place_of(given),
        )
    if bound.type == INT and int(str(value.value)) < 1:
        raise SqlError(
            f"Parameter {at + 1} passed to function {name} must be 1 or greater",
            at=place_of(given),
        )
    return value.value
