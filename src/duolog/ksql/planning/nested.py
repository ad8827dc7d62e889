"""Subqueries: (SELECT …) AS x, and WITH x AS (SELECT …).

    subquery ─▶ project ─▶ a source x, with columns, key and window of the subquery's result

The outer query reads what CREATE … AS SELECT would write for the subquery, without a topic in
between. A query that is named twice is computed twice.
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
    """Result of a subquery as a source; `info` has its name, columns and kind."""

    info: SourceInfo
    node: Node
    sources: tuple[SourceInfo, ...]
    """Sources in the catalog that it reads, from left to right."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query in WITH, which may read from those before it."""

    query: exp.Expression
    columns: tuple[str, ...]
    before: "Mapping[str, NamedQuery]"


def named_queries(
    query: exp.Expression, around: Mapping[str, NamedQuery]
) -> Mapping[str, NamedQuery]:
    """Return the named queries visible to a query: its own, and those of the enclosing query.

    Raises:
        SqlError: two of its own have the same name.
    """
    known, own = dict(around), set()
    clause: exp.With | None = query.args.get("with_")
    if clause is None:
        return around
    for one in clause.expressions:
        if one.alias in own:
            raise SqlError(f"Two queries in WITH have the name '{one.alias}'.", at=place_of(clause))
        own.add(one.alias)
        columns = tuple(name.name for name in one.args["alias"].args.get("columns") or ())
        known[one.alias] = NamedQuery(one.this, columns, dict(known))
    return known


def inner_query(
    table: exp.Expression, known: Mapping[str, NamedQuery]
) -> tuple[NamedQuery, str] | None:
    """Return the subquery that FROM or JOIN reads, and its alias; None for a stream or table.

    Raises:
        SqlError: the subquery has no alias.
    """
    if isinstance(table, exp.Subquery):
        if not table.alias:
            raise SqlError(
                "A subquery in FROM needs an alias.",
                at=place_of(table),
                hint="Write FROM (SELECT …) AS x.",
            )
        return NamedQuery(table.this, (), known), table.alias
    if isinstance(table, exp.Table) and table.name in known:
        return known[table.name], table.name
    return None


def only_select(query: exp.Expression) -> exp.Select:
    """Return a subquery that is allowed in a persistent query.

    Raises:
        SqlError: the subquery is not a single SELECT, or has a LIMIT.
    """
    if not isinstance(query, exp.Select):
        word = type(query).__name__.upper()
        raise SqlError(f"A continuous query cannot have {word}", at=place_of(query))
    limit = query.args.get("limit")
    if limit is not None:
        raise SqlError("A continuous query cannot read a subquery with LIMIT", at=place_of(query))
    return query
