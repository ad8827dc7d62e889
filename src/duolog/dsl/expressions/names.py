"""Names and expressions of columns as users give them: `"dest"`, `col(...)` or `name=...`."""

from collections.abc import Collection, Mapping, Sequence

from duolog.core.callables import AnyFunction
from duolog.dsl.expressions.columns import Expr, alone, col
from duolog.dsl.expressions.texts import BareText, constant, not_a_column
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Expression, Item, Named, literal, rewrite, walk
from duolog.plan.literals import PlainValue

Columns = Mapping[str, Expr | PlainValue]
"""Columns by name."""
Steps = Columns | AnyFunction
"""A step of an aggregate: expressions by accumulator name, or a function."""


def named(
    columns: Sequence[str | Expr], by_name: Columns, known: Collection[str]
) -> tuple[Named, ...]:
    """Return names and expressions of columns given as `"dest"`, `col(...)` or `name=...`.

    `known` are the names of the existing columns. A field `page.url` gets the name `url`.

    Raises:
        StatementError: an expression has no name.
    """
    return (
        *(_own_name(column, known) for column in columns),
        *((name, find_fields(alone(value), known)) for name, value in by_name.items()),
    )


def find_fields(expression: Expression, known: Collection[str]) -> Expression:
    """Return the expression with `page.url` as a field access if only `page` is a known column.

    Raises:
        StatementError: a bare text is the name of a column.

    Example:
        >>> print(find_fields(ColumnRef("page.url"), ["page"]))
        page['url']
        >>> print(find_fields(ColumnRef("page.url"), ["page", "page.url"]))
        `page.url`
    """

    def change(part: Expression) -> Expression | None:
        if isinstance(part, BareText):
            text = str(part.value)
            return constant(text, is_column=text in known or _field(text, known) is not None)
        return _field(part.name, known) if isinstance(part, ColumnRef) else None

    return rewrite(expression, change)


def _field(name: str, known: Collection[str]) -> Expression | None:
    """Return the field that the path `name` refers to; None if it is a column itself or unknown."""
    column, fields = name, list[str]()
    while column not in known:
        column, dot, field = column.rpartition(".")
        if not dot:
            return None
        fields.insert(0, field)
    found: Expression = ColumnRef(column)
    for field in fields:
        found = Item(found, literal(field))
    return found


def _own_name(column: str | Expr, known: Collection[str]) -> Named:
    if isinstance(column, str):
        column = col(column)
    if not isinstance(column, Expr):
        raise not_a_column(column)
    if column.name is None:
        raise InvalidPlan(
            f"{column.expression} has no name",
            hint='Write name=..., or give it one with .alias("name").',
        )
    found = find_fields(column.expression, known)
    of_field = found != column.expression and ColumnRef(column.name) in walk(column.expression)
    is_field = of_field and column.name not in known
    return column.name.rpartition(".")[2] if is_field else column.name, found
