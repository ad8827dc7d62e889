"""The fold: accumulators by key, with undo where a table is grouped."""

from duolog.engine.expressions import Names, lower_as_declared, lower_expression
from duolog.engine.lowering.keys import lower_group
from duolog.engine.lowering.operators import FoldOperator
from duolog.engine.lowering.rows import Lowered, Row, Surroundings
from duolog.engine.sql import spark_type
from duolog.plan.aggregates import Accumulator
from duolog.plan.expressions import Expression, Scope
from duolog.plan.nodes import AggregateNode


def lower_aggregate(node: AggregateNode, row: Row, around: Surroundings) -> Lowered:
    """Fold records. What crossed an edge of the group has its key already."""
    grouped = Lowered([], row) if node.group.rekeys else lower_group(node.group, row)
    row = grouped.row
    kept = node.accumulators
    accumulators = {accumulator.name: f"a{index}" for index, accumulator in enumerate(kept)}
    scope = Scope(node.group.schema.columns, accumulators=node.accumulator_columns)
    naming = Names(scope, dict(row.names), {}, accumulators)
    undo = node.group.is_table
    entry = row.entry(
        node.name,
        FoldOperator(
            store=node.store,
            acc_types=[spark_type(accumulator.type) for accumulator in kept],
            init=[_as_kept(accumulator, accumulator.initial, naming) for accumulator in kept],
            add=[_as_kept(accumulator, accumulator.add, naming) for accumulator in kept],
            subtract=[
                _as_kept(accumulator, accumulator.subtract, naming)
                for accumulator in kept
                if undo and accumulator.subtract is not None
            ]
            if undo
            else None,
            results=[lower_as_declared(expression, naming) for _, expression in node.results],
            told_at_once=node in around.levels.cut.copied,
        ),
    )
    return Lowered(
        [*grouped.entries, entry], Row.of(node.schema.key, node.schema.value, changes=True)
    )


def _as_kept(accumulator: Accumulator, expression: Expression, naming: Names) -> str:
    return f"CAST({lower_expression(expression, naming)} AS {spark_type(accumulator.type)})"
