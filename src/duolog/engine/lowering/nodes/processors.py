"""Processors: a kernel node that calls, and one for each output that makes records of values."""

from dataclasses import replace

from duolog.engine.lowering.expressions.expressions import arguments_of
from duolog.engine.lowering.expressions.python_functions import name_of
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, spark_types, text
from duolog.engine.lowering.spec.processor_operators import ProcessOperator, ProcessOutputOperator
from duolog.plan.cutting.python_calls import may_wait
from duolog.plan.expressions import ColumnRef
from duolog.plan.nodes import Process, ProcessOutput
from duolog.plan.types import BYTES, INT, Column

_FORWARDED = (Column("output", INT), Column("key", BYTES), Column("value", BYTES))


def lower_process(node: Process, row: Row, around: Surroundings) -> Lowered:
    naming = row.naming(node.parent.schema)
    columns = [ColumnRef(name) for name in node.parent.schema.names]
    operator = ProcessOperator(
        function=name_of(replace(node.definition, node=node.name)),
        record=arguments_of(columns, naming),
        store=node.own_store,
        stores=[kept.name for kept in node.kept],
        waits=_may_wait(node, around),
    )
    return Lowered([row.entry(node.name, operator)], Row((), _FORWARDED, {}, changes=False))


def _may_wait(node: Process, around: Surroundings) -> bool:
    """Return whether records may be passed in batches: no node downstream notices the delay."""
    part = next(part for part in around.levels.subtopologies if node in part.nodes)
    alone = not any(isinstance(other, Process) and other is not node for other in part.nodes)
    return alone and all(
        may_wait(output, around.levels)
        for output in around.levels.successors(node)
        if isinstance(output, ProcessOutput)
    )


def lower_process_output(node: ProcessOutput, row: Row, _around: Surroundings) -> Lowered:
    key, value = node.schema.key, node.schema.value
    operator = ProcessOutputOperator(
        output=node.number,
        keys=_columns("v1", key),
        key_columns=spark_types(key),
        values=_columns("v2", value),
        value_columns=spark_types(value),
    )
    return Lowered([row.entry(node.name, operator)], Row.of(key, value, changes=False))


def _columns(data: str, columns: tuple[Column, ...]) -> list[str]:
    """Return the expressions of columns in JSON."""
    if not columns:
        return []
    schema = ", ".join(f"{quoted(column.name)} {spark_type(column.type)}" for column in columns)
    return [f"duolog_from_json({data}, {text(schema)}).{quoted(column.name)}" for column in columns]
