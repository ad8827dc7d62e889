"""A user's processor as a node, and its outputs."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.node import Names, Node, ensure_stream
from duolog.plan.processors import Definition, KeptStore
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Process(Node):
    """Calls a processor with each record of a stream, and by time. Its children are its outputs.

    A record is in the task of its key. Processors that name the same store share it, and are in one
    part of the plan.
    """

    name: str
    parent: Node
    definition: Definition
    is_table: ClassVar[bool] = False
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True
    expiry: ClassVar[str] = (
        "as long as the processor says; windows, sessions and versions for their retention"
    )
    keeps_whole_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "process")
        names = [kept.name for kept in self.definition.stores]
        for name in names:
            if names.count(name) > 1 or name == self.own_store:
                raise InvalidPlan(f'two stores of "{self.name}" have the name "{name}"')

    @property
    def own_store(self) -> str:
        """The name of the store of its internal state: stream time and schedules."""
        return f"{self.name}-schedules"

    @property
    def kept(self) -> tuple[KeptStore, ...]:
        """The stores that the processor uses."""
        return self.definition.stores

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def rekeys(self) -> bool:
        return not self.definition.fixed_key

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.own_store, *(kept.name for kept in self.kept))

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def action(self) -> str:
        kept = ", ".join(f"{store.name} {store}" for store in self.kept)
        return f"by {self.definition.called}{f', kept in {kept}' if kept else ''}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(parent.schema.names)


@dataclass(frozen=True, eq=False)
class ProcessOutput(Node):
    """The records that a processor forwards to one of its children, by number."""

    name: str
    process: Process
    number: int
    is_table: ClassVar[bool] = False
    may_drop: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.process,)

    @property
    def schema(self) -> Schema:
        return self.process.definition.outputs[self.number].schema

    @property
    def action(self) -> str:
        called = self.process.definition.outputs[self.number].name
        return f'what is forwarded to "{called}"' if called else "what is forwarded"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(parent.schema.names)


@dataclass(frozen=True, eq=False)
class ProcessorRows(Node):
    """The rows of a processor's store, for queries. Not a node of a plan."""

    process: Process
    kept: KeptStore
    is_table: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def schema(self) -> Schema:
        return self.kept.schema

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.kept.name,)

    @property
    def action(self) -> str:
        return f"rows of {self.process}"
