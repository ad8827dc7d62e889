"""Records for a function of the process that runs a plan."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duolog.plan.errors import InvalidPlan
from duolog.plan.formats import JSON
from duolog.plan.nodes.node import Node
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class ForEach(Node):
    """Calls `function` with each record, at least once. Nothing reads it."""

    name: str
    parent: Node
    function: Callable[[Any], object]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidPlan(
                f"{self.function!r} cannot be called", hint="Give a function of one record."
            )
        if inspect.iscoroutinefunction(self.function):
            raise InvalidPlan(
                f"{self.called} is a coroutine function: nobody would wait for it",
                hint="Give a function that returns when the record is done.",
            )
        for columns in (self.schema.key, self.schema.value):
            if columns:
                JSON.check(columns, f'records of "{self.parent}", to call a function with them,')

    @property
    def called(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

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

    @property
    def modes(self) -> str:
        return "both modes, where the master is local: it is called in the process that started the application"

    @property
    def action(self) -> str:
        return f"call {self.called}"
