"""Read sources; each column gets a name that is unique in the query.

    CREATE STREAM s (id INT KEY, name STRING)   FROM s AS a     columns a.ID, a.NAME
    ROWTIME, ROWPARTITION, ROWOFFSET, headers   metadata; columns a.ROWTIME, … if they are stored
    ROWTOPIC                                    extension to ksqlDB: the topic of the record
    WINDOWSTART, WINDOWEND                      the bounds in a windowed key

Joins and tables store the metadata that a query uses.

A source of ksqlDB may have a column ROWTOPIC, which takes precedence; code that lists pseudo
columns asks the source. A global table is a separate source for each join with a stream, and a
projection before the join runs where that table is.
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
from duolog.ksql.planning.nested import Nested
from duolog.ksql.planning.steps import Steps
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

METADATA: Final[dict[str, tuple[Expression, Type]]] = {
    "ROWTIME": (RowTime(), BIGINT),
    "ROWPARTITION": (Metadata("partition"), INT),
    "ROWOFFSET": (Metadata("offset"), BIGINT),
}
"""Pseudo-columns of every source."""

"""Pseudo-column, unless a column has this name, as it may in ksqlDB."""

WINDOW_BOUNDS: Final = {"WINDOWSTART": BOUNDS[0].name, "WINDOWEND": BOUNDS[1].name}
"""Pseudo-columns of a windowed source, and their names in a windowed key."""

PSEUDO: Final = (*METADATA, *WINDOW_BOUNDS)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """Key column of records: its name in the plan, and the select items that may stand for it.

    For a join, `given` has the equal columns of both sides, the preferred one first: a projection
    must select one of them. They are written as in error messages.
    """

    name: str
    given: tuple[exp.Expression, ...]
    or_null: tuple[exp.Expression, ...] = ()
    """Those of `given` that are null if their side of a join is absent.

    They cannot be a key again.
    """
    note: str = ""
    """Text that is added to the error if the key is not selected."""
    expressions: frozenset[str] = frozenset()
    """Other expressions that a join has made equal to the key, as canonical texts."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Input of a query's clauses: a node, the columns that can be named, and the sources."""

    node: Node
    scope: SqlScope
    sources: tuple[SourceInfo, ...]
    """From left to right; the result takes its default formats from the first."""
    keys: tuple[KeyColumn, ...]
    """One for each key column of the node, without window bounds."""
    keyed_by: str = "key column"
    """Description of the key in errors: key column, join expression, grouping expression, …"""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads the sources of one query. `used` are the names of all columns in the query."""

    catalog: Catalog
    steps: Steps
    used: frozenset[str]
    every: bool = True
    """True if all columns are used, because of a star."""
    invalid_time: Invalid = "skip"
    """Action for a record whose timestamp column is invalid."""
    strict: bool = False
    """True if only ksqlDB's features are allowed."""
    nested: Callable[[exp.Expression], Nested | None] = lambda _table: None
    """Returns the subquery that a FROM or JOIN reads, or None."""

    def info(self, table: exp.Table) -> SourceInfo:
        """Return the source in FROM or JOIN.

        Raises:
            SqlError: the source does not exist.
        """
        inner = self.nested(table)
        return inner.info if inner else named(self.catalog.sources, table, "{} does not exist.")

    def read(
        self, table: exp.Table, *, joined: bool = False, stream_first: bool = False
    ) -> Relation:
        """Read a source.

        If it is `joined`, all columns that the query may name become value columns: metadata, as
        there are two records then, and the key, as one record may be absent. `stream_first` is set
        if a stream looks the table up; a global table is then copied to each task.
        """
        source, alias = self.info(table), table.alias or table.name
        inner = self.nested(table)
        beside = self._metadata_columns(source)
        if inner is not None:
            # Rows of a subquery have only a timestamp; other metadata is lost in joins and
            # aggregates.
            beside = {name: of for name, of in beside.items() if name == "ROWTIME"}
        everywhere = stream_first and source.is_global
        if everywhere:
            # A task does not know partition and offset of a global table's rows.
            beside = {name: of for name, of in beside.items() if name == "ROWTIME"}
        keeps = beside if joined or source.is_table else {}
        if not joined and source.is_table:
            # The timestamp of a table's rows is always available.
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
        """Return the window bounds; in a join, a star includes them, after the key."""
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
        """Return the key columns, which joined records also have in their value."""
        found: dict[str, tuple[Expression, Type]] = {
            column.name: (ColumnRef(_hidden(alias, column.name)), column.type)
            for column in source.key
        }
        return found | {
            name: (ColumnRef(bound), BIGINT) for name, bound in bounds.items() if self._uses(name)
        }

    def _uses(self, name: str) -> bool:
        return self.every or name in self.used

    def _metadata_columns(self, source: SourceInfo) -> dict[str, tuple[Expression, Type]]:
        """Return the metadata columns: all headers, and the pseudo-columns that the query names."""
        found: dict[str, tuple[Expression, Type]] = {
            column.name: (header_column(column), column.type) for column in source.headers
        }
        pseudo = dict(METADATA)
        if not self.strict and ROWTOPIC not in {column.name for column in source.columns}:
            pseudo[ROWTOPIC] = (Metadata("topic"), STRING)
        return found | {name: of for name, of in pseudo.items() if name in self.used}

    def _read(
        self, source: SourceInfo, keeps: dict[str, tuple[Expression, Type]], *, everywhere: bool
    ) -> Node:
        """Read a topic; a table whose metadata is stored is read as a stream first."""
        schema = source_schema(source)
        # A source without a key still has a key format, which a result with a key inherits.
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
        table = self.steps.add(
            "table",
            lambda name: kind(
                name, source.topic, schema, *formats, f"{name}-store", times, source.ttl_ms
            ),
        )
        self.steps.sources[table.name] = source.name
        return table

    def _streams(
        self,
        source: SourceInfo,
        schema: Schema,
        formats: tuple[Format, Format],
        times: SourceTimes,
    ) -> Node:
        """Read all topics of a stream and merge them."""

        def stream(topic: str) -> Node:
            return self.steps.add(
                "stream",
                lambda name: StreamSource(
                    name, topic, schema, *formats, times, is_pattern=source.is_pattern
                ),
            )

        streams = tuple(map(stream, source.topics))
        self.steps.sources.update({one.name: source.name for one in streams})
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
            # A join stores only columns that the query uses, as long as the records may match.
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
        """Return the changes of a table as a stream; a deleted row is a null value.

        Raises:
            SqlError: the source is a stream.
        """
        if not node.is_table:
            raise SqlError(
                f"CHANGES OF requires a table, but {source.name} is a stream.", at=place_of(table)
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
    """Return the timestamp expression of a column: the column, or its text parsed by a pattern."""
    read = ColumnRef(column.name)
    if dict(schema.columns)[column.name] != STRING or column.pattern is None:
        return read
    return Call(PREFIX + "STRINGTOTIMESTAMP", (read, Literal(column.pattern, STRING)))


def _times(source: SourceInfo, schema: Schema, invalid: Invalid) -> SourceTimes:
    if source.timestamp is None:
        return OWN_TIMES
    return SourceTimes(time_of(source.timestamp, schema), invalid)


def header_column(column: SqlColumn) -> Expression:
    """Return the expression of a header column."""
    if column.role == "HEADER":
        return Metadata("header", column.header)
    return Call(PREFIX + "HEADERS", (Metadata("headers"),))


def _inner(alias: str, name: str) -> str:
    return f"{alias}.{name}"


def _hidden(alias: str, name: str) -> str:
    """Return the name of a key column that also has a copy in the value."""
    return f"(key) {alias}.{name}"


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
