"""Which calls in a statement are of functions of users'.

A name means what the catalog has when the statement is run. It is noted at the call, so that whoever looks at an expression
later needs no catalog: whether it is an aggregate, for example, is asked in many places.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.plan.sql.user_functions import UserFunction

KEPT: Final = "kept function"
"""Under this name a CREATE FUNCTION that is replayed has what its record says of the function."""
_FUNCTION: Final = "user function"


def with_functions(node: exp.Expression, functions: Mapping[str, UserFunction]) -> tuple[str, ...]:
    """Note at each call of a statement which function of a user's it means; return their names, sorted."""
    called: set[str] = set()
    if functions:
        for call in node.find_all(exp.Anonymous):
            name = str(call.this).upper()
            if name in functions:
                call.meta[_FUNCTION] = functions[name]
                called.add(name)
    return tuple(sorted(called))


def user_function(node: exp.Expression) -> UserFunction | None:
    """Return the function of a user's that a call means; None of any other call."""
    found: UserFunction | None = node.meta.get(_FUNCTION)
    return found
