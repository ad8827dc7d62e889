"""Format results of SHOW, DESCRIBE and EXPLAIN, with data of the broker and running queries."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import Done, PersistentQuery, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.words import UNITS
from duolog.runtime.sql.answers import Answer, Message, Rows
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery

if TYPE_CHECKING:
    from duolog.engine.upgrades.upgrade_plan import UpgradePlan
    from duolog.runtime.sql.figures.query_figures import QueryFigures

_NOT_RUNNING: Final = {
    "STARTING": "no rows yet: query {query}, which writes table {table}, is starting; try again "
    "when SHOW QUERIES; reports RUNNING",
    "PAUSED": "no rows: query {query}, which writes table {table}, is paused; RESUME "
    "{query}; continues it",
    "ERROR": "no rows: query {query}, which writes table {table}, has failed; EXPLAIN "
    "{query}; shows why",
    "UNRESPONSIVE": "no rows: query {query}, which writes table {table}, is not running; SHOW "
    "QUERIES; shows why",
}
_INTERNAL = "_"
"""Prefix of internal topics, which ksqlDB lists only with ALL."""


def answers(done: Done) -> Iterator[Answer]:
    """Yield the result of a statement: its tables, or its message."""
    for table in done.rows:
        columns = tuple((name, "STRING") for name in table.columns)
        yield Rows(columns, iter(table.rows), title=table.title)
    if not done.rows:
        yield Message(done.message)


def with_reason(
    answer: Rows, sources: Iterable[SourceInfo], queries: Callable[[], list[LiveQuery]]
) -> Rows:
    """Return a result that can explain why it is empty: its table's query is not running."""
    made = {source.query: source.name for source in sources if source.is_table and source.query}
    if not made:
        return answer

    def why_none() -> str:
        for live in queries():
            if live.id in made and live.state in _NOT_RUNNING:
                return _NOT_RUNNING[live.state].format(query=live.id, table=made[live.id])
        return ""

    return replace(answer, why_none=why_none)


def shows_states(node: exp.Expression) -> bool:
    """Return true if a statement returns query states, which may have to be read from a topic."""
    if isinstance(node, nodes.Show):
        return node.args["kind"] == "QUERIES" or bool(node.args.get("extended"))
    return isinstance(node, nodes.Describe | nodes.Explain)


def with_states(
    queries: Mapping[str, PersistentQuery], live: Iterable[LiveQuery]
) -> dict[str, PersistentQuery]:
    """Return queries with their current states, errors and hosts."""
    found = {one.id: one for one in live}
    return {
        name: replace(
            query,
            state=found[name].state,
            error=found[name].error,
            error_kind=found[name].error_kind,
            error_at_ms=found[name].error_at_ms,
            jvm_group=found[name].group or query.jvm_group,
            host=found[name].host,
        )
        if name in found
        else query
        for name, query in queries.items()
    }


def upgrade(found: "UpgradePlan") -> Iterator[Rows]:
    """Yield the action for each store of a replaced query, and for its sources."""
    columns = tuple((name, "STRING") for name in ("Store", "Becomes", "Why"))
    yield Rows(columns, iter(found.stores()), title=f"Upgrade of {found.application_id}")
    columns = tuple((name, "STRING") for name in ("Property", "Value"))
    yield Rows(columns, iter(found.facts()), title="Upgrade")


def queries_of(state: SessionState, source: str) -> list[str]:
    """Return the ids of the queries that read or write a stream or table."""
    return [one.id for one in (*state.readers(source), *state.writers(source))]


def figures(found: "Mapping[str, QueryFigures]") -> Rows:
    """Return the figures of queries, by id; NULL for what is unknown."""
    columns = (
        *(("Query ID", "STRING"), ("Records in/s", "DOUBLE"), ("Records out/s", "DOUBLE")),
        *(("Lag", "BIGINT"), ("Lag trend", "STRING"), ("Lag (s)", "DOUBLE")),
        *(("Lag (s) trend", "STRING"), ("Errors", "BIGINT"), ("Rows", "BIGINT")),
        *(("State bytes", "BIGINT"), ("Restarts", "INTEGER"), ("Server", "STRING")),
    )
    rows = [
        (
            *(one.id, one.records_in.per_second, one.records_out.per_second),
            *(one.lag.records, one.lag.records_trend),
            None if one.lag.ms is None else one.lag.ms / 1000,
            *(one.lag.ms_trend, sum(one.errors.values())),
            sum(store.rows for store in one.stores) if one.stores else None,
            *(one.state_bytes, one.restarts, one.server),
        )
        for one in found.values()
    ]
    return Rows(columns, iter(rows), title="Figures")


def milliseconds(duration: nodes.Duration) -> int:
    """Return a duration in milliseconds."""
    return int(duration.this.name) * UNITS[duration.args["unit"].name]


def topics(
    node: nodes.Show, there: Mapping[str, list[int]], queries: Iterable[PersistentQuery]
) -> Rows:
    """Run SHOW TOPICS; `there` has the replicas of each partition, by topic."""
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
    columns = [
        ("Kafka Topic", "STRING"),
        ("Partitions", "INTEGER"),
        ("Partition Replicas", "STRING"),
    ]
    if extended:
        columns += [("Read by queries", "INTEGER"), ("Written by queries", "INTEGER")]
    return Rows(tuple(columns), iter(rows), title="Topics")
