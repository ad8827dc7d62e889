"""The nodes of a cogroup: groups of several streams that are aggregated together.

    orders ──► select_key ──► project ──┐   columns  cogroup.input, 0.amount, 1.amount
                                        ├──► merge ──► aggregate by key
    ├──► merge ──► aggregate by key

The adders of the streams form one step of the aggregate, which chooses by the first column.

Source: Kafka Streams `CogroupedKStream`, `CogroupedStreamAggregateBuilder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.names import Columns, named
from duolog.dsl.expressions.texts import ensure_not_kept, texts_alone
from duolog.plan.aggregates import Fold, custom_fold
from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Named,
    Scope,
    column_names,
    literal,
    rewrite,
)
from duolog.plan.nodes import GroupBy, Merge, Node, Project, SelectKey
from duolog.plan.types import Column, render_columns

INPUT: Final = "cogroup.input"
"""The column with the number of the stream that a record comes from."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the streams: its group, and the adder for its records."""

    group: GroupBy
    adder: dict[str, Expression]
    texts: frozenset[str] = frozenset()
    """The bare texts in the adder."""

    @classmethod
    def of(cls, group: GroupBy, adder: Columns) -> "Side":
        if group.is_table:
            raise InvalidPlan(
                f'cannot cogroup table "{group.parent}"', hint="Use to_stream() first."
            )
        steps = dict(named((), adder, group.schema.names))
        return cls(group, steps, frozenset(texts_alone(adder)))

    @property
    def read(self) -> tuple[Column, ...]:
        """The columns of its records that the adder reads."""
        names = frozenset[str]().union(*map(column_names, self.adder.values()))
        for name in sorted(names - set(self.group.schema.names)):
            raise unknown_name("column", name, self.group.schema.names)
        return tuple(column for column in self.group.schema.columns if column.name in names)


def ensure_same_groups(sides: Sequence[Side]) -> None:
    """Raise a StatementError if the groups of two streams have different types."""
    for side, after in pairwise(sides):
        one, other = side.group.schema.key, after.group.schema.key
        if [column.type for column in one] != [column.type for column in other]:
            raise InvalidPlan(
                f'the groups of streams "{side.group.parent}" and "{after.group.parent}" differ',
                detail=f"Their keys are ({render_columns(one)}) and ({render_columns(other)}).",
                hint="Group both by columns of the same types.",
            )


def common_group(builder: Builder, sides: Sequence[Side]) -> GroupBy:
    """Add the nodes up to the group of all streams; its key has the names of the first stream's."""
    names = [column.name for column in sides[0].group.schema.key]
    streams = tuple(_widened(builder, sides, number, names) for number in range(len(sides)))
    merge = builder.add("cogroup-merge", lambda name: Merge(name, streams))
    keys = tuple((column, ColumnRef(column)) for column in names)
    return builder.add("cogroup", lambda name: GroupBy(name, merge, keys))


def cogrouping_fold(
    sides: Sequence[Side],
    group: GroupBy,
    wanted: tuple[Named, ...],
    initializer: Columns,
    merger: Columns | None,
) -> Fold:
    """Return the fold over records of all streams.

    Raises:
        StatementError: an adder has an accumulator that the initializer lacks, or types do not fit.
    """
    initial = dict(named((), initializer, ()))
    ensure_not_kept(merger or {}, initial)
    for side in sides:
        ensure_not_kept({text: text for text in side.texts}, initial)
        for name in side.adder.keys() - initial.keys():
            raise unknown_name("accumulator", name, initial)
    add: dict[str, Expression] = {
        name: Call("CASE", tuple(_cases(sides, name)))
        if any(name in side.adder for side in sides)
        else AccumulatorRef(name)
        for name in initial
    }
    merge = None if merger is None else dict(named((), merger, ()))
    folded = custom_fold(initial, add, None, Scope(group.schema.columns), merge)
    return Fold(folded.accumulators, wanted or folded.results)


def _cases(sides: Sequence[Side], accumulator: str) -> list[Expression]:
    """Return condition and step of each stream that has an adder for this accumulator."""
    cases: list[Expression] = []
    for number, side in enumerate(sides):
        step = side.adder.get(accumulator)
        if step is not None:
            cases += [Call("=", (ColumnRef(INPUT), literal(number))), _wide(step, number)]
    return [*cases, AccumulatorRef(accumulator)]


def _widened(builder: Builder, sides: Sequence[Side], number: int, names: Sequence[str]) -> Node:
    """Add the stream of one side with its group's key and the columns of all sides."""
    group = sides[number].group
    keyed = group.parent
    if group.rekeys or group.schema.key != keyed.schema.key:
        keyed = builder.add("select-key", lambda name: SelectKey(name, group.parent, group.keys))
    values = _values(sides, number)
    node = builder.add("map-values", lambda name: Project(name, keyed, values))
    own = [column.name for column in group.schema.key]
    if own == list(names):
        return node
    keys = tuple((name, ColumnRef(of)) for name, of in zip(names, own, strict=True))
    renamed = builder.add("select-key", lambda name: SelectKey(name, node, keys))
    same = tuple((name, ColumnRef(name)) for name, _ in values)
    return builder.add("map-values", lambda name: Project(name, renamed, same))


def _values(sides: Sequence[Side], number: int) -> tuple[Named, ...]:
    found: list[Named] = [(INPUT, literal(number))]
    for place, side in enumerate(sides):
        for column in side.read:
            own = ColumnRef(column.name)
            value = own if place == number else Cast(literal(None), column.type)
            found.append((_wide_name(column.name, place), value))
    return tuple(found)


def _wide(step: Expression, number: int) -> Expression:
    def change(part: Expression) -> Expression | None:
        return ColumnRef(_wide_name(part.name, number)) if isinstance(part, ColumnRef) else None

    return rewrite(step, change)


def _wide_name(column: str, number: int) -> str:
    return f"{number}.{column}"
