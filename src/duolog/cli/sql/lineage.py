"""Compute column lineage in a file of statements: from topics through streams to tables.

BY_AIRLINE (table, topic BY_AIRLINE)
  CARRIER   ◀ FLIGHTS.CARRIER
  LATE      ◀ FLIGHTS.DEP_DELAY
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.ksql.catalog.catalog import Catalog, SourceInfo
    from duolog.ksql.statements.state import PersistentQuery


@dataclass(frozen=True, slots=True)
class Column:
    """A column with the columns it is computed from, each with its stream or table."""

    name: str
    type: str
    key: bool
    origins: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A stream or table; without a query, its columns come from its topic."""

    name: str
    kind: str
    topic: str
    columns: tuple[Column, ...]
    queries: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Streams and tables that its columns are computed from."""
        return tuple(dict.fromkeys(name for one in self.columns for name, _ in one.origins))


def relations_of(text: str, catalog: "Catalog | None" = None) -> list[Relation]:
    """Return the streams and tables of a text in order, with the origins of their columns.

    `catalog` is the initial catalog; the statements change it.

    Raises:
        SqlError: a statement cannot be parsed or executed.
    """
    # Imported late to keep `duolog sql lineage --help` fast.
    from duolog.ksql.session import SqlSession  # noqa: PLC0415

    session = SqlSession(catalog)
    queries: dict[str, PersistentQuery] = {}
    for done in session.run(text):
        if done.query is not None:
            queries[done.query.id] = done.query
    return [
        _relation(source, [one for one in queries.values() if one.sink == source.name])
        for source in session.catalog.sources.values()
    ]


def _relation(source: "SourceInfo", queries: list["PersistentQuery"]) -> Relation:
    from duolog.ksql.syntax.types import sql_name  # noqa: PLC0415 - as above

    origins: dict[str, list[tuple[str, str]]] = {column.name: [] for column in source.columns}
    for query in queries:
        for name, found in _origins(query):
            origins[name] += found
    columns = tuple(
        Column(
            one.name,
            sql_name(one.type),
            one.role == "KEY",
            tuple(sorted(dict.fromkeys(origins[one.name]))),
        )
        for one in source.columns
    )
    ids = tuple(query.id for query in queries)
    return Relation(source.name, source.kind.lower(), source.topic_names, columns, ids)


def _origins(query: "PersistentQuery") -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the result columns of a query with their origins."""
    from duolog.plan.cutting.origins import origins_of  # noqa: PLC0415 - as above

    by_name = {one.name: one for one in query.planned.sources}
    for sink in query.planned.plan.sinks:
        # Window bounds are part of the key and not columns.
        for column in {one.name for one in query.planned.columns} & set(sink.parent.schema.names):
            found = []
            for source, name in origins_of(sink.parent, column):
                of = by_name[query.planned.read_by[source.name]]
                if name in {one.name for one in of.columns}:
                    found.append((of.name, name))
            yield column, found


def as_text(relations: Iterable[Relation]) -> Iterator[str]:
    """Yield lines of readable text."""
    for number, relation in enumerate(relations):
        if number:
            yield ""
        yield f"{relation.name} ({relation.kind} over topic {relation.topic})"
        widest = max((len(column.name) for column in relation.columns), default=0)
        for column in relation.columns:
            if relation.queries:
                origins = ", ".join(f"{name}.{of}" for name, of in column.origins) or "-"
            else:
                origins = f"topic {relation.topic}"
            yield f"  {column.name.ljust(widest)}  ◀ {origins}"


def as_json(relations: Iterable[Relation]) -> str:
    """Return a JSON array."""
    rows = [
        {
            "name": one.name,
            "kind": one.kind,
            "topic": one.topic,
            "queries": list(one.queries),
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "key": column.key,
                    "origins": [{"source": name, "column": of} for name, of in column.origins],
                }
                for column in one.columns
            ],
        }
        for one in relations
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)
