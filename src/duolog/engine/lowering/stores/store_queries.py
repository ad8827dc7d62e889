"""Lower queries of stores: what the kernel computes from a store's rows, as JSON for people.

For an aggregate, its results are rendered, and not the accumulators that it stores.
"""

from collections.abc import Mapping

from duolog.engine.json_object import Json
from duolog.engine.lowering.expressions.expressions import key_names
from duolog.engine.lowering.nodes.required import required_columns
from duolog.engine.lowering.nodes.rows import Row, Surroundings
from duolog.engine.lowering.nodes.sources_and_sinks import json_text
from duolog.engine.lowering.nodes.tables import lower_getter
from duolog.engine.lowering.spark_sql.sql import literal, spark_types
from duolog.engine.lowering.spec.operators import ProjectOperator
from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import AggregateNode, Node, ProcessorRows, Suppress
from duolog.plan.types import Array, Column, Map, Struct

Bounds = Mapping[str, tuple[object, object]]
"""Inclusive minimum and maximum of key columns, by name; None: unbounded."""


def lower_store_query(table: Node, levels: Levels, bounds: Bounds | None = None) -> Json:
    """Return the kernel's query of the one store of `table`, with a condition for the rows."""
    if isinstance(table, ProcessorRows):
        return _raw(table)
    around = Surroundings(levels, required_columns(levels.plan))
    if isinstance(table, Suppress):
        row = lower_getter(table.parent, around).row
    else:
        row = lower_getter(table, around).row
    (store,) = table.stores
    return {
        "store": store,
        "values": _values(table, row, around),
        "value_types": spark_types(row.value),
        "key_text": json_text(table.schema.key, row, "key"),
        "value_text": json_text(kept_columns(table, row), row, "value"),
        "condition": _condition(table.schema.key, bounds or {}),
    }


def _raw(table: ProcessorRows) -> Json:
    """Return a query of everything in the store of a processor, as bytes."""
    return {
        "store": table.kept.name,
        "values": ["v0"],
        "value_types": ["BINARY"],
        "key_text": "k0",
        "value_text": "v0",
        "condition": None,
    }


def shown_columns(table: Node, levels: Levels) -> tuple[Column, ...]:
    """Return the value columns of rendered rows: those that the store has."""
    around = Surroundings(levels, required_columns(levels.plan))
    above = table.parent if isinstance(table, Suppress) else table
    return kept_columns(table, lower_getter(above, around).row)


def kept_columns(table: Node, row: Row) -> tuple[Column, ...]:
    """Return the value columns of `table` that are in a row; no node needs the others."""
    return tuple(column for column in table.schema.value if column.name in row.names)


def _values(table: Node, row: Row, around: Surroundings) -> list[str]:
    """Return the expressions of the columns that are stored."""
    if isinstance(table, AggregateNode):
        (results,) = lower_getter(table, around).steps
        assert isinstance(results.operator, ProjectOperator)
        return list(results.operator.values)
    return [f"v{index}" for index in range(len(row.value))]


def _condition(key: tuple[Column, ...], bounds: Bounds) -> str | None:
    """Return a condition that excludes rows early; the caller must still check the bounds."""
    terms = []
    for column, name in zip(key, key_names(key), strict=True):
        if column.name in bounds and not isinstance(column.type, Array | Map | Struct):
            ends = zip((">=", "<="), bounds[column.name], strict=True)
            terms += [
                f"{name} {is_} {literal(at, column.type)}" for is_, at in ends if at is not None
            ]
    return " AND ".join(terms) or None
