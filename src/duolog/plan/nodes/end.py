"""Nodes without children: the ends of a plan."""

from duolog.plan.formats import JSON
from duolog.plan.nodes.node import Node
from duolog.plan.schema import Schema


class End(Node):
    """The base of sinks, prints and calls: records leave the plan unchanged, with all columns."""

    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.parent.schema

    @property
    def is_table(self) -> bool:  # type: ignore[override]
        return self.parent.is_table

    @property
    def keeps_whole_rows(self) -> bool:
        return True


def ensure_json(end: End, purpose: str) -> None:
    """Raise a StatementError if JSON, which carries records to the process, cannot encode a column."""
    for columns in (end.schema.key, end.schema.value):
        if columns:
            JSON.check(columns, f'records of "{end.parent}", {purpose},')
