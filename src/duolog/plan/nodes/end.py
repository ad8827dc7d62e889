"""Nodes without children: the ends of a plan."""

from typing import ClassVar

from duolog.plan.formats import JSON
from duolog.plan.nodes.node import Node
from duolog.plan.schema import Schema


class End(Node):
    """The base of sinks, prints and calls: records leave the plan unchanged, with all columns."""

    parent: Node
    keeps_whole_rows: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def is_table(self) -> bool:
        return self.parent.is_table


def ensure_json(end: End, purpose: str) -> None:
    """Raise a StatementError if a column cannot be encoded as JSON, the format to the process."""
    for columns in (end.schema.key, end.schema.value):
        if columns:
            JSON.check(columns, f'records of "{end.parent}", {purpose},')
