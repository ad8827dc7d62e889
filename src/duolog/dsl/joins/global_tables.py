"""Global tables: every task has all rows, so that streams can look them up by any key.

Source: Kafka Streams `GlobalKTable`.
"""

from collections.abc import Callable
from typing import Literal as OneOf

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr, col
from duolog.dsl.expressions.joined_names import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.expressions.names import find_fields
from duolog.dsl.handles.handles import Handle
from duolog.plan.expressions import ColumnRef, Expression
from duolog.plan.nodes import GlobalTableJoin, GlobalTableSource, Node
from duolog.plan.schema import Schema


class GlobalTable(Handle):
    """A table of which every task has all rows, created by `Topology.global_table`.

    Streams look it up: `stream.join(table, on=...)`, `stream.left_join(table, on=...)`.
    """

    def __init__(self, builder: Builder, node: GlobalTableSource) -> None:
        self.builder = builder
        self.node = node

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.node.schema

    @property
    def store_name(self) -> str:
        """The name of the store with its rows, for `application.store(name)`."""
        return self.node.store

    def _called(self) -> str:
        return "a global table"

    def _hint(self, _name: str) -> str:
        return (
            "Look it up from a stream: stream.join(table, on=...). "
            "For anything else read the topic with topology.table(...)."
        )

    def __repr__(self) -> str:
        return f"<GlobalTable {self.node}: {self.schema}>"


def global_join(
    kind: OneOf["inner", "left"],
    stream: Node,
    table: GlobalTableSource,
    *,
    on: On | None,
    prefix: str,
    select: Select | None,
) -> Callable[[str], GlobalTableJoin]:
    """Return a function that creates the join of a stream with a global table from a name."""
    keys: tuple[Expression, ...]
    if on is None:
        ensure_keys_named_alike(stream, table)
        keys = tuple(ColumnRef(column.name) for column in stream.schema.key)
    else:
        given = [on] if isinstance(on, str | Expr) else on
        wanted = [col(key) if isinstance(key, str) else key for key in given]
        keys = tuple(find_fields(key.expression, stream.schema.names) for key in wanted)
    names = JoinedNames(stream, table, prefix)
    values = names.all_columns() if select is None else names.select(select)
    return lambda name: GlobalTableJoin(name, stream, table, kind, keys, values)
