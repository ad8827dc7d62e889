"""Calls of a function in the process that runs a plan."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from duolog.plan.awaiting import ensure_awaits_nothing
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.end import End, ensure_json
from duolog.plan.nodes.node import Node


@dataclass(frozen=True, eq=False)
class ForEach(End):
    """Calls `function` with each record, at least once. Has no children."""

    name: str
    parent: Node
    function: Callable[[Any], object]
    modes: ClassVar[str] = (
        "both modes, where the master is local: it is called in the process that started the "
        "application"
    )

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidPlan(
                f"{self.function!r} cannot be called", hint="Give a function of one record."
            )
        ensure_awaits_nothing(
            self.function, "Use a function that returns after it has processed the record."
        )
        ensure_json(self, "to call a function with them")

    @property
    def called(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    @property
    def action(self) -> str:
        return f"call {self.called}"
