"""Plan headers that a query writes; records keep the headers of their source by default.

    CREATE STREAM out AS SELECT id, km, user AS trace HEADER('trace') FROM s
                                               OUT gets a column TRACE BYTES HEADER('trace')
    INSERT INTO out SELECT id, km, user AS trace FROM s
                                               TRACE is a header, as OUT declares
    … WITH (INHERIT_HEADERS = false)           drops the headers of the source

A header is BYTES, or a STRING, which is encoded in UTF-8. It replaces all headers of its name.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.catalog.properties import INHERIT_HEADERS
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.analysis import Item
from duolog.ksql.planning.projection import View
from duolog.ksql.planning.sinks import Target
from duolog.ksql.planning.steps import Steps
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Expression
from duolog.plan.nodes import SetHeaders
from duolog.plan.types import BYTES, NULL, STRING, Type


def ensure_no_headers(query: exp.Expr) -> None:
    """Refuse headers in a query that does not write a topic of its own."""
    found = query.find(nodes.HeaderItem)
    if found is not None:
        raise SqlError(
            "HEADER is only allowed in CREATE STREAM … AS SELECT and INSERT INTO.",
            at=place_of(found),
        )


def with_headers(
    select: exp.Select, view: View, items: Sequence[Item], target: Target, steps: Steps
) -> tuple[View, tuple[Item, ...], tuple[SqlColumn, ...]]:
    """Return records with the written headers, the remaining items, and the header columns.

    Raises:
        SqlError: a header has no name, or is neither BYTES nor STRING, or the result is a table.
    """
    sink = target.sink.headers if target.sink else ()
    declared = {column.name: column for column in sink if column.role == "HEADER"}
    found = [_column(node) for node in select.args.get("headers") or ()]
    found += [(declared[item.name], item.node) for item in items if item.name in declared]
    left = tuple(item for item in items if item.name not in declared)
    columns = tuple(column for column, _ in found)
    _ensure_once(columns, left)
    clears = target.properties.truth(INHERIT_HEADERS) is False
    if not found and not clears:
        return view, left, ()
    if view.node.is_table:
        raise SqlError(
            "Headers can only be written to a stream, but the query returns a table.",
            at=place_of(found[0][1]) if found else None,
        )
    written = tuple((column.header, _bound(view, column, node)) for column, node in found)
    node = steps.add("headers", lambda name: SetHeaders(name, view.node, written, clears=clears))
    return replace(view, node=node), left, columns


def _column(item: nodes.HeaderItem) -> tuple[SqlColumn, exp.Expression]:
    alias, node = item.args.get("alias"), item.this
    if alias is None and not isinstance(node, exp.Column):
        raise SqlError(
            "A header needs a column name.",
            at=place_of(node),
            hint=f"Write … AS name HEADER('{item.args['header'].name}').",
        )
    header = item.args["header"].name
    if not header:
        raise SqlError("The name of a header cannot be empty.", at=place_of(item))
    return SqlColumn((alias or node).name, BYTES, "HEADER", header), node


def _bound(view: View, column: SqlColumn, node: exp.Expression) -> Expression:
    bound = view.binder.bind(node)
    ensure_header_type(column.header, bound.type, node)
    return bound.expression


def ensure_header_type(header: str, of: Type, node: exp.Expression) -> None:
    """Refuse headers that are neither BYTES nor STRING."""
    if of not in {BYTES, STRING, NULL}:
        raise SqlError(
            f"Header '{header}' must be BYTES or STRING, not {sql_name(of)}.",
            at=place_of(node),
            hint="Convert it: CAST(… AS STRING).",
        )


def _ensure_once(columns: Sequence[SqlColumn], items: Sequence[Item]) -> None:
    """Refuse two columns of the same name, and two values of one header."""
    names = [column.name for column in columns] + [item.name for item in items]
    headers = [column.header for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise SqlError(f"Duplicate column names: `{column.name}`")
        if headers.count(column.header) > 1:
            raise SqlError(f"Schema already contains a HEADER('{column.header}') column.")
