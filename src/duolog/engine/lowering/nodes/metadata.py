"""Record metadata other than key and value: its expressions, and the nodes that write it.

Headers, timestamp and position are known only for records of a stream. A row of a table can be
recomputed when another record, or none, is being processed.
"""

from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spec.operators import HeadersOperator, TimeOperator
from duolog.plan.expressions import Expression, type_of
from duolog.plan.nodes import SetHeaders, SetTime
from duolog.plan.types import TIMESTAMP


def lower_set_headers(node: SetHeaders, row: Row, _around: Surroundings) -> Lowered:
    naming = row.naming(node.parent.schema)
    operator = HeadersOperator(
        clears=node.clears,
        removed=node.removed,
        written=[name for name, _ in node.headers],
        values=[f"CAST({lower_expression(of, naming)} AS BINARY)" for _, of in node.headers],
    )
    return Lowered([row.entry(node.name, operator)], row)


def lower_set_time(node: SetTime, row: Row, _around: Surroundings) -> Lowered:
    time = lower_time(node.time, row.naming(node.parent.schema))
    return Lowered([row.entry(node.name, TimeOperator(time=time))], row)


def lower_time(time: Expression, naming: Names) -> str:
    """Return a timestamp as BIGINT milliseconds."""
    lowered = lower_expression(time, naming)
    if type_of(time, naming.scope) == TIMESTAMP:
        return f"unix_millis({lowered})"
    return f"CAST({lowered} AS BIGINT)"
