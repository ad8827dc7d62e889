"""Run CREATE FUNCTION and DROP FUNCTION, for Python functions in modules."""

from dataclasses import replace

from duolog.core.errors import StatementError
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.user_calls import KEPT
from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.udf.modules import KeptFunction, load, of_kept
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.user_functions import UserFunction


def create_function(state: SessionState, node: nodes.CreateFunction) -> Done:
    """Run CREATE FUNCTION.

    Raises:
        SqlError: the name is in use, the module has no such function, or queries call an overload
            that it removes.
    """
    name, origin = node.this.name.upper(), node.args["origin"].name
    there = state.catalog.functions.get(name)
    if there is not None and node.args.get("exists"):
        return Done(node, message=f"Function {name} already exists, from '{there.origin}'")
    if name in FUNCTIONS or name in SQL_FUNCTIONS:
        raise SqlError(
            f"Cannot create function {name}: a built-in function has this name",
            at=place_of(node.this),
            hint="Choose another name.",
        )
    if there is not None and not node.args.get("replace"):
        raise SqlError(
            f"Cannot create function {name}: it already exists, from '{there.origin}'",
            at=place_of(node.this),
            hint="Use CREATE OR REPLACE FUNCTION to replace it.",
        )
    define(state, _loaded(node, name, origin, reload=there is not None))
    return Done(
        node, message=f"Function {name} {'replaced' if there else 'created'} from '{origin}'"
    )


def define(state: SessionState, function: UserFunction) -> None:
    """Add or replace a function in the catalog; running queries call the new one from now on.

    Raises:
        SqlError: queries call an overload that the new function does not have.
    """
    there = state.catalog.functions.get(function.name)
    if there is not None:
        callers = [one for one in state.queries.values() if function.name in one.functions]
        gone = [one for one in there.overloads if one not in function.overloads]
        if callers and (gone or there.kind != function.kind):
            raise SqlError(
                f"Cannot replace function {function.name}: queries call it, and its "
                "types would change",
                detail=f"It is called by {', '.join(one.id for one in callers)}.",
                hint="Terminate them, or keep the existing overloads and add new ones.",
            )
        function = replace(function, revision=there.revision + 1)
        there.code.give_way(function.code)
        for query in callers:
            # A new object makes the supervisor restart the query.
            state.queries[query.id] = replace(query, planned=replace(query.planned))
    state.catalog.functions[function.name] = function


def drop_function(state: SessionState, node: nodes.DropFunction) -> Done:
    """Run DROP FUNCTION.

    Raises:
        SqlError: there is no such function, or queries call it.
    """
    name = node.this.name.upper()
    if name not in state.catalog.functions:
        if node.args.get("exists"):
            return Done(node, message=f"Function {name} does not exist")
        raise SqlError(f"Function {name} does not exist.", at=place_of(node.this))
    callers = [one.id for one in state.queries.values() if name in one.functions]
    if callers:
        raise SqlError(
            f"Cannot drop function {name}: it is called by {', '.join(callers)}.",
            at=place_of(node.this),
            hint="Terminate these queries first.",
        )
    del state.catalog.functions[name]
    return Done(node, message=f"Function {name} dropped")


def _loaded(node: nodes.CreateFunction, name: str, origin: str, *, reload: bool) -> UserFunction:
    kept: KeptFunction | None = node.meta.get(KEPT)
    if kept is not None:
        return of_kept(name, origin, kept, reload=reload)
    try:
        return load(name, origin, reload=reload)
    except StatementError as error:
        raise SqlError(
            f"Cannot create function {name} from '{origin}': {error.message}",
            at=place_of(node.args["origin"]),
            detail=error.detail,
            hint=error.hint,
        ) from error
