"""Errors of function calls: unknown functions and arguments that do not match.

Source: ksqlDB's documentation of functions; the messages are those that its users search for.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.sql.aggregates import SQL_AGGREGATES
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import UNIT, LambdaOf, Signature, SqlFunction
from duolog.plan.sql.table import TABLE_FUNCTIONS
from duolog.plan.types import NULL, Array, Map, Struct, Type

_TABLE_FUNCTIONS: Final = frozenset(function.name for function in TABLE_FUNCTIONS)


def unknown_function(name: str, node: exp.Expression) -> SqlError:
    """Return the error of a function that does not exist, or cannot be called in this place."""
    if name in SQL_AGGREGATES:
        hint = f"{name} is an aggregate function: only SELECT and HAVING can call it."
    elif name in _TABLE_FUNCTIONS:
        hint = f"{name} is a table function: only SELECT can call it."
    else:
        scalar = [one for one, function in SQL_FUNCTIONS.items() if not function.hidden]
        known = [*scalar, *SQL_AGGREGATES, *_TABLE_FUNCTIONS]
        near = get_close_matches(name, known, n=1, cutoff=0.7)
        hint = f"Did you mean {near[0]}?" if near else "Run SHOW FUNCTIONS; to list all functions."
    return SqlError(
        f"Can't find any functions with the name '{name}'", at=place_of(node), hint=hint
    )


def not_accepted(
    called: str, function: SqlFunction, types: Sequence[Type], node: exp.Expression
) -> SqlError:
    """Return the error of arguments that match no signature.

    `called` is the function's name in it.
    """
    alternatives = "\n".join(written(function.name, one) for one in function.signatures)
    return SqlError(
        f"Function '{called}' does not accept parameters ({_listed(types)}).\n"
        f"Valid alternatives are:\n{alternatives}\n"
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;",
        at=place_of(node),
    )


def ambiguous(called: str, types: Sequence[Type], node: exp.Expression) -> SqlError:
    """Return the error of arguments that match several signatures equally well."""
    return SqlError(
        f"Function '{called}' cannot be resolved due to ambiguous method parameters "
        f"({_listed(types)}).",
        at=place_of(node),
        hint="Cast the arguments to one type.",
    )


def _listed(types: Sequence[Type]) -> str:
    words = {UNIT: "INTERVALUNIT", NULL: "null"}
    return ", ".join(words.get(of) or sql_name(of) for of in types)


def written(name: str, signature: Signature) -> str:
    """Format a signature.

    Example:
        >>> from duolog.plan.sql.signatures import signature
        >>> written("ELT", signature("STRING (n INT, args STRING...)"))
        'ELT(n INTEGER, args STRING...)'
    """
    parameters = [f"{one.name} {type_written(one.type)}" for one in signature.parameters]
    if signature.variadic:
        parameters[-1 - signature.trailing] += "..."
    return f"{name}({', '.join(parameters)})"


def type_written(of: Type) -> str:
    """Format a type of a signature: lambdas with parameters, a STRUCT of any fields as STRUCT.

    Example:
        >>> from duolog.plan.sql.signatures import signature
        >>> type_written(signature("ARRAY<U> (array ARRAY<T>, f (T) => U)").parameters[1].type)
        '(T) => U'
    """
    match of:
        case LambdaOf(parameters=parameters, result=result):
            return f"({', '.join(map(type_written, parameters))}) => {type_written(result)}"
        case Struct(fields=()):
            return "STRUCT"
        case Array(element=element):
            return f"ARRAY<{type_written(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{type_written(key)}, {type_written(value)}>"
        case _:
            return sql_name(of)
