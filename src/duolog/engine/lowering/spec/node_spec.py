"""A node of the kernel's spec: the fields of every kind, and an operator with those of its own.

The kernel's side is `NodeSpec.java`. The kinds are in `operators`, `foreign_operators` and
`processor_operators`; `jvm/README.md` lists them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar

from duolog.engine.json_object import Json


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of node, with its own fields."""

    kind: ClassVar[str]


@dataclass(slots=True)
class NodeSpec:
    """A node of the kernel."""

    operator: Operator
    name: str
    """Its name in messages."""
    key_types: Sequence[str]
    """The types of the key columns of its input."""
    value_types: Sequence[str]
    """The types of the value columns of its input."""
    table: bool
    """Whether the input carries changes of a table, with old values."""
    children: list[int] = field(default_factory=list)
    """The nodes that it feeds."""

    def json(self) -> Json:
        """Return the node as the kernel reads it."""
        return {
            "kind": self.operator.kind,
            "name": self.name,
            "key_types": self.key_types,
            "value_types": self.value_types,
            "table": self.table,
            "children": self.children,
            **asdict(self.operator),
        }
