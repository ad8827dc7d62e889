"""Write clauses of a query in DuckDB's SQL: conditions, ORDER BY, LIMIT, window frames.

Result columns are named `o0`, `o1`, … there. GROUP BY and ORDER BY can name them by number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlglot import exp

from duolog.core.counts import counted
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Call, Expression
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import Type
from duolog.runtime.sql.duck.expressions import lowered

_PLAIN_COMPARISONS: Final = {
    PREFIX + name: sign
    for name, sign in (
        *(("EQUAL", "="), ("NOT_EQUAL", "<>"), ("LESS_THAN", "<"), ("GREATER_THAN", ">")),
        *(("LESS_THAN_OR_EQUAL", "<="), ("GREATER_THAN_OR_EQUAL", ">=")),
    )
}


class ResultColumn(NamedTuple):
    """Column of a query's result."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Query:
    """A query in DuckDB's SQL, whose columns there are named `o0`, `o1`, ….

    Attributes:
        input: FROM and WHERE of a single SELECT over one table, which has no other query in it; its
            other expressions are computed for these rows only. Empty for all else.
    """

    sql: str
    columns: tuple[ResultColumn, ...]
    input: str = ""


def condition(expression: Expression) -> str:
    """Return a condition in DuckDB's SQL; null counts as false, so plain comparisons can be used.

    A join with `coalesce(a = b, false)` would compare each row with each other row.
    """
    match expression:
        case Call("AND" | "OR" as word, (left, right)):
            return f"({condition(left)} {word} {condition(right)})"
        case Call(name, (left, right)) if name in _PLAIN_COMPARISONS:
            return f"({lowered(left).sql} {_PLAIN_COMPARISONS[name]} {lowered(right).sql})"
        case _:
            return lowered(expression).sql


def ordered(
    order: exp.Order, columns: Sequence[ResultColumn], item: Callable[[exp.Expression], str]
) -> str:
    """Return ORDER BY; items are numbers or names of result columns, or expressions."""
    names = [column.name for column in columns]
    parts = []
    for one in order.expressions:
        node = one.this
        if columns and (number := number_of(node)) is not None:
            text = f"o{column_at(number, node, len(columns))}"
        elif isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            raise SqlError("ORDER BY a constant has no effect", at=place_of(node))
        elif isinstance(node, exp.Column) and not node.table and node.name in names:
            text = f"o{names.index(node.name)}"
        else:
            text = item(node)
        way = "DESC" if one.args.get("desc") else "ASC"
        first = one.args.get("nulls_first")
        parts.append(f"{text} {way} NULLS {'FIRST' if first else 'LAST'}")
    return f"ORDER BY {', '.join(parts)}"


def limited(query: exp.Query) -> list[str]:
    """Return LIMIT and OFFSET, if given."""
    return [
        f"{key.upper()} {int(query.args[key].expression.name)}"
        for key in ("limit", "offset")
        if query.args.get(key) is not None
    ]


def ensure_distinct(columns: Sequence[ResultColumn]) -> None:
    """Raise a SqlError if two columns have the same name."""
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise SqlError(
                f"Duplicate value columns found in schema: `{column.name}` {sql_name(column.type)}"
            )
        seen.add(column.name)


def number_of(node: exp.Expression) -> int | None:
    """Return the number of a column, possibly signed or in parentheses, or None."""
    if isinstance(node, exp.Paren):
        return number_of(node.this)
    if isinstance(node, exp.Neg):
        number = number_of(node.this)
        return None if number is None else -number
    return (
        int(node.name)
        if isinstance(node, exp.Literal) and node.name.isdigit() and node.is_int
        else None
    )


def column_at(place: int, node: exp.Expression, count: int) -> int:
    """Return the position, from 0, of a column number, which counts from 1."""
    if not 1 <= place <= count:
        raise SqlError(
            f"There is no column {place}; the query has {counted(count, 'column')}",
            at=place_of(node)
            or next(filter(None, map(place_of, node.find_all(exp.Literal))), None),
            hint="Use the position of a column, from 1, as the number in GROUP BY and ORDER BY.",
        )
    return place - 1


def frame(spec: exp.WindowSpec) -> str:
    def bound(value: object, side: object) -> str:
        text = value.name if isinstance(value, exp.Expression) else str(value)
        return f"{text} {side}" if side else text

    start = bound(spec.args["start"], spec.args.get("start_side"))
    end = bound(spec.args["end"], spec.args.get("end_side"))
    return f"{spec.args['kind']} BETWEEN {start} AND {end}"
