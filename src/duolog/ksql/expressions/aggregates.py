"""Bind calls of aggregate functions: choose the overload, and separate columns from constants.

TOPK(km, city, 3)     ─▶   km, city: columns of the records    3: a constant
COUNT(DISTINCT km)    ─▶   each value of km once
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.bound import Bound, converted
from duolog.ksql.expressions.calls import bind_user_call
from duolog.ksql.expressions.function_errors import not_accepted
from duolog.ksql.expressions.user_calls import user_function
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.aggregates.user_folds import OF_USER, UserAggregate
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import Aggregate, Call, Literal
from duolog.plan.sql.aggregates import SQL_AGGREGATES, OverTables, SqlAggregate
from duolog.plan.sql.registry import PREFIX
from duolog.plan.sql.user_functions import UserFunction
from duolog.plan.types import INT, NULL, Type

_LIMITS: Final[Mapping[str, str]] = {
    "COLLECT_LIST": settings.LIST_LIMIT,
    "COLLECT_SET": settings.SET_LIMIT,
}
"""Settings that limit the number of collected values, by function."""

_OF_DISTINCT: Final = ("AVG", "COUNT", "MAX", "MIN", "SUM")
"""Functions that accept DISTINCT."""
_SAME_OF_DISTINCT: Final = ("MAX", "MIN")


def is_aggregate(node: exp.Expression) -> bool:
    """Return true if an expression is a call of an aggregate function."""
    if not isinstance(node, exp.Anonymous):
        return False
    of_user = user_function(node)
    return (
        str(node.this).upper() in SQL_AGGREGATES if of_user is None else of_user.kind == "aggregate"
    )


def aggregates_in(*found: exp.Expression | None) -> list[exp.Anonymous]:
    """Return the calls of aggregate functions in expressions, in order."""
    return [
        part
        for node in found
        if node is not None
        for part in node.walk(bfs=False)
        if isinstance(part, exp.Anonymous) and is_aggregate(part)
    ]


def called(node: exp.Anonymous) -> SqlAggregate:
    """Return the function of a call."""
    if (of_user := user_function(node)) is not None:
        steps = [overload.steps for overload in of_user.overloads]
        over_tables: OverTables = "always" if all("undo" in one for one in steps) else "never"
        return SqlAggregate(of_user.function, over_tables, keeps_parts=False)
    return SQL_AGGREGATES[str(node.this).upper()]


def bind_aggregate(node: exp.Anonymous, binder: Binder, given: Settings) -> Aggregate:
    """Bind the call of an aggregate function, over records in the binder's scope.

    Raises:
        SqlError: no overload accepts the arguments, a constant is missing, or aggregates are
            nested.
    """
    inner = aggregates_in(*node.expressions)
    if inner:
        outer, nested = (str(one.this).upper() for one in (node, inner[0]))
        raise SqlError(
            f"Aggregate functions can not be nested: {outer}({nested}())", at=place_of(inner[0])
        )
    name = called(node).function.name
    value = _distinct(node)
    nodes = [value] if value is not None else node.expressions
    nodes = [arg for arg in nodes if not isinstance(arg, exp.Star)]
    args = [binder.bind(arg) for arg in nodes]
    if (of_user := user_function(node)) is not None:
        return _of_user(of_user, node, nodes, args)
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


def _of_user(
    of: UserFunction, node: exp.Anonymous, nodes: Sequence[exp.Expression], args: Sequence[Bound]
) -> Aggregate:
    """Bind the call of a user-defined aggregate: columns, then the constants for its class."""
    routine, given = bind_user_call(of, args, node)
    overload = routine.overload
    many = len(given) - overload.constants
    constants = []
    for at in range(many, len(given)):
        value = given[at]
        # Constants are converted like columns: the literal is inside the CAST.
        literal = value.args[0] if isinstance(value, Call) else value
        if not isinstance(literal, Literal) or literal.value is None:
            raise _no_constant(node, nodes[at], at)
        constants.append(literal.value)
    assert overload.state is not None, of
    state = overload.signature.filled(overload.state, tuple(arg.type for arg in args))
    kept = UserAggregate(
        replace(
            routine,
            step="aggregate",
            arguments=routine.arguments[:many],
            constants=tuple(constants),
        ),
        state,
    )
    columns = given[:many]
    return Aggregate(
        PREFIX + of.name, columns[0] if columns else None, tuple(columns[1:]), ((OF_USER, kept),)
    )


def ensure_merges(calls: Sequence[exp.Anonymous]) -> None:
    """Raise a SqlError if a user-defined aggregate cannot merge sessions."""
    for call in calls:
        of_user = user_function(call)
        if of_user is not None and not all("merge" in one.steps for one in of_user.overloads):
            raise SqlError(
                f"{of_user.name} cannot be used in session windows: it has no merge",
                at=place_of(call),
                hint="Define merge(self, one, other), which merges overlapping sessions.",
            )


def _distinct(node: exp.Anonymous) -> exp.Expression | None:
    """Return the argument of DISTINCT, or None if there is no DISTINCT.

    Raises:
        SqlError: the function does not accept DISTINCT.
    """
    found = next((arg for arg in node.expressions if isinstance(arg, exp.Distinct)), None)
    if found is None:
        return None
    name = called(node).function.name
    if name not in _OF_DISTINCT:
        raise SqlError(
            f"{name} does not support DISTINCT",
            at=place_of(found),
            hint=f"Use {', '.join(_OF_DISTINCT)}; COLLECT_SET and TOPKDISTINCT are "
            "distinct already.",
        )
    if len(node.expressions) > 1:
        raise SqlError(
            f"{name} does not support DISTINCT with several arguments", at=place_of(found)
        )
    value: exp.Expression = found.expressions[0]
    return value


def _resolved(node: exp.Anonymous, args: Sequence[Bound]) -> tuple[Sequence[Type], tuple[str, ...]]:
    """Return the types to which the arguments are cast, and the names of the parameters."""
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
    function = called(node).function
    return not_accepted(function.name, function, types, node)


def _constant(node: exp.Anonymous, given: exp.Expression, bound: Bound, at: int) -> object:
    """Return the value of a constant argument."""
    name, value = called(node).function.name, bound.expression
    if not isinstance(value, Literal) or value.value is None:
        raise _no_constant(node, given, at)
    if bound.type == INT and int(str(value.value)) < 1:
        raise SqlError(
            f"Parameter {at + 1} passed to function {name} must be 1 or greater",
            at=place_of(given),
        )
    return value.value


def _no_constant(node: exp.Anonymous, given: exp.Expression, at: int) -> SqlError:
    return SqlError(
        f"Parameter {at + 1} passed to function {called(node).function.name} must be a literal "
        f"constant, but was expression: '{formatted(given)}'",
        at=place_of(given),
    )
