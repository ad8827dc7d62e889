"""Prints records in the terminal of the process that runs a plan."""

from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.end import End, ensure_json
from duolog.plan.nodes.node import Node


@dataclass(frozen=True, eq=False)
class Print(End):
    """Prints the first `limit` records; None: all. Has no children."""

    name: str
    parent: Node
    label: str
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InvalidPlan(
                f"cannot print {self.limit} records", hint="Remove limit= to print all."
            )
        ensure_json(self, "to print them")

    @property
    def action(self) -> str:
        first = "" if self.limit is None else f"the first {self.limit} "
        return f"print {first}as [{self.label}]"
