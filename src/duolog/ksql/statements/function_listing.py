"""List and describe functions, for SHOW FUNCTIONS, DESCRIBE FUNCTION and the reference page."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.function_errors import type_written, written
from duolog.ksql.statements.state import Rows
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.sql.aggregates import SQL_AGGREGATES
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import SqlFunction
from duolog.plan.sql.table import TABLE_FUNCTIONS
from duolog.plan.sql.user_functions import UserFunction

FUNCTIONS: Final[Mapping[str, SqlFunction]] = dict(
    sorted(
        {
            **{name: one for name, one in SQL_FUNCTIONS.items() if not one.hidden},
            **{name: one.function for name, one in SQL_AGGREGATES.items()},
            **{one.name: one for one in TABLE_FUNCTIONS},
        }.items()
    )
)
"""Scalar, aggregate and table functions by name, sorted."""


def listed(of_users: Mapping[str, UserFunction]) -> Rows:
    """Return all functions with their families, including user-defined ones."""
    found = [*FUNCTIONS.values(), *(one.function for one in of_users.values())]
    rows = tuple(sorted((function.name, function.family) for function in found))
    return Rows(("Function Name", "Category"), rows, "Functions")


def described(node: exp.Expression, of_users: Mapping[str, UserFunction]) -> tuple[Rows, ...]:
    """Return the description and the signatures of a function.

    Raises:
        SqlError: there is no function of that name.
    """
    name = node.name.upper()
    of_user = of_users.get(name)
    function = FUNCTIONS.get(name) if of_user is None else of_user.function
    if function is None:
        near = get_close_matches(name, [*FUNCTIONS, *of_users], n=1)
        raise SqlError(
            f"Can't find any functions with the name '{name}'",
            at=place_of(node),
            hint=f"Did you mean {near[0]}?" if near else "Run SHOW FUNCTIONS to list them.",
        )
    facts = [("Name", name), ("Category", function.family), ("Overview", function.description)]
    if of_user is not None:
        facts.append(("From", of_user.origin))
        if of_user.code.missing:
            facts.append(("Missing", of_user.code.missing))
    variations = tuple(
        (written(name, one), type_written(one.result)) for one in function.signatures
    )
    return (
        Rows(("Property", "Value"), tuple(facts), f"Function {name}"),
        Rows(("Variation", "Returns"), variations, "Variations"),
    )
