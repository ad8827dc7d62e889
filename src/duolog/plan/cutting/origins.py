"""Traces the values of a column back through a plan to the columns of its sources.

    by_airline.flights   ◀─ count(…)                    nothing: it counts records
    by_airline.late      ◀─ sum(dep_delay)              flights.dep_delay
    joined.name          ◀─ airlines.name               airlines.name

Expressions that only decide whether a record is forwarded (a condition, a window) are not origins.
An aggregate's group key is an origin of the key columns only.
"""

from collections.abc import Iterable
from functools import singledispatch
from typing import NamedTuple

from duolog.plan.expressions import (
    AccumulatorRef,
    ColumnRef,
    Expression,
    TableColumnRef,
    column_names,
    walk,
)
from duolog.plan.nodes import (
    AggregateNode,
    Explode,
    ForeignJoin,
    GlobalTableJoin,
    GroupBy,
    Node,
    ProcessOutput,
    Project,
    Rename,
    SelectKey,
    StreamTableJoin,
)
from duolog.plan.nodes.two_sides import JoinOfSides


class Origin(NamedTuple):
    """A column of a source of a plan."""

    source: Node
    column: str


Places = Iterable[tuple[Node, str]]
"""Columns of parents."""


def origins_of(node: Node, column: str) -> frozenset[Origin]:
    """Return the source columns from which the values of a node's column are computed."""
    found: set[Origin] = set()
    seen: set[tuple[Node, str]] = set()
    waiting = [(node, column)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        of, name = place
        if of.parents:
            waiting.extend(_before(of, name))
        else:
            found.add(Origin(of, name))
    return frozenset(found)


@singledispatch
def _before(node: Node, column: str) -> Places:
    """Return the parents' columns from which a node's column is computed; by default its name."""
    return [(parent, column) for parent in node.parents if column in parent.schema.names]


@_before.register
def _of_project(node: Project, column: str) -> Places:
    return _of_expression(node.parent, column, dict(node.values).get(column))


@_before.register(SelectKey)
@_before.register(GroupBy)
def _of_keyed(node: SelectKey | GroupBy, column: str) -> Places:
    return _of_expression(node.parent, column, dict(node.keys).get(column))


@_before.register
def _of_rename(node: Rename, column: str) -> Places:
    return [(node.parent, node.before.get(column, column))]


@_before.register
def _of_explode(node: Explode, column: str) -> Places:
    if column not in node.into:
        return [(node.parent, column)]
    # The columns of a MAP's entries come from one expression; parallel arrays have one each.
    arrays = [node.arrays[node.into.index(column)]] if node.beside else node.arrays
    return [(node.parent, name) for array in arrays for name in column_names(array)]


@_before.register
def _of_aggregate(node: AggregateNode, column: str) -> Places:
    result = dict(node.results).get(column)
    if result is None:
        key = {name for name, _ in node.group.keys}
        return [(node.group, column)] if column in key else []
    accumulators = {kept.name: kept.add for kept in node.accumulators}
    names: set[str] = set()
    seen: set[str] = set()
    waiting: list[Expression] = [result]
    while waiting:
        for part in walk(waiting.pop()):
            if isinstance(part, ColumnRef):
                names.add(part.name)
            elif isinstance(part, AccumulatorRef) and part.name not in seen:
                seen.add(part.name)
                waiting.append(accumulators[part.name])
    return [(node.group, name) for name in names]


@_before.register
def _of_table_lookup(node: StreamTableJoin, column: str) -> Places:
    return _of_two(node.stream, node.table, column, dict(node.values))


@_before.register
def _of_global_lookup(node: GlobalTableJoin, column: str) -> Places:
    return _of_two(node.stream, node.table, column, dict(node.values))


@_before.register
def _of_join(node: JoinOfSides, column: str) -> Places:  # type: ignore[type-arg]  # of whichever sides
    return _of_two(node.left, node.right, column, dict(node.sides[0].values))


@_before.register
def _of_foreign_join(node: ForeignJoin, column: str) -> Places:
    return _of_two(node.left, node.right, column, dict(node.values))


@_before.register
def _of_process(node: ProcessOutput, _column: str) -> Places:
    # A processor's output can depend on every column.
    parent = node.process.parent
    return [(parent, name) for name in parent.schema.names]


def _of_expression(parent: Node, column: str, expression: Expression | None) -> Places:
    names = [column] if expression is None else column_names(expression)
    return [(parent, name) for name in names if name in parent.schema.names]


def _of_two(left: Node, right: Node, column: str, values: dict[str, Expression]) -> Places:
    expression = values.get(column)
    if expression is None:
        return [(left, column)]
    names = [(left, name) for name in column_names(expression)]
    return names + [
        (right, part.name) for part in walk(expression) if isinstance(part, TableColumnRef)
    ]
