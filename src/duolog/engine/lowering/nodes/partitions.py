"""The partition that a record chooses: by an expression, or by a function of its key."""

from duolog.engine.lowering.expressions.expressions import lower_expression
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.nodes.rows import Row, Surroundings
from duolog.engine.lowering.spark_sql.sql import text
from duolog.plan.expressions import Expression
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.formats import JSON
from duolog.plan.nodes import Node
from duolog.plan.schema import Schema


def lower_partition(
    partitioner: Expression | None, of: Node, row: Row, schema: Schema, around: Surroundings
) -> str | None:
    """Return the expression of the partition for the node `of`, by whose name the kernel calls."""
    if partitioner is None:
        return None
    if not isinstance(partitioner, KeyFunction):
        return lower_expression(partitioner, row.naming(schema))
    key = encode(JSON, schema.key, [row.names[column.name] for column in schema.key], "value")
    return f"duolog_of_key({text(around.application_id)}, {text(of.name)}, {key})"
