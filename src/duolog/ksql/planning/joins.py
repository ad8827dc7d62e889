"""Plan FROM a JOIN b ON …: the records of a query over several sources.

    a ─▶ keyed by its criterion ─┐
                                 ├─▶ join ─▶ join with the next source
    b ─▶ keyed by its criterion ─┘

    streams                within a time difference         both rekeyed if they have another key
    stream, table          by the table's primary key       the stream is rekeyed
    stream, global table   by the table's primary key       the stream keeps its key
    tables                 by both primary keys             or by another left column: a foreign key

The value of each record contains all columns of its source, including the key: an absent side has
nulls.

Source: ksqlDB's documentation of joins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sqlglot import exp

from duolog.ksql.catalog.format_support import ensure_formats
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.planning.analysis import meaning
from duolog.ksql.planning.join_criteria import Criterion, CriterionReader, Matched, ensure_tree
from duolog.ksql.planning.join_keys import (
    JoinKey,
    by_primary_key,
    ensure_key,
    in_order_of,
    is_key,
    join_keys_of,
    side_of,
)
from duolog.ksql.planning.join_limits import (
    ensure_no_window,
    ensure_windows_fit,
    no_repartitioning,
)
from duolog.ksql.planning.join_window import window_of
from duolog.ksql.planning.keys import synthetic
from duolog.ksql.planning.projection import FOREIGN_KEY, JOINING
from duolog.ksql.planning.sources import KeyColumn, Relation, SourceReader
from duolog.ksql.planning.steps import Steps, unused
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.cutting.joining import (
    StreamJoinOptions,
    join_by_foreign_key,
    join_streams,
    join_tables,
)
from duolog.plan.expressions import ColumnRef, Named, TableColumnRef
from duolog.plan.nodes import GlobalTableJoin, JoinKind, Node, SelectKey, StreamTableJoin
from duolog.plan.nodes.global_table import global_source

SYNTHETIC_NOTE: Final = (
    "\n{0} was added as a synthetic key column because the join criteria did not match "
    "any source column. "
    "This expression must be included in the projection and may be aliased."
)
_SIDE_NAMES: Final = {
    "INNER": "[INNER]",
    "LEFT": "LEFT [OUTER]",
    "RIGHT": "RIGHT [OUTER]",
    "FULL": "[FULL] OUTER",
}
_KINDS: Final[dict[str, JoinKind]] = {
    "INNER": "inner",
    "LEFT": "left",
    "RIGHT": "left",
    "FULL": "outer",
}
"""Kind of join node; RIGHT joins swap their sides."""


@dataclass(frozen=True, slots=True)
class Joiner:
    """Joins the sources of one query."""

    reader: SourceReader
    steps: Steps
    strict: bool = False
    """If true, refuse what ksqlDB refuses."""

    def relation(self, select: exp.Select) -> Relation:
        """Return the joined records of all sources.

        Raises:
            SqlError: the sources cannot be joined, or not in this way.
        """
        joins: list[exp.Join] = select.args["joins"]
        tables = [select.args["from_"].this, *(join.this for join in joins)]
        self._ensure_distinct(tables)
        relations: list[Relation] = []
        for table in tables:
            streams = any(not relation.node.is_table for relation in relations)
            relations.append(self.reader.read(table, joined=True, stream_first=streams))
        if self.strict:
            ensure_formats([relation.sources[0] for relation in relations], "JOIN")
        criteria = self._criteria(joins, relations)
        found = relations[0]
        for join, right, criterion in zip(joins, relations[1:], criteria, strict=True):
            found = self._joined(found, right, join, criterion)
        return found

    def _ensure_distinct(self, tables: Sequence[exp.Table]) -> None:
        """Raise a SqlError if two sources have the same alias or, in strict mode, are the same."""
        names = [self.reader.info(table).name for table in tables]
        aliases = [table.alias or table.name for table in tables]
        for at, table in enumerate(tables):
            if self.strict and names[at] in names[:at]:
                raise SqlError(
                    f"Can not join '{names[at]}' to '{names[at]}': self joins are not yet "
                    "supported."
                    if len(tables) == 2
                    else "N-way joins do not support multiple occurrences of the same source. "
                    f"Source: '{names[at]}'",
                    at=place_of(table),
                )
            if aliases[at] in aliases[:at]:
                raise SqlError(
                    f"Two sources of the query have the name '{aliases[at]}'.",
                    at=place_of(table),
                    hint="Give one of them an alias with AS.",
                )

    def _criteria(
        self, joins: Sequence[exp.Join], relations: Sequence[Relation]
    ) -> list[Criterion]:
        """Parse all ON clauses, so that errors in any of them come before errors of joins."""
        types = self.reader.catalog.types
        if self.strict:
            everything = sum((relation.scope.columns for relation in relations), ())
            names = sum((relation.scope.names for relation in relations), ())
            ensure_tree(relations[0], joins, SqlScope(everything, "JOIN ON", names))
        scope = relations[0].scope
        found = []
        for join, right in zip(joins, relations[1:], strict=True):
            scope = scope.joined(right.scope)
            comes = right.scope.sources[0]
            reader = CriterionReader(comes, scope.within("JOIN ON"), types, self.strict)
            found.append(reader.read(join.args["on"]))
        return found

    def _joined(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        if not is_global(right):
            ensure_windows_fit(left, right)
        kinds = left.node.is_table, right.node.is_table
        if kinds == (True, False):
            raise SqlError(
                "Invalid join order: table-stream joins are not supported; only stream-table "
                f"joins. Got {left.sources[0].name} {_SIDE_NAMES[side_of(join)]} JOIN "
                f"{right.sources[0].name}.",
                at=place_of(join),
            )
        criterion.ensure_types()
        if kinds == (True, True):
            return self._tables(left, right, join, criterion)
        if kinds == (False, True):
            return self._stream_and_table(left, right, join, criterion)
        return self._streams(left, right, join, criterion)

    def _streams(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        within = join.args.get("within")
        if within is None:
            raise SqlError(
                "Stream-Stream joins must have a WITHIN clause specified. None was provided.",
                at=place_of(join),
                hint="Set the maximal time difference of two records: WITHIN 1 HOUR.",
            )
        self._ensure_partitions(left, right)
        window = window_of(within, strict=self.strict)
        criterion = in_order_of(right, in_order_of(left, criterion, own="left"), own="right")
        given = join_keys_of(left, criterion, join)
        ensure_key(given, criterion)
        left = replace(left, node=self._keyed(left, criterion.lefts))
        right = replace(right, node=self._keyed(right, criterion.rights))
        if left.node.schema.window != right.node.schema.window:
            raise no_repartitioning(join)
        first, second = left, right
        if side_of(join) == "RIGHT":
            first, second, window = right, left, replace(window, window=window.window.reversed)
        options = StreamJoinOptions(
            _KINDS[side_of(join)], _values(first, second), window.window, window.eager
        )
        node = join_streams(self.steps, (first.node, second.node), options)
        return self._result(node, (left, right), join, given)

    def _stream_and_table(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        side = side_of(join)
        if side in {"RIGHT", "FULL"}:
            called = "Right" if side == "RIGHT" else "Full"
            raise SqlError(
                f"{called} outer joins between streams and tables (stream: left, table: right) are "
                "not supported.",
                at=place_of(join),
                hint="Use LEFT JOIN: a change of the table emits nothing.",
            )
        ensure_no_window(join, "Stream-Table")
        if is_global(right):
            return self._global(left, right, join, criterion)
        criterion = by_primary_key(
            right, criterion, "stream-table joins", "the table's primary key"
        )
        self._ensure_partitions(left, right)
        given = join_keys_of(left, criterion, join)
        ensure_key(given, criterion)
        stream = self._keyed(left, criterion.lefts)
        if stream.schema.window != right.node.schema.window:
            raise no_repartitioning(join)
        values, table = _values(left, right), right.node
        node = self.steps.add(
            "stream-table-join",
            lambda name: StreamTableJoin(
                name, stream, table, "left" if side == "LEFT" else "inner", values
            ),
        )
        return self._result(node, (left, right), join, given)

    def _global(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        """Join a stream with a global table; the records keep their key."""
        what, key = "joins with a global table", "the whole primary key of that table"
        criterion = by_primary_key(right, criterion, what, key)
        keys = tuple(matched.bound.expression for matched in criterion.lefts)
        kind: Literal["inner", "left"] = "left" if side_of(join) == "LEFT" else "inner"
        values = _values(left, right)
        node = self.steps.add(
            "global-join",
            lambda name: GlobalTableJoin(name, left.node, right.node, kind, keys, values),
        )
        return replace(
            left,
            node=node,
            scope=left.scope.joined(right.scope),
            sources=left.sources + right.sources,
        )

    def _tables(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        ensure_no_window(join, "Table-Table")
        key = "the primary key of the right input table"
        criterion = by_primary_key(right, criterion, "table-table joins", key)
        if not is_key(left, criterion.lefts):
            return self._foreign(left, right, join, criterion)
        self._ensure_partitions(left, right)
        given = join_keys_of(left, criterion, join)
        if left.node.schema.window != right.node.schema.window:
            raise no_repartitioning(join)
        first, second = (right, left) if side_of(join) == "RIGHT" else (left, right)
        node = join_tables(
            self.steps,
            (first.node, second.node),
            _KINDS[side_of(join)],
            _values(first, second),
        )
        return self._result(node, (left, right), join, given)

    def _foreign(
        self, left: Relation, right: Relation, join: exp.Join, criterion: Criterion
    ) -> Relation:
        """Join tables by a foreign key of the left one, whose primary key the result keeps."""
        if self.strict and len(left.sources) > 1:
            raise SqlError(
                "Invalid join condition: foreign-key table-table joins are not supported as part "
                f"of n-way joins. Got {criterion}.",
                at=place_of(join),
            )
        side = side_of(join)
        if side in {"RIGHT", "FULL"}:
            raise SqlError(
                f"{side} OUTER JOIN on a foreign key is not supported",
                at=place_of(join),
                hint="Use LEFT JOIN: a row of the right table alone would have no key.",
            )
        if right.node.schema.window is not None:
            raise no_repartitioning(join)
        keys = tuple(
            (f"(foreign) {key.name}", matched.bound.expression)
            for key, matched in zip(right.keys, criterion.lefts, strict=True)
        )
        node = join_by_foreign_key(
            self.steps,
            (left.node, right.node),
            "left" if side == "LEFT" else "inner",
            keys,
            _values(left, right),
        )
        scope = left.scope.joined(right.scope)
        keyed_by = FOREIGN_KEY if len(left.sources) == 1 else left.keyed_by
        return Relation(node, scope, left.sources + right.sources, left.keys, keyed_by)

    def _keyed(self, side: Relation, matched: Sequence[Matched]) -> Node:
        """Return the records of a stream, keyed by its side of the criterion."""
        node = side.node
        if is_key(side, matched):
            return node
        if node.schema.window is not None:
            raise no_repartitioning(matched[0].node)
        taken = set(node.schema.names)
        keys: list[Named] = []
        for one in matched:
            name = unused(f"(key) {meaning(one.node, side.scope)}", taken)
            taken.add(name)
            keys.append((name, one.bound.expression))
        return self.steps.add("select-key", lambda own: SelectKey(own, node, tuple(keys)))

    def _result(
        self,
        node: Node,
        sides: tuple[Relation, Relation],
        join: exp.Join,
        join_keys: Sequence[JoinKey],
    ) -> Relation:
        """Return the result of a join; `join_keys` are the source columns of each key column.

        A key column gets a name of its own if no source column has its value, or if either side may
        be absent.
        """
        columns = tuple(column for side in sides for column in side.scope.columns if column.source)
        taken = {column.name for column in columns}
        own: list[Visible] = []
        keys = []
        for key, given in zip(node.schema.inner_key, join_keys, strict=True):
            if given.columns and side_of(join) != "FULL":
                equal = given.expressions
                keys.append(KeyColumn(key.name, given.columns, given.or_null, expressions=equal))
                continue
            name = synthetic(taken)
            taken.add(name)
            own.append(Visible("", name, ColumnRef(key.name), key.type))
            column = exp.column(exp.to_identifier(name, quoted=True))
            keys.append(KeyColumn(key.name, (column,), note=SYNTHETIC_NOTE.format(name)))
        sources = sides[0].sources + sides[1].sources
        names = sides[0].scope.joined(sides[1].scope).names
        scope = SqlScope((*own, *columns), names=names)
        return Relation(node, scope, sources, tuple(keys), JOINING)

    def _ensure_partitions(self, left: Relation, right: Relation) -> None:
        """Raise a SqlError if the topics of a join by key have different numbers of partitions.

        Only in strict mode: Duolog sends records to the tasks of their keys.
        """
        if not self.strict:
            return
        counts = self.reader.catalog.partitions
        one, other = left.sources[0], right.sources[0]
        first, second = counts.get(one.topic), counts.get(other.topic)
        if first is not None and second is not None and first != second:
            raise SqlError(
                f"Can't join `{one.name}` with `{other.name}` since the number of partitions don't "
                f"match. `{one.name}` partitions = {first}; `{other.name}` partitions = {second}. "
                "Please repartition either one so that the number of partitions match."
            )


def is_global(side: Relation) -> bool:
    """Return true if each task has a full copy of the table."""
    return global_source(side.node) is not None


def _values(first: Relation, second: Relation) -> tuple[Named, ...]:
    """Return the value of joined records: the columns of both sides."""
    return (
        *((name, ColumnRef(name)) for name in _names(first)),
        *((name, TableColumnRef(name)) for name in _names(second)),
    )


def _names(side: Relation) -> list[str]:
    """Return the columns of a side that a query uses, without keys of previous joins."""
    columns = (column.expression for column in side.scope.columns if column.source)
    kept = {column.name for column in side.node.schema.value}
    return [one.name for one in columns if isinstance(one, ColumnRef) and one.name in kept]
