"""Traces the values of a column back through a plan to the columns of its sources.

    by_airline.flights   ◀─ count(…)                    nothing: it counts records
    by_airline.late      ◀─ sum(dep_delay)              flights.dep_delay, aggregated
    joined.name          ◀─ airlines.name               airlines.name, copied

Expressions that only decide whether a record is forwarded, or with which others it meets (a
condition, a key, a window), are not origins: `deciders_of` finds them. An aggregate's group key is
an origin of the key columns only.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
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
    Filter,
    ForeignJoin,
    GlobalTableJoin,
    GroupBy,
    Node,
    ProcessOutput,
    Project,
    Rename,
    SelectKey,
    Split,
    StreamTableJoin,
    ancestors,
)
from duolog.plan.nodes.two_sides import JoinOfSides


class Kind(IntEnum):
    """Way from a source column to a result column, as strong as its strongest step."""

    COPIED = 0
    """The same value."""
    COMPUTED = 1
    """An argument of an expression."""
    AGGREGATED = 2
    """An argument of an aggregate function, over many records."""


class Decider(IntEnum):
    """The effect of a column that decides which rows a result has."""

    KEY = 0
    """Of a group, of a join, or of the records that it writes."""
    FILTER = 1
    """Read by a condition."""


class Origin(NamedTuple):
    """A column of a source of a plan."""

    source: Node
    column: str


class Step(NamedTuple):
    """A column of a parent, and how it is used."""

    node: Node
    column: str
    kind: Kind = Kind.COPIED


Steps = Iterable[Step]


def origins_of(node: Node, column: str) -> frozenset[Origin]:
    """Return the source columns from which the values of a node's column are computed."""
    return frozenset(ways_to(node, column))


def ways_to(node: Node, column: str) -> dict[Origin, frozenset[Kind]]:
    """Return the source columns from which a node's column is computed, with all kinds of ways."""
    found: dict[Origin, set[Kind]] = {}
    start = Step(node, column)
    seen, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        if not at.node.parents:
            found.setdefault(Origin(at.node, at.column), set()).add(at.kind)
            continue
        for before in _before(at.node, at.column):
            step = before._replace(kind=max(before.kind, at.kind))
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return {origin: frozenset(kinds) for origin, kinds in found.items()}


def deciders_of(node: Node) -> dict[Origin, frozenset[Decider]]:
    """Return the source columns that decide which rows `node` has, with all their effects."""
    found: dict[Origin, set[Decider]] = {}
    # Each place is followed once, however many nodes use it.
    places: dict[tuple[Node, str], set[Decider]] = {}
    for one in ancestors(node):
        for of, name, decider in _decided_by(one):
            places.setdefault((of, name), set()).add(decider)
    for (of, name), deciders in places.items():
        for origin in origins_of(of, name):
            found.setdefault(origin, set()).update(deciders)
    return {origin: frozenset(deciders) for origin, deciders in found.items()}


def _decided_by(node: Node) -> Iterator[tuple[Node, str, Decider]]:
    """Yield the columns that decide about a node's records, each with the node that has it."""
    match node:
        case Filter():
            for name in column_names(node.predicate):
                yield node.parent, name, Decider.FILTER
        case Split():
            for predicate in node.predicates:
                for name in column_names(predicate):
                    yield node.parent, name, Decider.FILTER
        case SelectKey() | GroupBy():
            yield from _keyed_by(node.parent, (of for _, of in node.keys))
        case AggregateNode() if not node.group.rekeys:
            # The group is not a step of the plan.
            yield from _keyed_by(node.group.parent, (of for _, of in node.group.keys))
        case StreamTableJoin():
            yield from _keys(node.stream)
            yield from _keys(node.table)
        case JoinOfSides():
            yield from _keys(node.left)
            yield from _keys(node.right)
        case GlobalTableJoin():
            yield from _keyed_by(node.stream, node.keys)
            yield from _keys(node.table)
        case ForeignJoin():
            yield from _keyed_by(node.left, (of for _, of in node.answers.numbered.keys))
            yield from _keys(node.right)
        case _:
            pass


def _keyed_by(
    parent: Node, expressions: Iterable[Expression]
) -> Iterator[tuple[Node, str, Decider]]:
    for expression in expressions:
        for name in column_names(expression):
            yield parent, name, Decider.KEY


def _keys(node: Node) -> Iterator[tuple[Node, str, Decider]]:
    # The bounds of a window come from timestamps, not from columns.
    for column in node.schema.inner_key:
        yield node, column.name, Decider.KEY


@singledispatch
def _before(node: Node, column: str) -> Steps:
    """Return the parents' columns from which a node's column is computed; by default its name."""
    return [Step(parent, column) for parent in node.parents if column in parent.schema.names]


@_before.register
def _of_project(node: Project, column: str) -> Steps:
    return _of_expression(node.parent, column, dict(node.values).get(column))


@_before.register(SelectKey)
@_before.register(GroupBy)
def _of_keyed(node: SelectKey | GroupBy, column: str) -> Steps:
    return _of_expression(node.parent, column, dict(node.keys).get(column))


@_before.register
def _of_rename(node: Rename, column: str) -> Steps:
    return [Step(node.parent, node.before.get(column, column))]


@_before.register
def _of_explode(node: Explode, column: str) -> Steps:
    if column not in node.into:
        return [Step(node.parent, column)]
    # The columns of a MAP's entries come from one expression; parallel arrays have one each.
    arrays = [node.arrays[node.into.index(column)]] if node.beside else node.arrays
    return [
        Step(node.parent, name, Kind.COMPUTED) for array in arrays for name in column_names(array)
    ]


@_before.register
def _of_aggregate(node: AggregateNode, column: str) -> Steps:
    result = dict(node.results).get(column)
    if result is None:
        key = {name for name, _ in node.group.keys}
        return [Step(node.group, column)] if column in key else []
    steps = {Step(node.group, name, _kind(result)) for name in column_names(result)}
    accumulators = {kept.name: kept.add for kept in node.accumulators}
    seen: set[str] = set()
    waiting: list[Expression] = [result]
    while waiting:
        for part in walk(waiting.pop()):
            if isinstance(part, AccumulatorRef) and part.name not in seen:
                seen.add(part.name)
                added = accumulators[part.name]
                waiting.append(added)
                steps |= {Step(node.group, of, Kind.AGGREGATED) for of in column_names(added)}
    return steps


@_before.register
def _of_table_lookup(node: StreamTableJoin, column: str) -> Steps:
    return _of_two(node.stream, node.table, column, dict(node.values))


@_before.register
def _of_global_lookup(node: GlobalTableJoin, column: str) -> Steps:
    return _of_two(node.stream, node.table, column, dict(node.values))


@_before.register
def _of_join(node: JoinOfSides, column: str) -> Steps:  # type: ignore[type-arg]  # of whichever sides
    values = dict(node.sides[0].values)
    steps = list(_of_two(node.left, node.right, column, values))
    if node.sides[0].kind == "outer" and column not in values:
        # The key of a record of the right that has no partner.
        keys = zip(node.left.schema.inner_key, node.right.schema.inner_key, strict=True)
        steps += [Step(node.right, right.name) for left, right in keys if left.name == column]
    return steps


@_before.register
def _of_foreign_join(node: ForeignJoin, column: str) -> Steps:
    return _of_two(node.left, node.right, column, dict(node.values))


@_before.register
def _of_process(node: ProcessOutput, _column: str) -> Steps:
    # A processor's output can depend on every column.
    parent = node.process.parent
    return [Step(parent, name, Kind.COMPUTED) for name in parent.schema.names]


def _of_expression(parent: Node, column: str, expression: Expression | None) -> Steps:
    if expression is None:
        return [Step(parent, column)] if column in parent.schema.names else []
    kind = _kind(expression)
    names = column_names(expression) & set(parent.schema.names)
    return [Step(parent, name, kind) for name in names]


def _of_two(left: Node, right: Node, column: str, values: dict[str, Expression]) -> Steps:
    expression = values.get(column)
    if expression is None:
        return [Step(left, column)]
    kind = _kind(expression)
    return [
        *(Step(left, name, kind) for name in column_names(expression)),
        *(
            Step(right, part.name, kind)
            for part in walk(expression)
            if isinstance(part, TableColumnRef)
        ),
    ]


def _kind(expression: Expression) -> Kind:
    is_column = isinstance(expression, ColumnRef | TableColumnRef)
    return Kind.COPIED if is_column else Kind.COMPUTED
