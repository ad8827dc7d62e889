"""Answers of SHOW, DESCRIBE and EXPLAIN, with what only a broker and running queries know."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from duolog.ksql import nodes
from duolog.ksql.state import Done, PersistentQuery
from duolog.ksql.words import UNITS
from duolog.runtime.sql.answers import Answer, Message, Rows
from duolog.runtime.sql.keeper import LiveQuery

if TYPE_CHECKING:
    from duolog.engine.upgrades.upgrade import Upgrade

_INTERNAL = "_"
"""How names of topics begin that are no user's, as ksqlDB hides them without ALL."""


def answers(done: Done) -> Iterator[Answer]:
    """Yield what a statement has to say: tables, or its sentence."""
    for table in done.rows:
        columns = tuple((name, "STRING") for name in table.columns)
        yield Rows(columns, iter(table.rows), title=table.title)
    if not done.rows:
        yield Message(done.message)


def with_states(
    queries: Mapping[str, PersistentQuery], live: Iterable[LiveQuery]
) -> dict[str, PersistentQuery]:
    """Return queries with the states and errors that they have now."""
    found = {one.id: one for one in live}
    return {
        name: replace(query, state=found[name].state, error=found[name].error)
        if name in found
        else query
        for name, query in queries.items()
    }


def upgrade(found: "Upgrade") -> Iterator[Rows]:
    """Yield what becomes of each store of a query that another one replaces, and of what it reads."""
    columns = tuple((name, "STRING") for name in ("Store", "Becomes", "Why"))
    yield Rows(columns, iter(found.stores()), title=f"Upgrade of {found.application_id}")
    columns = tuple((name, "STRING") for name in ("Property", "Value"))
    yield Rows(columns, iter(found.facts()), title="Upgrade")


def milliseconds(duration: nodes.Duration) -> int:
    """Return how long a duration is."""
    return int(duration.this.name) * UNITS[duration.args["unit"].name]


def topics(
    node: nodes.Show, there: Mapping[str, list[int]], queries: Iterable[PersistentQuery]
) -> Rows:
    """Answer SHOW TOPICS; `there` are the replicas of each partition, by topic."""
    everything, extended = bool(node.args.get("all")), bool(node.args.get("extended"))
    known = list(queries)
    rows: list[tuple[object, ...]] = []
    for name, replicas in sorted(there.items()):
        if name.startswith(_INTERNAL) and not everything:
            continue
        row: tuple[object, ...] = (name, len(replicas), ", ".join(map(str, replicas)))
        if extended:
            reads = sum(
                any(s.topics_among((name,)) for s in query.planned.sources) for query in known
            )
            writes = sum(query.planned.topic == name for query in known)
            row = (*row, reads, writes)
        rows.append(row)
    columns = [("Kafka Topic", "STRING"), ("Partitions", "INTEGER"), ("Partition Replicas", "STRING")]  # fmt: skip
    if extended:
        columns += [("Read by queries", "INTEGER"), ("Written by queries", "INTEGER")]
    return Rows(tuple(columns), iter(rows), title="Topics")
