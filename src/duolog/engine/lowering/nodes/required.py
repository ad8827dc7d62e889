"""Determine which columns of each node are needed downstream.

Other columns are left out before records are shuffled: a count by airline does not send the
other columns of a flight to its task.
"""

from duolog.plan.nodes import Node, Plan
from duolog.plan.types import Column

Required = dict[Node, frozenset[str]]


def required_columns(plan: Plan) -> Required:
    """Return, for each node, the names of its columns that are needed downstream."""
    required: Required = {}
    for node in reversed(plan.nodes):
        names = frozenset(node.schema.names)
        read = (child.reads(node, required[child]) for child in plan.children(node))
        required[node] = names if node.keeps_whole_rows else names & frozenset().union(*read)
    return required


def needed_values(node: Node, required: Required) -> tuple[Column, ...]:
    """Return the value columns of `node` that are needed downstream, in their order."""
    return tuple(column for column in node.schema.value if column.name in required[node])
