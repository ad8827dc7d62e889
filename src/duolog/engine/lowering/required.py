"""Which columns of each node somebody behind it needs.

What nobody needs is left out before records are shuffled: a count by airline does not carry the
other columns of a flight to its task.
"""

from duolog.plan.expressions import Expression, Named, TableColumnRef, column_names, walk
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    GroupBy,
    Node,
    Plan,
    Project,
    SelectKey,
    Sink,
    StreamTableJoin,
    TableSource,
    ToStream,
)

Required = dict[Node, frozenset[str]]


def required_columns(plan: Plan) -> Required:
    """Return, for each node, the names of its columns that are needed behind it."""
    required: Required = {}
    for node in reversed(plan.nodes):
        needed: set[str] = set()
        for child in plan.children(node):
            needed |= _read_by(child, node, required[child])
        # A table's store keeps whole rows: what is stored must not depend on who reads it.
        if isinstance(node, TableSource | AggregateNode | Sink):
            needed |= set(node.schema.names)
        required[node] = frozenset(needed & set(node.schema.names))
    return required


def used_by_aggregate(node: AggregateNode) -> frozenset[str]:
    """Return the columns of its group that an aggregate reads."""
    steps: list[Expression] = []
    for accumulator in node.accumulators:
        steps.append(accumulator.add)
        if accumulator.subtract is not None:
            steps.append(accumulator.subtract)
    return _names(steps)


def _read_by(child: Node, node: Node, behind: frozenset[str]) -> frozenset[str]:
    """Return the columns of `node` that `child` reads, of whose own columns `behind` are needed."""
    match child:
        case Filter(predicate=predicate):
            return behind | column_names(predicate)
        case Project(values=values):
            # A project never reads a key for its own sake, but what is behind it may.
            return _names(_needed(values, behind)) | behind_key(child, behind)
        case SelectKey() | GroupBy():
            keys = _names([expression for _, expression in child.keys])
            return keys | _names(_needed(child.values, behind))
        case StreamTableJoin():
            return _read_by_join(child, node, behind)
        case AggregateNode():
            return used_by_aggregate(child)
        case ToStream() | Sink():
            return behind
        case _:
            raise AssertionError(f"nothing is known of {type(child).__name__}")


def _read_by_join(join: StreamTableJoin, node: Node, behind: frozenset[str]) -> frozenset[str]:
    read = _needed(join.values, behind)
    if node is join.stream:
        return _names(read) | behind_key(join, behind)
    parts = (part for expression in read for part in walk(expression))
    return frozenset(part.name for part in parts if isinstance(part, TableColumnRef))


def behind_key(node: Node, behind: frozenset[str]) -> frozenset[str]:
    """Return the key columns among `behind`; a key goes through most nodes as it is."""
    return behind & {column.name for column in node.schema.key}


def _needed(values: tuple[Named, ...], behind: frozenset[str]) -> list[Expression]:
    return [expression for name, expression in values if name in behind]


def _names(expressions: list[Expression]) -> frozenset[str]:
    return frozenset(name for expression in expressions for name in column_names(expression))
