"""The positions of a record's columns between two kernel nodes.

A kernel row is a key row k0, k1, … and a value row v0, v1, …; a plan's node has named columns. A
`Row` maps one to the other. It may lack columns that are not needed downstream.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from duolog.engine.lowering.expressions.expressions import Names
from duolog.engine.lowering.nodes.required import Required
from duolog.engine.lowering.spark_sql.sql import spark_types
from duolog.engine.lowering.spec.node_spec import NodeSpec, Operator
from duolog.engine.lowering.spec.operators import ProjectOperator
from duolog.plan.cutting.levels import Levels
from duolog.plan.expressions import Scope
from duolog.plan.nodes import Node
from duolog.plan.schema import Schema
from duolog.plan.types import Column


@dataclass(frozen=True, slots=True)
class Row:
    """The key and value columns by position, and a map from the plan's names to the row's."""

    key: tuple[Column, ...]
    value: tuple[Column, ...]
    names: Mapping[str, str]
    changes: bool
    """Whether records have old values, too."""

    @classmethod
    def of(cls, key: tuple[Column, ...], value: tuple[Column, ...], *, changes: bool) -> "Row":
        names = {column.name: f"v{index}" for index, column in enumerate(value)}
        names |= {column.name: f"k{index}" for index, column in enumerate(key)}
        return cls(key, value, names, changes)

    def naming(self, schema: Schema, *, table_columns: tuple[Column, ...] = ()) -> Names:
        """Return the names for expressions over `schema`, whose columns are in this row."""
        looked_up = {column.name: f"r{index}" for index, column in enumerate(table_columns)}
        # The plan has checked whether there is a record.
        scope = Scope(schema.columns, table_columns, of_record=True, of_source=True)
        return Names(scope, dict(self.names), looked_up, {})

    def entry(self, name: str, operator: Operator) -> NodeSpec:
        """Return a kernel node whose input is this row."""
        types = spark_types(self.key), spark_types(self.value)
        return NodeSpec(operator, name, *types, table=self.changes)


@dataclass(frozen=True, slots=True)
class Lowered:
    """Kernel nodes in sequence, and the output row of the last one."""

    entries: list[NodeSpec]
    row: Row = field(default_factory=lambda: Row((), (), {}, changes=False))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context of a lowering rule, in addition to its node and the input row."""

    levels: Levels
    required: Required
    application_id: str = ""

    def needed(self, node: Node) -> frozenset[str]:
        """Return the columns of `node` that are needed downstream."""
        return self.required[node]


def reshape(
    row: Row, schema: Schema, wanted: Iterable[str], name: str
) -> tuple[list[NodeSpec], Row]:
    """Make `wanted` the value columns of `row`, whose columns `schema` declares.

    Returns the necessary projection, or none if they already are. The key does not change.
    """
    types = {column.name: column.type for column in schema.columns}
    columns = tuple(Column(column, types[column]) for column in dict.fromkeys(wanted))
    sources = [row.names[column.name] for column in columns]
    if sources == [f"v{index}" for index in range(len(row.value))]:
        return [], row
    names = dict(row.names)
    # A key column that is copied into the value is read there, so that it survives a change of the
    # key.
    names = {known: at for known, at in names.items() if at.startswith("k")}
    names |= {column.name: f"v{index}" for index, column in enumerate(columns)}
    reshaped = Row(row.key, columns, names, row.changes)
    return [row.entry(name, ProjectOperator(values=sources))], reshaped
