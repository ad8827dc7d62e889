"""Sources as queries read them: their columns under names that no other column of the query has.

CREATE STREAM s (id INT KEY, name STRING)     FROM s AS a     columns a.ID, a.NAME
ROWTIME, ROWPARTITION, ROWOFFSET, headers     what stands beside the record; columns a.ROWTIME … where a join or a table
                                              must keep it
ROWTOPIC                                      beyond ksqlDB: the topic of the record
WINDOWSTART, WINDOWEND                        the bounds in a windowed key
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from duolog.core.windowed_key import WindowedKey
from duolog.ksql.catalog.catalog import Catalog, SourceInfo, SqlColumn, TimestampColumn
from duolog.ksql.catalog.formats import assumed_format
from duolog.ksql.catalog.hints import named
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.query.nested import Nested
from duolog.ksql.query.steps import Steps
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import ROWTOPIC
from duolog.plan.expressions import (
    Call,
    ColumnRef,
    Expression,
    Literal,
    Metadata,
    Named,
    RowTime,
    walk,
)
from duolog.plan.formats import NONE as NO_KEY
from duolog.plan.formats import Format
from duolog.plan.nodes import (
    GlobalTableSource,
    Merge,
    Node,
    Project,
    Rename,
    StreamSource,
    TableSource,
    ToStream,
    ToTable,
)
from duolog.plan.schema import BOUNDS, Schema
from duolog.plan.sql.registry import PREFIX
from duolog.plan.times import OWN_TIMES, Invalid, SourceTimes
from duolog.plan.types import BIGINT, INT, STRING, Column, Type

BESIDE: Final[dict[str, tuple[Expression, Type]]] = {
    "ROWTIME": (RowTime(), BIGINT),
    "ROWPARTITION": (Metadata("partition"), INT),
    "ROWOFFSET": (Metadata("offset"), BIGINT),
}
"""Pseudo columns that each source has."""

"""A pseudo column where no column is called so: ksqlDB's sources may have one."""

WINDOW_BOUNDS: Final = {"WINDOWSTART": BOUNDS[0].name, "WINDOWEND": BOUNDS[1].name}
"""Pseudo columns of a windowed source, and what they are in a windowed key."""

PSEUDO: Final = (*BESIDE, *WINDOW_BOUNDS)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column in the key of records: its name in the plan, and what a projection may call it.

    Of a join `given` are the sides that it is the value of, the one that is preferred first: a projection must have
    one of them. They are written as errors tell them.
    """

    name: str
    given: tuple[exp.Expression, ...]
    or_null: tuple[exp.Expression, ...] = ()
    """Those of `given` that are null where their side of a join is missing: no key of a further one."""
    note: str = ""
    """What an error says besides where it is missing."""
    expressions: frozenset[str] = frozenset()
    """Expressions other than columns, as `meaning` writes them, that a join has made equal to it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What the clauses of a query read: records of a node, the columns that they may name, the sources behind it."""

    node: Node
    scope: SqlScope
    sources: tuple[SourceInfo, ...]
    """The left-most first: formats of a result are those of this one where nothing is said."""
    keys: tuple[KeyColumn, ...]
    """One for each column of the node's key, but for the bounds of a window."""
    keyed_by: str = "key column"
    """What a key is, in errors: a key column, a join expression, a grouping expression …"""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads the sources of one query. `used` are the names of columns that stand anywhere in it."""

    catalog: Catalog
    steps: Steps
    used: frozenset[str]
    every: bool = True
    """Whether all columns are used, as a star stands for them."""
    invalid_time: Invalid = "skip"
    """What becomes of a record whose column of timestamps has none."""
    strict: bool = False
    """Whether there is only what ksqlDB has."""
    nested: Callable[[exp.Expression], Nested | None] = lambda _table: None
    """Says which query within the query a FROM or a JOIN reads from."""

    def info(self, table: exp.Table) -> SourceInfo:
        """Return the source that a FROM or a JOIN names.

        Raises:
            SqlError: there is none.
        """
        inner = self.nested(table)
        return inner.info if inner else named(self.catalog.sources, table, "{} does not exist.")

    def read(
        self, table: exp.Table, *, joined: bool = False, beside_stream: bool = False
    ) -> Relation:
        """Return the records of a source.

        Where it is `joined`, all that a query may name is a column of the value: what stands beside a record, as there
        are two records then, and its key, as one of them may be missing. `beside_stream`: a stream looks it up, so that
        a global table is read into each task.
        """
        source, alias = self.info(table), table.alias or table.name
        inner = self.nested(table)
        beside = self._beside(source)
        if inner is not None:
            # Its rows have a time; where they came from nobody can tell behind a join or an aggregate.
            beside = {name: of for name, of in beside.items() if name == "ROWTIME"}
        everywhere = beside_stream and source.is_global
        if everywhere:
            # Where its rows stood in their topic no task knows.
            beside = {name: of for name, of in beside.items() if name == "ROWTIME"}
        keeps = beside if joined or source.is_table else {}
        if not joined and source.is_table:
            # The time of a row is known of tables too, wherever it is computed.
            keeps = {name: found for name, found in keeps.items() if name != "ROWTIME"}
        bounds = WINDOW_BOUNDS if source.window is not None else {}
        if joined:
            keeps = keeps | self._key(source, alias, bounds)
        read = inner.node if inner is not None else self._read(source, keeps, everywhere=everywhere)
        node = self._source_node(read, source, alias, keeps, hidden=joined)
        if table.args.get("changes") is not None:
            node = self._changes(node, source, table)
        headers = {column.name for column in source.headers}
        visible = [
            Visible(
                alias,
                column.name,
                ColumnRef(_inner(alias, column.name)),
                column.type,
                key=column.role == "KEY" and not joined,
            )
            for column in (*source.key, *source.value)
        ]
        visible[len(source.key) : len(source.key)] = self._bounds(alias, bounds, joined=joined)
        visible += [
            Visible(
                alias,
                name,
                ColumnRef(_inner(alias, name)) if name in keeps else expression,
                of,
                pseudo=name not in headers,
            )
            for name, (expression, of) in beside.items()
        ]
        keys = tuple(
            KeyColumn(
                _hidden(alias, column.name) if joined else _inner(alias, column.name),
                (exp.column(_quoted(column.name), table=_quoted(alias) if joined else None),),
            )
            for column in source.key
        )
        scope = SqlScope(tuple(visible), names=(source.name,))
        return Relation(node, scope, (source,), keys)

    def _bounds(self, alias: str, bounds: Mapping[str, str], *, joined: bool) -> list[Visible]:
        """Return the bounds of a window; in a join a star has them too, behind the key."""
        return [
            Visible(
                alias,
                name,
                ColumnRef(_inner(alias, name) if joined else bound),
                BIGINT,
                pseudo=not (joined and self.every),
            )
            for name, bound in bounds.items()
            if not joined or self._uses(name)
        ]

    def _key(
        self, source: SourceInfo, alias: str, bounds: Mapping[str, str]
    ) -> dict[str, tuple[Expression, Type]]:
        """Return the columns of a key, of which a record that is joined has a copy in its value."""
        found: dict[str, tuple[Expression, Type]] = {
            column.name: (ColumnRef(_hidden(alias, column.name)), column.type)
            for column in source.key
        }
        return found | {
            name: (ColumnRef(bound), BIGINT) for name, bound in bounds.items() if self._uses(name)
        }

    def _uses(self, name: str) -> bool:
        return self.every or name in self.used

    def _beside(self, source: SourceInfo) -> dict[str, tuple[Expression, Type]]:
        """Return what stands beside records of a source: headers all, the others as far as the query names them."""
        found: dict[str, tuple[Expression, Type]] = {
            column.name: (header_column(column), column.type) for column in source.headers
        }
        pseudo = dict(BESIDE)
        if not self.strict and ROWTOPIC not in {column.name for column in source.columns}:
            pseudo[ROWTOPIC] = (Metadata("topic"), STRING)
        return found | {name: of for name, of in pseudo.items() if name in self.used}

    def _read(
        self, source: SourceInfo, keeps: dict[str, tuple[Expression, Type]], *, everywhere: bool
    ) -> Node:
        """Return the records of a topic; a table's are a stream where what stands beside them is kept."""
        schema = source_schema(source)
        # What has no key has the format of one all the same: a result with a key inherits it.
        key_format = assumed_format(source.key_format, source.key) if source.key else NO_KEY
        formats = key_format, assumed_format(source.value_format, source.value)
        times = _times(source, schema, self.invalid_time)
        as_stream = not source.is_table or any(
            isinstance(part, Metadata)
            for expression, _ in keeps.values()
            for part in walk(expression)
        )
        if as_stream:
            return self._streams(source, schema, formats, times)
        kind = GlobalTableSource if everywhere else TableSource
        return self.steps.add(
            "table",
            lambda name: kind(
                name, source.topic, schema, *formats, f"{name}-store", times, source.ttl_ms
            ),
        )

    def _streams(
        self,
        source: SourceInfo,
        schema: Schema,
        formats: tuple[Format, Format],
        times: SourceTimes,
    ) -> Node:
        """Return the records of all topics of a stream, as one."""

        def stream(topic: str) -> Node:
            return self.steps.add(
                "stream",
                lambda name: StreamSource(
                    name, topic, schema, *formats, times, is_pattern=source.is_pattern
                ),
            )

        streams = tuple(map(stream, source.topics))
        if len(streams) == 1:
            return streams[0]
        return self.steps.add("merge", lambda name: Merge(name, streams))

    def _source_node(
        self,
        read: Node,
        source: SourceInfo,
        alias: str,
        keeps: dict[str, tuple[Expression, Type]],
        *,
        hidden: bool,
    ) -> Node:
        keyed = _hidden if hidden else _inner
        keys = tuple(keyed(alias, column.name) for column in source.key)
        values = tuple(_inner(alias, column.name) for column in source.value)
        node: Node = self.steps.add("names", lambda name: Rename(name, read, keys, values))
        if hidden and not self.every:
            # A join stores what it may need of both sides, for as long as they may meet.
            keeps = {name: of for name, of in keeps.items() if name in self.used}
            values = tuple(_inner(alias, one.name) for one in source.value if one.name in self.used)
        if keeps or hidden:
            node = self._with_columns(node, values, alias, keeps)
        if source.is_table and not node.is_table:
            stream = node
            node = self.steps.add(
                "table", lambda name: ToTable(name, stream, f"{name}-store", source.ttl_ms)
            )
        return node

    def _changes(self, node: Node, source: SourceInfo, table: exp.Table) -> Node:
        """Return the changes of a table as the records of a stream; a row that is deleted is a null value.

        Raises:
            SqlError: it is a stream.
        """
        if not node.is_table:
            raise SqlError(
                f"{source.name} is a stream: CHANGES OF is of tables.", at=place_of(table)
            )
        return self.steps.add("changes", lambda name: ToStream(name, node))

    def _with_columns(
        self,
        node: Node,
        names: Sequence[str],
        alias: str,
        more: dict[str, tuple[Expression, Type]],
    ) -> Node:
        values: list[Named] = [(name, ColumnRef(name)) for name in names]
        values += [(_inner(alias, name), expression) for name, (expression, _) in more.items()]
        return self.steps.add("columns", lambda name: Project(name, node, tuple(values)))


def source_schema(source: SourceInfo) -> Schema:
    """Return the schema of the records in a source's topic."""
    key = tuple(Column(one.name, one.type) for one in source.key)
    value = tuple(Column(one.name, one.type) for one in source.value)
    if source.window is None:
        return Schema(key, value)
    return Schema(key + BOUNDS, value, WindowedKey(source.window.size_ms))


def time_of(column: TimestampColumn, schema: Schema) -> Expression:
    """Return the timestamp that a column of `schema` says: itself, or the text that it has, read."""
    read = ColumnRef(column.name)
    if dict(schema.columns)[column.name] != STRING or column.pattern is None:
        return read
    return Call(PREFIX + "STRINGTOTIMESTAMP", (read, Literal(column.pattern, STRING)))


def _times(source: SourceInfo, schema: Schema, invalid: Invalid) -> SourceTimes:
    if source.timestamp is None:
        return OWN_TIMES
    return SourceTimes(time_of(source.timestamp, schema), invalid)


def header_column(column: SqlColumn) -> Expression:
    """Return what a column of headers is computed by."""
    if column.role == "HEADER":
        return Metadata("header", column.header)
    return Call(PREFIX + "HEADERS", (Metadata("headers"),))


def _inner(alias: str, name: str) -> str:
    return f"{alias}.{name}"


def _hidden(alias: str, name: str) -> str:
    """Return what a column of a key is called that has a copy in the value."""
    return f"(key) {alias}.{name}"


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
