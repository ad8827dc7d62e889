"""Translate queries to DuckDB: FROM, subqueries, UNION and WITH.

Example:
    SELECT name FROM users WHERE id = 1     SELECT a0.c1 AS o0 FROM t7 AS a0 WHERE (a0.c0 = 1)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from sqlglot import exp

from duolog.core.counts import counted
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.catalog.hints import unknown_source
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.expressions.user_calls import with_functions
from duolog.ksql.planning.sources import WINDOW_BOUNDS
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import wider
from duolog.ksql.syntax.words import ROWTOPIC
from duolog.plan.types import BIGINT, INT, STRING, Type
from duolog.runtime.sql.duck.casts import cast
from duolog.runtime.sql.duck.clauses import Query, ResultColumn, limited, ordered
from duolog.runtime.sql.duck.expressions import Written
from duolog.runtime.sql.duck.selects import Relation, Selecting

TableOf = Callable[[SourceInfo], str]
"""Returns the DuckDB table with the rows of a source."""

_METADATA: Final[Mapping[str, Type]] = {
    ROWTOPIC: STRING,
    "ROWTIME": BIGINT,
    "ROWPARTITION": INT,
    "ROWOFFSET": BIGINT,
}


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """Column of a source's rows, named `c0`, `c1`, … in order."""

    name: str
    type: Type
    key: bool = False
    beside: bool = False
    """True for metadata, which is not part of *."""


def source_columns(source: SourceInfo) -> tuple[SourceColumn, ...]:
    """Return the columns of a source's rows: key, window bounds, value, headers, metadata."""
    bounds = WINDOW_BOUNDS if source.window is not None else ()
    return (
        *(SourceColumn(one.name, one.type, key=True) for one in source.key),
        *(SourceColumn(name, BIGINT, key=True) for name in bounds),
        *(SourceColumn(one.name, one.type) for one in (*source.value, *source.headers)),
        *(SourceColumn(name, _METADATA[name], beside=True) for name in _metadata_columns(source)),
    )


def _metadata_columns(source: SourceInfo) -> list[str]:
    """Return the metadata columns; ROWTOPIC only if no column has that name."""
    taken = {column.name for column in source.columns}
    return [name for name in _METADATA if name != ROWTOPIC or name not in taken]


@dataclass
class Translator:
    """Translates one statement; `sources` then has the sources that it reads.

    With `by_partition`, LIMIT without ORDER BY returns rows of a table by partition, then by key,
    as ksqlDB does; otherwise by key.
    """

    catalog: Catalog
    table_of: TableOf
    by_partition: bool = False
    sources: dict[str, SourceInfo] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def query(self, node: exp.Query) -> Query:
        """Translate the query of a statement.

        Raises:
            SqlError: it is invalid.
        """
        assert isinstance(node, exp.Expression), node
        with_functions(node, self.catalog.functions)
        return self._query(node, {}, None)

    def _query(self, node: exp.Query, named: Mapping[str, Query], outer: Selecting | None) -> Query:
        named = dict(named)
        if (with_ := node.args.get("with_")) is not None:
            for cte in with_.expressions:
                named[cte.alias] = self._named(cte, named, outer)
        match node:
            case exp.Subquery():
                return self._query(node.this, named, outer)
            case exp.SetOperation():
                return self._together(node, named, outer)
            case exp.Select():
                return self._select(node, named, outer)
            case _:
                raise AssertionError(type(node))

    def _named(self, cte: exp.CTE, named: Mapping[str, Query], outer: Selecting | None) -> Query:
        """Translate a query of WITH, which is inlined where it is used."""
        query = self._query(cte.this, named, outer)
        names = cte.args["alias"].args.get("columns") or ()
        if names and len(names) != len(query.columns):
            raise SqlError(
                f"{cte.alias} has {counted(len(query.columns), 'column')}, but "
                f"{counted(len(names), 'name')}",
                at=place_of(cte.args["alias"].this),
            )
        if not names:
            return query
        columns = tuple(
            ResultColumn(name.name, one.type)
            for name, one in zip(names, query.columns, strict=True)
        )
        return Query(query.sql, columns)

    def _select(
        self, select: exp.Select, named: Mapping[str, Query], outer: Selecting | None
    ) -> Query:
        def subquery(node: exp.Query, around: Selecting) -> Query:
            return self._query(node, named, around)

        relation = self._read(select.args["from_"].this, named, outer)
        for join in select.args.get("joins") or ():
            relation = self._joined(relation, join, named, outer)
        selecting = Selecting(
            select,
            SqlScope(relation.columns),
            self.catalog.types,
            subquery,
            outer,
            self._key_of(select, named, relation),
        )
        return selecting.query(relation)

    def _key_of(
        self, select: exp.Select, named: Mapping[str, Query], relation: Relation
    ) -> tuple[str, ...]:
        """Return what LIMIT orders rows by if the query reads a single table: its key."""
        table = select.args["from_"].this
        source = None if table.name in named else self.catalog.sources.get(table.name)
        if select.args.get("joins") or source is None or not source.is_table:
            return ()
        pseudo = [one for one in relation.columns if one.pseudo and one.name == "ROWPARTITION"]
        keys = [column for column in relation.columns if column.key]
        return tuple(str(one.expression) for one in (*pseudo * self.by_partition, *keys))

    def _read(
        self, node: exp.Expression, named: Mapping[str, Query], outer: Selecting | None
    ) -> Relation:
        """Translate a source in FROM: a stream or table, a query of WITH, or a subquery."""
        number = next(self._numbers)
        if isinstance(node, exp.Subquery):
            query = self._query(node.this, named, outer)
            return _of_query(query, number, node.alias or f"a{number}")
        alias = node.alias or node.name
        if node.name in named:
            return _of_query(named[node.name], number, alias)
        if node.name not in self.catalog.sources:
            raise unknown_source(self.catalog.sources, node)
        source = self.catalog.sources[node.name]
        self.sources[source.name] = source
        columns = tuple(
            Visible(
                alias,
                column.name,
                Written(f"a{number}.c{at}", column.type),
                column.type,
                pseudo=column.beside,
                key=column.key,
            )
            for at, column in enumerate(source_columns(source))
        )
        return Relation(f"{self.table_of(source)} AS a{number}", columns)

    def _joined(
        self,
        left: Relation,
        join: exp.Join,
        named: Mapping[str, Query],
        outer: Selecting | None,
    ) -> Relation:
        if join.args.get("within") is not None:
            raise SqlError(
                "Pull queries don't support WITHIN clauses.",
                at=place_of(join.args["within"]),
                hint="Compare the times in ON or in WHERE: ROWTIME is a column of each side.",
            )
        right = self._read(join.this, named, outer)
        taken = {column.source for column in left.columns}
        if (
            again := next((one.source for one in right.columns if one.source in taken), None)
        ) is not None:
            raise SqlError(
                f"Two sides of the join have the name {again}",
                at=place_of(join.this),
                hint=f"Use an alias: FROM {again} JOIN {again} AS other ON …",
            )
        both = (*left.columns, *right.columns)
        kind = "CROSS" if join.args.get("kind") == "CROSS" else (join.args.get("side") or "INNER")
        sql = f"{left.sql} {kind} JOIN {right.sql}"
        if (on := join.args.get("on")) is not None:
            whole = exp.Select()
            selecting = Selecting(
                whole,
                SqlScope(both),
                self.catalog.types,
                lambda node, around: self._query(node, named, around),
                outer,
            )
            sql += f" ON {selecting.condition('JOIN', on)}"
        return Relation(sql, both)

    def _together(
        self, node: exp.SetOperation, named: Mapping[str, Query], outer: Selecting | None
    ) -> Query:
        """Translate UNION, EXCEPT or INTERSECT; columns match by position, types are widened."""
        sides = [self._query(side, named, outer) for side in (node.this, node.expression)]
        left, right = sides
        if len(left.columns) != len(right.columns):
            raise SqlError(
                f"Both sides of {node.key.upper()} must have the same number of columns: "
                f"these have {len(left.columns)} and {len(right.columns)}",
                at=place_of(node),
            )
        types = [_common(a, b) for a, b in zip(left.columns, right.columns, strict=True)]
        word = node.key.upper() + ("" if node.args.get("distinct") else " ALL")
        sql = f"\n{word}\n".join(f"({_as_types(side, types)})" for side in sides)
        columns = tuple(
            ResultColumn(one.name, of) for one, of in zip(left.columns, types, strict=True)
        )
        clauses = []
        if (order := node.args.get("order")) is not None:
            clauses.append(ordered(order, columns, _no_expression))
        return Query("\n".join([sql, *clauses, *limited(node)]), columns)


def _of_query(query: Query, number: int, alias: str) -> Relation:
    columns = tuple(
        Visible(alias, column.name, Written(f"a{number}.o{at}", column.type), column.type)
        for at, column in enumerate(query.columns)
    )
    return Relation(f"({query.sql}) AS a{number}", columns)


def _common(left: ResultColumn, right: ResultColumn) -> Type:
    found = wider(left.type, right.type)
    if found is None:
        raise SqlError(
            f"Column {left.name} must have one type on both sides, not {left.type} and {right.type}"
        )
    return found


def _as_types(query: Query, types: list[Type]) -> str:
    if [column.type for column in query.columns] == types:
        return query.sql
    listed = ", ".join(
        f"{cast(f'u.o{at}', column.type, of)} AS o{at}"
        for at, (column, of) in enumerate(zip(query.columns, types, strict=True))
    )
    return f"SELECT {listed} FROM ({query.sql}) AS u"  # noqa: S608 - generated names


def _no_expression(node: exp.Expression) -> str:
    raise SqlError(
        "ORDER BY after UNION, EXCEPT or INTERSECT must name columns of the result",
        at=place_of(node),
    )
