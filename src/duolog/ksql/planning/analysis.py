"""The select items of a query, with their names; stars are expanded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from duolog.core.counts import counted
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.planning.sources import METADATA, PSEUDO, WINDOW_BOUNDS
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.formatting import formatted, quoted_name
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.types import Struct


class Item(NamedTuple):
    """Column of the result: name and expression."""

    name: str
    node: exp.Expression


def items_of(
    select: exp.Select,
    binder: Binder,
    first: Sequence[exp.Expression] = (),
    *,
    beside: bool = False,
) -> tuple[Item, ...]:
    """Return the columns that a query selects, with their names.

    `first` is the key that the query has assigned; it comes first where * is expanded. If `beside`
    is set, pseudo-columns such as ROWTIME may be selected under their own names: rows that are
    displayed may have them, topics may not.

    Raises:
        SqlError: a name is reserved, or * is of an unknown source.
    """
    return _Items(binder, tuple(first), beside).of(select.expressions)


@dataclass
class _Items:
    """Generates names for unnamed items, as ksqlDB's `ColumnNames` does.

    - KSQL_COL_n, with n from 0, skipping names of source columns,
    - for a field, its name in the STRUCT, followed by _n if that name is in use,
    - in a join, SOURCE_COLUMN for each column of a star and for columns that several sources have.
    """

    binder: Binder
    first: tuple[exp.Expression, ...]
    beside: bool = False
    counter: int = 0
    fields: dict[str, int] = field(default_factory=dict)

    @property
    def scope(self) -> SqlScope:
        return self.binder.scope

    def of(self, given: Sequence[exp.Expression]) -> tuple[Item, ...]:
        items: list[Item] = []
        for node in given:
            if isinstance(node, exp.Alias):
                items.append(Item(_alias(node), node.this))
            elif (spread := self._spread(node)) is not None:
                items += spread
            elif isinstance(node, exp.Column):
                items.append(self._column(node))
            else:
                items.append(Item(self._generated(node), node))
        return tuple(items)

    def _column(self, node: exp.Column) -> Item:
        found = self.scope.get(node)
        source = found.source if found else node.table
        having = {column.source for column in self.scope.columns if column.name == node.name}
        if len(having) > 1 and source:
            return Item(f"{source}_{node.name}", node)
        pseudo = found.pseudo if found else node.name in PSEUDO
        if pseudo and not self.beside:
            raise _reserved(node.name, node)
        return Item(node.name, node)

    def _generated(self, node: exp.Expression) -> str:
        taken = {column.name for column in self.scope.columns}
        if isinstance(node, nodes.Deref):
            name: str = node.args["name"].name
            seen = self.fields.get(name, int(name in taken))
            self.fields[name] = seen + 1
            return f"{name}_{seen}" if seen else name
        while f"KSQL_COL_{self.counter}" in taken:
            self.counter += 1
        self.counter += 1
        return f"KSQL_COL_{self.counter - 1}"

    def _spread(self, node: exp.Expression) -> list[Item] | None:
        """Expand a star to its columns; None for other expressions."""
        if isinstance(node, nodes.Deref) and isinstance(node.args["name"], exp.Star):
            return self._fields(node)
        if isinstance(node, exp.Star):
            return self._columns_of("")
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            if node.table not in self.scope.sources:
                raise SqlError(
                    f"'{node.table}' is not a valid stream/table name or alias.", at=place_of(node)
                )
            return self._columns_of(node.table)
        return None

    def _fields(self, node: nodes.Deref) -> list[Item]:
        of = self.binder.bind(node.this).type
        if not isinstance(of, Struct):
            raise SqlError(
                "Cannot dereference field * of a value that is not a STRUCT", at=place_of(node)
            )
        return [
            Item(
                name, nodes.Deref(this=node.this.copy(), name=exp.to_identifier(name, quoted=True))
            )
            for name, _ in of.fields
        ]

    def _columns_of(self, source: str) -> list[Item]:
        found: dict[str, Item] = {}
        for node in self.first:
            column = self.scope.get(node) if isinstance(node, exp.Column) else None
            name = self._starred(column) if column else self._generated(node)
            found[meaning(node, self.scope)] = Item(name, node)
        columns = [column for column in self.scope.columns if not column.pseudo]
        if self.first:
            # The previous key of the records follows the value columns.
            columns.sort(key=lambda column: column.key)
        for column in columns:
            if source in {"", column.source}:
                one = exp.column(_quoted(column.name), table=_quoted(column.source))
                found.setdefault(meaning(one, self.scope), Item(self._starred(column), one))
        return list(found.values())

    def _starred(self, column: Visible) -> str:
        """Return the name of a column in a star; in a join, prefixed with its source."""
        joined = column.source and len(self.scope.sources) > 1
        return f"{column.source}_{column.name}" if joined else column.name


def renamed(
    items: Sequence[Item], columns: Sequence[str], query: exp.Expression
) -> tuple[Item, ...]:
    """Rename the columns of a subquery as WITH x (a, b) says.

    Raises:
        SqlError: the number of names and columns differs.
    """
    if len(items) != len(columns):
        raise SqlError(
            f"WITH names {counted(len(columns), 'column')}, but the query selects {len(items)}.",
            at=place_of(query),
        )
    return tuple(Item(name, item.node) for name, item in zip(columns, items, strict=True))


def meaning(node: exp.Expression, scope: SqlScope) -> str:
    """Return a canonical text of an expression: equal texts mean equal values."""
    return _resolved(node, scope, qualified=True)


def error_text(node: exp.Expression, scope: SqlScope) -> str:
    """Format an expression for errors; with a single source, without its name."""
    return _resolved(node, scope, qualified=len(scope.sources) > 1)


def _resolved(node: exp.Expression, scope: SqlScope, *, qualified: bool) -> str:
    def resolve(part: exp.Expression) -> exp.Expression:
        found = scope.get(part) if isinstance(part, exp.Column) else None
        if found is None:
            return part
        table = _quoted(found.source) if qualified and found.source else None
        return exp.column(_quoted(found.name), table=table)

    return formatted(node.copy().transform(resolve))


def listed(texts: Sequence[str], word: str = "and") -> str:
    """Join texts as in a sentence.

    Example:
        >>> listed(["A", "B", "C"])
        'A, B and C'
    """
    return f" {word} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _alias(node: exp.Alias) -> str:
    if node.alias in WINDOW_BOUNDS:
        raise _reserved(node.alias, node)
    if node.alias in METADATA:
        raise SqlError(
            f"`{node.alias}` is a reserved column name. You cannot use it as an "
            "alias for a column.",
            at=place_of(node),
        )
    return str(node.alias)


def _reserved(name: str, node: exp.Expression) -> SqlError:
    return SqlError(
        f"Reserved column name in select: `{name}`. Please remove or alias the column.",
        at=place_of(node),
    )


def key_name(given: exp.Expression) -> str:
    """Return the name of a key column for errors; in a join, prefixed with its source."""
    if isinstance(given, exp.Column):
        return f"{given.table}_{given.name}" if given.table else str(given.name)
    return quoted_name(formatted(given))
