"""Records for the eyes of whoever runs a plan."""

from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan
from duolog.plan.formats import JSON
from duolog.plan.nodes.node import Node
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Print(Node):
    """Shows the first `limit` records at the terminal; None: all. Nothing reads it."""

    name: str
    parent: Node
    label: str
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InvalidPlan(
                f"cannot print {self.limit} records", hint="Leave limit= out for all."
            )
        for columns in (self.schema.key, self.schema.value):
            if columns:
                JSON.check(columns, f'records of "{self.parent}", to print them,')

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
    def action(self) -> str:
        first = "" if self.limit is None else f"the first {self.limit} "
        return f"print {first}as [{self.label}]"
