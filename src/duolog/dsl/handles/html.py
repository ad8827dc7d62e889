"""HTML for notebooks: tables of texts, and a plan that is not running."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from duolog.plan.nodes import Node, ancestors
from duolog.plan.text.describe import describe_node

_CELL_MAX: Final = 200


def table_html(names: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """Return an HTML table; a null is an empty cell.

    Example:
        >>> for row in table_html(["n"], [["<1>"], [None]], "two rows").split("</tr>"):
        ...     print(row)
        <table><caption>two rows</caption><tr><th>n</th>
        <tr><td>&lt;1&gt;</td>
        <tr><td></td>
        </table>
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def plan_html(node: Node, notes: str) -> str:
    """Return the columns of a node, and the nodes upstream of it, as HTML."""
    key = [(column.name, column.type, "key") for column in node.schema.key]
    value = [(column.name, column.type, "") for column in node.schema.value]
    kind = "table" if node.is_table else "stream"
    columns = table_html(["column", "type", ""], [*key, *value], f"{kind} {node.name}")
    steps = "\n".join(describe_node(each) for each in reversed(list(ancestors(node))))
    return f"{columns}<pre>{escape(steps)}</pre><p>{escape(notes)}</p>"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = f"{text[:_CELL_MAX]}…" if len(text) > _CELL_MAX else text
    return f"<td>{escape(shown)}</td>"
