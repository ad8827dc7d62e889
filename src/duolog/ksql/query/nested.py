"""Queries that a query reads from: (SELECT …) AS x, and WITH x AS (SELECT …).

    inner query ─▶ project ─▶ a source x, with the columns, the key and the window of the inner one's result

What is in a stream or table that CREATE … AS SELECT would make of the inner query is what the outer one reads; no topic
is written in between. A query that is named twice is computed twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Nested:
    """The result of an inner query, as a source: its name, columns and kind are in `info`."""

    info: SourceInfo
    node: Node
    sources: tuple[SourceInfo, ...]
    """What it reads itself, of the catalog; the left-most first."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query behind WITH, which may read from those before it."""

    query: exp.Expression
    columns: tuple[str, ...]
    before: "Mapping[str, NamedQuery]"


def named_queries(
    query: exp.Expression, around: Mapping[str, NamedQuery]
) -> Mapping[str, NamedQuery]:
    """Return the queries that a query may name: its own, and those of the query `around` it.

    Raises:
        SqlError: two of its own have one name.
    """
    known, own = dict(around), set()
    clause: exp.With | None = query.args.get("with_")
    if clause is None:
        return around
    for one in clause.expressions:
        if one.alias in own:
            raise SqlError(f"Two queries are called '{one.alias}'.", at=place_of(clause))
        own.add(one.alias)
        columns = tuple(name.name for name in one.args["alias"].args.get("columns") or ())
        known[one.alias] = NamedQuery(one.this, columns, dict(known))
    return known


def inner_query(
    table: exp.Expression, known: Mapping[str, NamedQuery]
) -> tuple[NamedQuery, str] | None:
    """Return the query that FROM or JOIN reads from and what it is called; None of a stream or table.

    Raises:
        SqlError: it is called nothing.
    """
    if isinstance(table, exp.Subquery):
        if not table.alias:
            raise SqlError(
                "A query in FROM needs a name.",
                at=place_of(table),
                hint="FROM (SELECT …) AS x",
            )
        return NamedQuery(table.this, (), known), table.alias
    if isinstance(table, exp.Table) and table.name in known:
        return known[table.name], table.name
    return None


def only_select(query: exp.Expression) -> exp.Select:
    """Return an inner query that can go on.

    Raises:
        SqlError: it is no single SELECT, or ends.
    """
    if not isinstance(query, exp.Select):
        word = type(query).__name__.upper()
        raise SqlError(f"A query that goes on cannot have {word}", at=place_of(query))
    limit = query.args.get("limit")
    if limit is not None:
        raise SqlError("A query that goes on cannot read from one with LIMIT", at=place_of(query))
    return query
