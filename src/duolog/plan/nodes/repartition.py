"""Records sent to the task of their key because a user says so."""

from dataclasses import dataclass, field

from duolog.plan.nodes.node import Node, ensure_stream
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Repartition(Node):
    """Sends each record to the task of its key, wherever it has been; records stay as they are.

    As through a repartition topic, a record goes on when the one that caused it is done.
    """

    name: str
    parent: Node
    is_table: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "repartition")

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.parent.schema

    @property
    def by_key(self) -> bool:
        return True

    @property
    def reshuffles(self) -> bool:
        return True

    @property
    def action(self) -> str:
        return "to the task of each key"
