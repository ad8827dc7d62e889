"""Plan table functions in SELECT: one record for each element of an array.

    SELECT k, EXPLODE(a), EXPLODE(b)     as many records as the longer array, filled by nulls

Each call becomes a column before the projection.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.calls import bind_user_call
from duolog.ksql.expressions.function_errors import not_accepted
from duolog.ksql.expressions.user_calls import user_function
from duolog.ksql.planning.analysis import Item, error_text, meaning
from duolog.ksql.planning.sources import Relation
from duolog.ksql.planning.steps import Steps, unused
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.expressions import Call, ColumnRef, Expression
from duolog.plan.expressions.user_calls import user_call
from duolog.plan.nodes import Explode, Node
from duolog.plan.sql.registry import PREFIX
from duolog.plan.sql.table import TABLE_FUNCTIONS
from duolog.plan.types import Array

_BY_NAME: Final = {function.name: function for function in TABLE_FUNCTIONS}


def is_table_function(node: exp.Expression) -> bool:
    if not isinstance(node, exp.Anonymous):
        return False
    of_user = user_function(node)
    return str(node.this).upper() in _BY_NAME if of_user is None else of_user.kind == "table"


def table_functions_in(*found: exp.Expression) -> list[exp.Anonymous]:
    """Return the calls of table functions in expressions, in order."""
    return [
        part
        for node in found
        for part in node.walk(bfs=False)
        if isinstance(part, exp.Anonymous) and is_table_function(part)
    ]


def ensure_not_in_case(items: Sequence[Item]) -> None:
    """Raise a SqlError if a CASE contains a table function."""
    for item in items:
        for case in item.node.find_all(exp.Case):
            for call in table_functions_in(case):
                raise SqlError(
                    f"Table functions cannot be used in CASE: {formatted(call)}", at=place_of(call)
                )


def exploded(
    relation: Relation, items: Sequence[Item], binder: Binder, steps: Steps
) -> tuple[Node, Binder]:
    """Return one record for each element, and a binder that binds the calls to the elements.

    Raises:
        SqlError: the source is a table, calls are nested, or an argument is not an array.
    """
    if relation.node.is_table:
        raise SqlError("Table source is not supported with table functions")
    ensure_not_in_case(items)
    calls = {
        meaning(call, relation.scope): call
        for call in table_functions_in(*(item.node for item in items))
    }
    taken = set(relation.node.schema.names)
    arrays, elements = [], {}
    for means, call in calls.items():
        array, of = array_of(call, binder)
        name = unused(error_text(call, relation.scope), taken)
        taken.add(name)
        arrays.append((name, array))
        elements[means] = Bound(ColumnRef(name), of.element)

    def rule(node: exp.Expression) -> Bound | None:
        return elements[meaning(node, relation.scope)] if is_table_function(node) else None

    into = tuple(name for name, _ in arrays)
    first, *others = (array for _, array in arrays)
    node = steps.add(
        "explode",
        lambda name: Explode(name, relation.node, first, into, beside=tuple(others)),
    )
    return node, Binder(binder.scope, binder.types, rule)


def array_of(call: exp.Anonymous, binder: Binder) -> tuple[Expression, Array]:
    """Return the array that a call expands.

    Raises:
        SqlError: calls are nested, or the argument is not an array.
    """
    name = str(call.this).upper()
    if inner := table_functions_in(*call.expressions):
        nested = str(inner[0].this).upper()
        raise SqlError(f"Table functions cannot be nested: {name}({nested}())", at=place_of(call))
    bound = [binder.bind(arg) for arg in call.expressions]
    if (of_user := user_function(call)) is not None:
        routine, args = bind_user_call(of_user, bound, call)
        rows = Array(routine.result)
        return user_call(replace(routine, result=rows), args), rows
    if len(bound) != 1 or not isinstance(bound[0].type, Array):
        types = [one.type for one in bound]
        raise not_accepted(name.lower(), _BY_NAME[name], types, call)
    array, of = bound[0].expression, bound[0].type
    if name == "CUBE_EXPLODE":
        return Call(PREFIX + "CUBE", (array,)), Array(of)
    return array, of
