"""Nodes that nothing reads: where records leave a plan."""

from duolog.plan.formats import JSON
from duolog.plan.nodes.node import Node
from duolog.plan.schema import Schema


class End(Node):
    """What sinks, prints and calls share: records leave as their parent has made them, whole."""

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
    """Raise a StatementError where records have columns that JSON cannot carry to the process."""
    for columns in (end.schema.key, end.schema.value):
        if columns:
            JSON.check(columns, f'records of "{end.parent}", {purpose},')
