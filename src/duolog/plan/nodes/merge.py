"""The merge of several streams into one."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.node import Node, ensure_stream
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Merge(Node):
    """The records of several streams that have the same columns in the same order.

    The records of each stream stay in order. A stream that occurs twice contributes each record
    once.
    """

    name: str
    streams: tuple[Node, ...]
    is_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        first, *others = self.streams
        for stream in self.streams:
            ensure_stream(stream, "merge")
        for other in others:
            if other.schema != first.schema:
                raise InvalidPlan(
                    f'the columns of streams "{first}" and "{other}" differ',
                    detail=f"They are {first.schema} and {other.schema}.",
                    hint="Merged streams must have the same columns and types: map_values(...) "
                    "changes the value, select_key(...) the key.",
                )

    @property
    def parents(self) -> tuple[Node, ...]:
        return tuple(dict.fromkeys(self.streams))

    @property
    def drivers(self) -> tuple[Node, ...]:
        return self.parents

    @property
    def schema(self) -> Schema:
        return self.streams[0].schema

    @property
    def action(self) -> str:
        return f"merge of {', '.join(stream.name for stream in self.streams)}"
