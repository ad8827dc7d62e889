"""Translate one SELECT to DuckDB: bind its clauses by ksqlDB's rules, and write them in its SQL.

Input columns have generated names (`a0.c3`), and so have output columns (`o0`, `o1`, …), because
SQL names here differ by case and DuckDB's do not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.expressions.user_calls import user_function
from duolog.ksql.planning.analysis import error_text, items_of, meaning
from duolog.ksql.planning.table_functions import array_of, ensure_not_in_case, is_table_function
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.rows_parser import ROWS_ONLY
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import BOOLEAN, NULL, STRING, Type, numeric
from duolog.runtime.sql.duck.aggregate_calls import (
    bound_sql,
    call_of,
    call_of_user,
    children_of,
    has_aggregate,
    has_window,
    is_aggregate,
    nested,
)
from duolog.runtime.sql.duck.aggregates import (
    AGGREGATES,
    OVER_ONLY,
)
from duolog.runtime.sql.duck.clauses import (
    Query,
    ResultColumn,
    column_at,
    condition,
    ensure_distinct,
    frame,
    limited,
    number_of,
    ordered,
)
from duolog.runtime.sql.duck.expressions import Lowered, Written, lowered
from duolog.runtime.sql.duck.offsets import BY_OFFSET, by_offset

_SEES_ALIASES: Final = ("HAVING", "QUALIFY", "ORDER BY")
"""Clauses that may use aliases of select items."""
_ADD_EMIT: Final = "Add EMIT CHANGES if you intended to issue a push query."


@dataclass(frozen=True, slots=True)
class Relation:
    """Input of FROM: DuckDB's SQL, and the columns in scope."""

    sql: str
    columns: tuple[Visible, ...]


Subquery = Callable[[exp.Query, "Selecting"], Query]
"""Translates a subquery, which may use columns of the outer query."""


@dataclass
class Selecting:
    """Translates one SELECT over its input."""

    select: exp.Select
    scope: SqlScope
    types: Mapping[str, Type]
    subquery: Subquery
    outer: "Selecting | None" = None
    key: tuple[str, ...] = ()
    """Key of the rows, if there is one, which orders them for LIMIT without ORDER BY."""
    _groups: dict[str, Bound] = field(default_factory=dict)
    _aggregated: bool = False

    def query(self, relation: Relation) -> Query:
        """Translate the SELECT over its relation.

        Raises:
            SqlError: it is invalid.
        """
        self._ensure_answerable()
        items = items_of(self.select, self._binder("SELECT"), beside=True)
        clauses = self._clauses_before(relation)
        ensure_not_in_case(items)
        outputs = [self._lowered("SELECT", item.node) for item in items]
        columns = tuple(
            ResultColumn(item.name, STRING if one.type == NULL else one.type)
            for item, one in zip(items, outputs, strict=True)
        )
        ensure_distinct(columns)
        distinct = "DISTINCT " if self.select.args.get("distinct") else ""
        listed = ", ".join(f"{one.sql} AS o{at}" for at, one in enumerate(outputs))
        rows = "\n".join(clauses[:1] if self.select.args.get("where") is None else clauses[:2])
        clauses = [f"SELECT {distinct}{listed}", *clauses, *self._clauses_after(columns)]
        sql = "\n".join(clauses)
        return Query(sql, columns, rows if sql.count("SELECT") == 1 else "")

    def _clauses_before(self, relation: Relation) -> list[str]:
        clauses = [f"FROM {relation.sql}"]
        if (where := self.select.args.get("where")) is not None:
            clauses.append(f"WHERE {self.condition('WHERE', where.this)}")
        group = self.select.args.get("group")
        asked = [*self.select.expressions, *_under(self.select, "having", "order", "qualify")]
        if group is not None:
            texts = [self._group(node) for node in group.expressions]
            clauses.append(f"GROUP BY {', '.join(texts)}")
        self._aggregated = group is not None or any(
            has_aggregate(node, over=False) for node in asked
        )
        if (having := self.select.args.get("having")) is not None:
            self._aggregated = True
            clauses.append(f"HAVING {self.condition('HAVING', having.this)}")
        if (qualify := self.select.args.get("qualify")) is not None:
            clauses.append(f"QUALIFY {self.condition('QUALIFY', qualify.this)}")
        return clauses

    def _clauses_after(self, columns: Sequence[ResultColumn]) -> list[str]:
        clauses = []
        if (order := self.select.args.get("order")) is not None:
            clauses.append(ordered(order, columns, self._order_item))
        elif self._asks_for_some:
            clauses.append(f"ORDER BY {', '.join(self.key)}")
        return clauses + limited(self.select)

    @property
    def _asks_for_some(self) -> bool:
        """True if LIMIT has no ORDER BY, and the first rows by key are returned."""
        args = self.select.args
        plain = not self._aggregated and not args.get("distinct")
        return bool(self.key) and plain and args.get("limit") is not None

    def _group(self, node: exp.Expression) -> str:
        """Bind a grouping expression, which may be the number or the alias of a select item."""
        if (number := number_of(node)) is not None:
            item = self.select.expressions[column_at(number, node, len(self.select.expressions))]
            node = item.this if isinstance(item, exp.Alias) else item
        elif isinstance(node, exp.Column) and self.scope.get(node) is None:
            node = self._aliases.get(node.name, node)
        bound = self._binder("GROUP BY").bind(node)
        sql = lowered(bound.expression).sql
        self._groups[meaning(node, self.scope)] = Bound(Written(sql, bound.type), bound.type)
        return sql

    @property
    def _aliases(self) -> dict[str, exp.Expression]:
        items = self.select.expressions
        return {one.alias: one.this for one in items if isinstance(one, exp.Alias)}

    def _order_item(self, node: exp.Expression) -> str:
        return self._lowered("ORDER BY", node).sql

    def condition(self, clause: str, node: exp.Expression) -> str:
        """Return a condition in DuckDB's SQL."""
        return condition(self._binder(clause).condition(node))

    def _lowered(self, clause: str, node: exp.Expression) -> Lowered:
        return lowered(self._binder(clause).bind(node).expression)

    def _binder(self, clause: str) -> Binder:
        aggregated = self._aggregated and clause != "WHERE"
        return Binder(
            self.scope.within(clause), self.types, self._rule(clause, aggregated=aggregated)
        )

    def _rule(
        self, clause: str, *, aggregated: bool, inside: str = "", over: bool = False
    ) -> Callable[[exp.Expression], Bound | None]:
        """Return a rule for expressions that the binder does not know.

        `inside` is the name of the enclosing aggregate, `over` is true if that has OVER.
        """

        def rule(node: exp.Expression) -> Bound | None:
            if isinstance(node, exp.Subquery):
                return self._scalar(node)
            if isinstance(node, exp.Exists):
                query = self.subquery(node.this, self)
                return bound_sql(f"EXISTS ({query.sql})", BOOLEAN)
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                return self._among(clause, node)
            makes_rows = isinstance(node, exp.Anonymous) and is_table_function(node)
            if makes_rows or isinstance(node, exp.Window | exp.Filter) or is_aggregate(node):
                if inside and not makes_rows and (isinstance(node, exp.Window) or not over):
                    raise nested(node, inside)
                return (
                    self._rows_of(clause, node, inside=inside)
                    if makes_rows
                    else self._called(clause, node, aggregated=aggregated)
                )
            if aggregated and not node.find(*ROWS_ONLY):
                if (found := self._groups.get(meaning(node, self.scope))) is not None:
                    return found
                if isinstance(node, exp.Column) and self.scope.get(node) is not None:
                    raise SqlError(
                        f"Non-aggregate {clause} expression(s) not part of GROUP BY: "
                        f"{error_text(node, self.scope)}",
                        at=place_of(node),
                    )
            return self._column(clause, node) if isinstance(node, exp.Column) else None

        return rule

    def _column(self, clause: str, node: exp.Column) -> Bound | None:
        """Return a column of an outer query; None if the scope has it, or no query does."""
        if self.scope.get(node) is not None:
            return None
        if clause in _SEES_ALIASES and not node.table and node.name in self._aliases:
            return self._binder(clause).bind(self._aliases[node.name])
        around = self.outer
        while around is not None:
            if (found := around.scope.get(node)) is not None:
                return Bound(found.expression, found.type)
            around = around.outer
        return None

    def _scalar(self, node: exp.Subquery) -> Bound:
        query = self.subquery(node.this, self)
        if len(query.columns) != 1:
            raise SqlError(
                f"A subquery in an expression must return one column, not {len(query.columns)}",
                at=place_of(node),
            )
        return bound_sql(f"({query.sql})", query.columns[0].type)

    def _among(self, clause: str, node: exp.In) -> Bound:
        query = self.subquery(node.args["query"].this, self)
        given = self._lowered(clause, node.this)
        if len(query.columns) != 1:
            raise SqlError("A subquery after IN must return one column", at=place_of(node))
        found = query.columns[0].type
        if given.type != found and not (numeric(given.type) and numeric(found)):
            raise SqlError(
                f"Error in {clause} expression: Cannot compare {error_text(node.this, self.scope)} "
                f"({sql_name(given.type)}) to the result of the subquery after IN "
                f"({sql_name(found)}).",
                at=place_of(node),
            )
        return bound_sql(f"coalesce({given.sql} IN ({query.sql}), false)", BOOLEAN)

    def _called(self, clause: str, node: exp.Expression, *, aggregated: bool) -> Bound:
        """Return the call of an aggregate, optionally with FILTER and OVER."""
        window = node if isinstance(node, exp.Window) else None
        call = node.this if window else node
        where = None
        if isinstance(call, exp.Filter):
            where, call = call.expression.this, call.this
        name = str(call.this).upper() if isinstance(call, exp.Anonymous) else ""
        of_user = user_function(call)
        found = AGGREGATES.get(name) or (OVER_ONLY.get(name) if window else None)
        if found is None and name not in BY_OFFSET and of_user is None:
            raise SqlError(f"'{name}' is not an aggregate function", at=place_of(call))
        if clause in {"WHERE", "GROUP BY", "JOIN"}:
            raise SqlError(f"{clause} cannot have an aggregate function: {name}", at=place_of(call))
        # Arguments are over rows. Without GROUP BY, a window is over rows too; otherwise over
        # groups.
        inside = Binder(
            self.scope.within(clause),
            self.types,
            self._rule(
                clause,
                aggregated=aggregated and window is not None,
                inside=name,
                over=window is not None,
            ),
        )
        suffix = f" FILTER (WHERE {condition(inside.condition(where))})" if where else ""
        if window:
            suffix += f" OVER ({self._window(window, inside)})"
        assert isinstance(call, exp.Anonymous), call
        if of_user is not None:
            return call_of_user(call, inside, suffix)
        if found is None:
            value = lowered(inside.bind(call.expressions[0]).expression)
            return bound_sql(*by_offset(call, *value, self.scope.columns, suffix))
        return call_of(found, name, call, inside, suffix)

    def _rows_of(self, clause: str, node: exp.Expression, *, inside: str) -> Bound:
        """Return the element of a table function; DuckDB's UNNEST makes one row for each."""
        assert isinstance(node, exp.Anonymous), node
        name = str(node.this).upper()
        if clause != "SELECT":
            raise SqlError(
                f"Table functions are only allowed in SELECT, and {name} is in {clause}",
                at=place_of(node),
                hint="Use a subquery: FROM (SELECT … ) AS x.",
            )
        if inside or self._aggregated or any(map(has_window, self.select.expressions)):
            raise SqlError(
                f"Table functions cannot be used with aggregations: {name}",
                at=place_of(node),
                hint="Compute one of them in a subquery: FROM (SELECT … ) AS x.",
            )
        array, of = array_of(node, self._binder(clause))
        return bound_sql(f"UNNEST({lowered(array).sql})", of.element)

    def _window(self, window: exp.Window, binder: Binder) -> str:
        def one(node: exp.Expression) -> str:
            return lowered(binder.bind(node).expression).sql

        parts = []
        if by := window.args.get("partition_by"):
            parts.append(f"PARTITION BY {', '.join(map(one, by))}")
        if order := window.args.get("order"):
            parts.append(ordered(order, (), one))
        if spec := window.args.get("spec"):
            parts.append(frame(spec))
        return " ".join(parts)

    def _ensure_answerable(self) -> None:
        args = self.select.args
        clauses = {"stream_window": "WINDOW", "partition_by": "PARTITION BY", "emit": "EMIT"}
        for key, clause in clauses.items():
            if args.get(key) is not None:
                raise SqlError(
                    f"Pull queries don't support {clause} clauses.",
                    at=place_of(args[key]),
                    hint=_ADD_EMIT,
                )


def _under(select: exp.Select, *keys: str) -> Iterator[exp.Expression]:
    for key in keys:
        if (found := select.args.get(key)) is not None:
            yield from children_of(found)
