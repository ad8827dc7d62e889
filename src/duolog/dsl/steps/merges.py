"""The nodes of a merge, including those that reorder columns."""

from collections.abc import Sequence

from duolog.dsl.builder import Builder
from duolog.plan.expressions import ColumnRef
from duolog.plan.nodes import Merge, Node, Project


def merged(builder: Builder, streams: Sequence[Node]) -> Merge:
    """Add the merge of `streams`; value columns are reordered as in the first stream.

    Raises:
        StatementError: a stream belongs to another topology, or columns differ.
    """
    first, *others = streams
    alike = (first, *(_in_order_of(builder, first, other) for other in others))
    return builder.add("merge", lambda name: Merge(name, alike))


def _in_order_of(builder: Builder, first: Node, other: Node) -> Node:
    wanted, given = first.schema.value, other.schema.value
    if wanted == given or set(wanted) != set(given):
        return other
    values = tuple((column.name, ColumnRef(column.name)) for column in wanted)
    return builder.add("map-values", lambda name: Project(name, other, values))
