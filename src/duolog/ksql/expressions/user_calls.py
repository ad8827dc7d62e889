"""Bind calls to user-defined functions by name, at the start of a statement.

A name means the function that the catalog has when the statement runs. The function is stored at
the call's node, so that later code needs no catalog; many places ask, for example, whether a call
is an aggregate.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.plan.sql.user_functions import UserFunction

KEPT: Final = "kept function"
"""Key in `meta` for what the record of a replayed CREATE FUNCTION says about the function."""
_FUNCTION: Final = "user function"


def with_functions(node: exp.Expression, functions: Mapping[str, UserFunction]) -> tuple[str, ...]:
    """Store the user-defined function at each call of a statement; return their names, sorted."""
    called: set[str] = set()
    if functions:
        for call in node.find_all(exp.Anonymous):
            name = str(call.this).upper()
            if name in functions:
                call.meta[_FUNCTION] = functions[name]
                called.add(name)
    return tuple(sorted(called))


def user_function(node: exp.Expression) -> UserFunction | None:
    """Return the user-defined function of a call, or None."""
    found: UserFunction | None = node.meta.get(_FUNCTION)
    return found
