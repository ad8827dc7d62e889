"""What can be looked up by its key: a table whose rows stay."""

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.aggregate import AggregateNode
from duolog.plan.nodes.node import Node


def ensure_rows_stay(*tables: Node) -> None:
    """Check that rows of tables are there when somebody looks for them.

    Raises:
        StatementError: the rows of one go when their windows close.
    """
    for table in tables:
        for node in _kept_by(table):
            if isinstance(node, AggregateNode) and node.emits_on_close:
                raise InvalidPlan(
                    f'cannot join table "{table}": its rows go when their windows close',
                    detail=f'"{node}" emits its results on close, and keeps none behind them.',
                    hint='Join its results with each update, emit="on update", and hold back what the join '
                    'makes: suppress(until="window close").',
                )


def _kept_by(table: Node) -> list[Node]:
    """Return the nodes in whose stores the rows of `table` stand."""
    if isinstance(table, AggregateNode) or not table.drivers:
        return [table]
    return [node for driver in table.drivers for node in _kept_by(driver)]
