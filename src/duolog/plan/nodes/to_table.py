"""Interprets a stream as the changes of a table."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.expiry import ensure_ttl, render_ttl
from duolog.plan.nodes.node import Node, ensure_stream
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class ToTable(Node):
    """Each record of a stream is the new row of its key; a null value deletes it.

    Records with a null key are ignored. `store` holds the rows.
    """

    name: str
    stream: Node
    store: str
    ttl_ms: int | None = None
    """The lifetime of a row that is not updated; None: until it is deleted."""
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.

    def __post_init__(self) -> None:
        ensure_stream(self.stream, "make a table of")
        ensure_ttl(self.ttl_ms)
        if not self.schema.key:
            raise InvalidPlan(
                f'stream "{self.stream}" has no key, which a table requires',
                hint="Set a key: select_key(...).",
            )

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.stream,)

    @property
    def schema(self) -> Schema:
        return self.stream.schema

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def expiry(self) -> str:
        or_old = f", or it was not updated for {self.ttl_ms} ms" if self.ttl_ms else ""
        return f"a row for each key until a null value deletes it{or_old}"

    @property
    def action(self) -> str:
        return f"the latest row of each key, kept in {self.store}{render_ttl(self.ttl_ms)}"
