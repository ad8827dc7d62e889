"""The column names after an explode, and after a new key and value."""

from collections.abc import Collection, Mapping, Sequence

from duolog.dsl.expressions.columns import Expr, to_expression
from duolog.dsl.expressions.names import find_fields, named
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import (
    ColumnRef,
    Expression,
    Item,
    Named,
    column_names,
    literal,
    rewrite,
    type_of,
)
from duolog.plan.nodes import Explode, Node, SelectKey, scope_of
from duolog.plan.types import Array, Map, Struct, Type

Elements = tuple[Expression, tuple[str, ...]]
"""The exploded expression, and the names of its element columns."""


def elements_of(
    node: Node,
    columns: Sequence[str | Expr],
    by_name: Mapping[str, str | Expr],
    into: str | Sequence[str],
    *,
    alone: bool = False,
) -> Elements:
    """Return the exploded expression and its element names; with `alone` no other column is kept.

    Raises:
        StatementError: there is not exactly one expression, or it has no name.
    """
    given = [*columns, *by_name.values()]
    if len(given) != 1:
        raise InvalidPlan(
            f"explode takes one ARRAY or MAP, not {len(given)}",
            hint="For two arrays, explode one after the other.",
        )
    known = node.schema.names
    names = tuple(by_name) or ((into,) if isinstance(into, str) else tuple(into))
    of = find_fields(_expression(given[0]), known)
    kind = type_of(of, scope_of(node))
    if names or isinstance(kind, Map):
        return of, names
    if alone and _holds_structs(kind):
        return of, (free_name("element", known),)
    ((name, _),) = named(given, {}, known)
    return of, (name,)


def element_columns(exploded: Node) -> tuple[Named, ...]:
    """Return the columns of an element alone: the fields of a STRUCT, or the element itself."""
    assert isinstance(exploded, Explode), exploded
    of = type_of(exploded.of, scope_of(exploded.parent))
    if isinstance(of, Array) and isinstance(of.element, Struct):
        whole = ColumnRef(exploded.into[0])
        return tuple((field, Item(whole, literal(field))) for field, _ in of.element.fields)
    return tuple((name, ColumnRef(name)) for name in exploded.into)


def of_element(expression: Expression, parts: Mapping[str, Expression]) -> Expression:
    """Return an expression over the element's columns as an expression over the element."""
    return rewrite(
        expression,
        lambda part: parts.get(part.name) if isinstance(part, ColumnRef) else None,
    )


def ensure_still_there(keyed: Node, values: tuple[Named, ...]) -> None:
    """Raise a StatementError if a value reads a column whose name is a column of the new key."""
    assert isinstance(keyed, SelectKey), keyed
    taken = {name for name, of in keyed.keys if of != ColumnRef(name)}
    for name, of in values:
        if both := sorted(taken & column_names(of)):
            raise InvalidPlan(
                f'column "{name}" of the new value reads "{both[0]}", which is a column of the new '
                "key",
                hint="Rename that column of the key.",
            )


def _expression(column: str | Expr) -> Expression:
    return ColumnRef(column) if isinstance(column, str) else to_expression(column)


def _holds_structs(of: Type) -> bool:
    return isinstance(of, Array) and isinstance(of.element, Struct)


def free_name(name: str, known: Collection[str]) -> str:
    return name if name not in known else free_name(f"{name}_", known)
