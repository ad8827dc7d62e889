"""Bind function calls: choose the overload, cast the arguments, bind lambdas."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, Meaning, call, converted
from duolog.ksql.expressions.function_errors import ambiguous, not_accepted, unknown_function
from duolog.ksql.expressions.user_calls import user_function
from duolog.ksql.settings import settings_in_force
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import Expression, Lambda, Literal, Variable
from duolog.plan.expressions.user_calls import user_call
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import UNIT, AmbiguousCall, LambdaOf, Resolved, SqlFunction
from duolog.plan.sql.user_functions import Routine, UserFunction
from duolog.plan.types import NULL, Type, parts_of

_UNITS: Final = frozenset(
    unit + plural
    for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
    for plural in ("", "S")
)


def _function(binding: Binding, node: exp.Expression) -> Bound:
    name = str(node.this).upper()
    if (of_user := user_function(node)) is not None:
        return _of_user(binding, node, of_user)
    if name not in SQL_FUNCTIONS or SQL_FUNCTIONS[name].hidden:
        raise unknown_function(name, node)
    function = SQL_FUNCTIONS[name]
    given = [arg for arg in node.expressions if not isinstance(arg, exp.Star)]
    plain = [_plain_argument(binding, function, arg, at) for at, arg in enumerate(given)]
    bound = [
        arg if arg is not None else _lambda(binding, given[at], function, plain, at)
        for at, arg in enumerate(plain)
    ]
    return bind_call(name, bound, node)


def _of_user(binding: Binding, node: exp.Expression, of: UserFunction) -> Bound:
    """Bind a call of a user-defined function."""
    if of.kind != "scalar":
        word = "an aggregate" if of.kind == "aggregate" else "a table"
        raise SqlError(f"{of.name} is {word} function and cannot be called here", at=place_of(node))
    routine, args = bind_user_call(of, _bound_arguments(binding, node, of), node)
    return Bound(user_call(routine, args), routine.result)


def _bound_arguments(binding: Binding, node: exp.Expression, of: UserFunction) -> list[Bound]:
    for arg in node.expressions:
        if isinstance(arg, exp.Lambda):
            raise SqlError(f"{of.name} does not accept lambdas", at=place_of(arg))
    return [binding.bind(arg) for arg in node.expressions if not isinstance(arg, exp.Star)]


def bind_user_call(
    of: UserFunction, args: Sequence[Bound], node: exp.Expression
) -> tuple[Routine, tuple[Expression, ...]]:
    """Resolve a call of a user-defined function, and convert its arguments.

    Raises:
        SqlError: the function does not accept the arguments.
    """
    # As ksqlDB, errors of aggregates have the name in capitals, and others in small letters.
    name = of.name if of.kind == "aggregate" else of.name.lower()
    resolved = _resolved(of.function, tuple(arg.type for arg in args), node, name)
    if NULL in parts_of(resolved.result) or any(
        NULL in parts_of(one) for one in resolved.arguments
    ):
        raise SqlError(
            f"Function '{name}' is called with a null that has no type.",
            at=place_of(node),
            hint="Cast it: CAST(null AS STRING).",
        )
    number = of.overload_of(resolved.signature)
    given = zip(args, resolved.arguments, strict=True)
    converted_args = tuple(converted(arg, wanted).expression for arg, wanted in given)
    return Routine(of, number, "call", resolved.arguments, resolved.result), converted_args


def _plain_argument(
    binding: Binding, function: SqlFunction, arg: exp.Expression, at: int
) -> Bound | None:
    """Bind an argument; None for a lambda, which needs the types of the other arguments first."""
    if isinstance(arg, exp.Lambda):
        return None
    unit = isinstance(arg, exp.Column) and not arg.table and arg.name in _UNITS
    if unit and function.takes(UNIT, at):
        return Bound(Literal(arg.name, UNIT), UNIT)
    return binding.bind(arg)


def _lambda(
    binding: Binding,
    node: exp.Expression,
    function: SqlFunction,
    others: Sequence[Bound | None],
    at: int,
) -> Bound:
    """Bind a lambda; its parameters get their types from the other arguments."""
    names = [name.name for name in node.expressions]
    given = tuple(other.type if other is not None else NULL for other in others)
    for signature in function.signatures:
        types = signature.types_for(len(others))
        wanted = types[at] if types else None
        if not isinstance(wanted, LambdaOf) or len(wanted.parameters) != len(names):
            continue
        found = function.parameter_types(signature, given, wanted)
        if found is None:
            continue
        parameters = tuple(map(Variable, names, found))
        body = binding.knowing(dict(zip(names, parameters, strict=True))).bind(node.this)
        return Bound(Lambda(parameters, body.expression), LambdaOf("LAMBDA", found, body.type))
    lambdas = [LambdaOf("LAMBDA", (), NULL) if other is None else other.type for other in others]
    raise not_accepted(function.name.lower(), function, lambdas, node)


def bind_call(name: str, args: Sequence[Bound], node: exp.Expression) -> Bound:
    """Return the call of a function with bound arguments.

    Raises:
        SqlError: the function does not accept the arguments.
    """
    function = SQL_FUNCTIONS[name]
    types = tuple(arg.type for arg in args)
    resolved = _resolved(function, types, node, function.name.lower())
    # Operators convert their operands themselves.
    given = (
        arg.expression
        if function.hidden or isinstance(wanted, LambdaOf)
        else converted(arg, wanted).expression
        for arg, wanted in zip(args, resolved.arguments, strict=True)
    )
    return Bound(call(name, *given), resolved.result)


def _resolved(
    function: SqlFunction, types: tuple[Type, ...], node: exp.Expression, called: str
) -> Resolved:
    """Return the overload for a call; `called` is the function's name in errors."""
    if settings_in_force().refuses and function.means_several(types):
        raise ambiguous(called, types, node)
    try:
        return function.resolve(types)
    except AmbiguousCall:
        raise ambiguous(called, types, node) from None
    except TypeMismatch:
        raise not_accepted(called, function, types, node) from None


def _distinct(_binding: Binding, node: exp.Expression) -> Bound:
    call = node.find_ancestor(exp.Anonymous)
    name = str(call.this).upper() if call is not None else "A function"
    raise SqlError(f"{name} does not support DISTINCT", at=place_of(node))


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    exp.Anonymous: _function,
    exp.Distinct: _distinct,
}
