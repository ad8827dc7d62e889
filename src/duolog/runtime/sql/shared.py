"""Share streams and tables between topologies and SQL, by name.

    topology ─ sql_declare ─▶ CREATE … over its topics ─▶ catalog ─ sql_stream, … ─▶ topology

They share topics: formats, keys, windows and timestamps are those of the side that writes them.
"""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from duolog.core.errors import StatementError
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.starting import Begin
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.catalog.declarations import declaration, name_of
from duolog.ksql.catalog.formats import OF_A_REGISTRY, plan_format
from duolog.ksql.catalog.hints import closest
from duolog.ksql.planning.sources import header_column, source_schema, time_of
from duolog.ksql.session import SqlSession
from duolog.plan.formats import NONE as NO_KEY
from duolog.plan.nodes import Plan, Sink
from duolog.plan.nodes.topics import Source
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.result_topics import create_result_topics
from duolog.runtime.sql.asking import BOOTSTRAP, sql
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.engine import DEFAULT_SERVICE
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import brokers_of

if TYPE_CHECKING:
    from duolog.dsl.streams import Stream, Table
    from duolog.dsl.topology import Topology


def sql_statements(topology: "Topology", names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the statements that declare topics of a topology in SQL, by SQL name.

    Columns keep their names; those that are not upper case are quoted by ` in SQL.

    Args:
        topology: its written topics, and the topics it reads by name, are included. A table that
            is not written to a topic is not.
        names: SQL names of topics, as written in SQL: {"by-city": "totals"}; other topics are left
            out. None: all topics, by their names in upper case, `by-city` as BY_CITY.

    Raises:
        StatementError: there is no such topic, two have the same name, or SQL cannot express how
            one is read.

    Example:
        >>> from duolog import Topology
        >>> topology = Topology("visits")
        >>> visits = topology.stream("visits", key="user STRING", value="place STRING")
        >>> visits.group_by_key().count("visits").to("by-user")
        >>> statement = sql_statements(topology, {"by-user": "by_user"})["BY_USER"]
        >>> print(statement.partition(" WITH ")[0])
        CREATE OR REPLACE TABLE BY_USER (`user` STRING PRIMARY KEY, `visits` BIGINT)
    """
    nodes = _topics_of(topology.build())
    if names is None:
        names = {topic: f"`{name_of(topic)}`" for topic in nodes}
    if missing := [topic for topic in names if topic not in nodes]:
        raise StatementError(
            f'topology "{topology.name}" has no topic "{missing[0]}"',
            detail=f"It reads and writes {', '.join(nodes)}.",
        )
    made: dict[str, str] = {}
    for topic, written in names.items():
        name = _name(written)
        if name in made:
            raise StatementError(
                f'two topics have the name "{name}" in SQL',
                detail=f"{', '.join(names)}.",
                hint='Pass names for them: names={"by-city": "by_city"}.',
            )
        made[name] = declaration(nodes[topic], topic, name)
    return made


def sql_declare(
    topology: "Topology",
    names: Mapping[str, str] | None = None,
    *,
    bootstrap: Brokers | str = BOOTSTRAP,
    data: Path | str | None = None,
    service_id: str = DEFAULT_SERVICE,
) -> list[str]:
    """Declare topics of a topology in SQL; return their SQL names.

    Missing topics that the topology writes are created as its application would create them; it
    need not run. Existing streams and tables, under any name, stay as they are, except that new
    columns are added.

    Args:
        topology: as for `sql_statements`, whose statements are run.
        names: as for `sql_statements`.
        bootstrap: the broker.
        data: as for `duolog.sql`.
        service_id: selects the catalog.

    Raises:
        StatementError: as `sql_statements`, or SQL refuses a statement: other columns than before,
            a missing topic.
        BrokerUnavailable: no broker answers.

    Example:
        duolog.sql_declare(topology)
        duolog.sql("SELECT `user` FROM by_user WHERE `visits` > 10").rows()
    """
    statements = sql_statements(topology, names)
    bootstrap = brokers_of(bootstrap)
    ensure_reachable(bootstrap)
    create_result_topics(topology.build(), bootstrap)
    catalog = _catalog(bootstrap, service_id)
    declared = []
    for name, statement in statements.items():
        known = _alike(catalog, name, statement)
        if name in known or (known and names is None):
            declared.append(name if name in known else known[0])
        else:
            sql(statement, bootstrap=bootstrap, data=data, service_id=service_id)
            declared.append(name)
    return declared


def sql_stream(
    topology: "Topology",
    name: str,
    *,
    statements: str | None = None,
    bootstrap: Brokers | str = BOOTSTRAP,
    service_id: str = DEFAULT_SERVICE,
    start: Begin | None = None,
) -> "Stream":
    """Return a SQL stream in a topology, with its columns, formats, headers and timestamps.

    Args:
        topology: the topology that reads it.
        name: the name as written in SQL: `orders` is ORDERS; a name in ` keeps its case.
        statements: statements that define the stream, used instead of a broker's catalog.
        bootstrap: the broker with the catalog.
        service_id: selects the catalog.
        start: as for `Topology.stream`.

    Raises:
        StatementError: there is no such stream.
        BrokerUnavailable: no broker answers.

    Example:
        >>> from duolog import Topology
        >>> made = (
        ...     "CREATE STREAM orders (id INT KEY, item STRING) "
        ...     "WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');"
        ... )
        >>> print(sql_stream(Topology("shop"), "orders", statements=made).schema)
        key (ID INT) value (ITEM STRING)
    """
    source = _source(name, "STREAM", statements, bootstrap, service_id)
    return _stream(topology, source, start)


def sql_table(
    topology: "Topology",
    name: str,
    *,
    statements: str | None = None,
    bootstrap: Brokers | str = BOOTSTRAP,
    service_id: str = DEFAULT_SERVICE,
    store: str | None = None,
    start: Begin | None = None,
) -> "Table":
    """Return a SQL table in a topology; as `sql_stream`.

    Args:
        topology: as for `sql_stream`.
        name: as for `sql_stream`.
        statements: as for `sql_stream`.
        bootstrap: as for `sql_stream`.
        service_id: as for `sql_stream`.
        store: the name of the store for the rows.
        start: as for `Topology.table`.

    Raises:
        StatementError: there is no such table.
        BrokerUnavailable: no broker answers.
    """
    source = _source(name, "TABLE", statements, bootstrap, service_id)
    ttl = None if source.ttl_ms is None else dt.timedelta(milliseconds=source.ttl_ms)
    if source.headers:
        return _stream(topology, source, start).to_table(store, ttl=ttl)
    schema = source_schema(source)
    return topology.table(
        source.topic,
        key=dict(schema.inner_key),
        value=dict(schema.value),
        key_format=plan_format(source.key_format),
        value_format=plan_format(source.value_format),
        windowed=schema.window,
        store=store,
        ttl=ttl,
        timestamp=_timestamp(source),
        invalid_timestamp=None if source.timestamp is None else "skip",
        start=start,
    )


def _stream(topology: "Topology", source: SourceInfo, start: Begin | None) -> "Stream":
    schema = source_schema(source)
    stream = topology.stream(
        () if source.is_pattern else source.topics,
        pattern=source.topic if source.is_pattern else None,
        key=dict(schema.inner_key) or None,
        value=dict(schema.value),
        key_format=plan_format(source.key_format) if source.key else NO_KEY,
        value_format=plan_format(source.value_format),
        windowed=schema.window,
        timestamp=_timestamp(source),
        invalid_timestamp=None if source.timestamp is None else "skip",
        start=start,
    )
    headers = {column.name: Expr(header_column(column)) for column in source.headers}
    return stream.with_columns(**headers) if headers else stream


def _timestamp(source: SourceInfo) -> Expr | None:
    if source.timestamp is None:
        return None
    return Expr(time_of(source.timestamp, source_schema(source)))


def _source(
    name: str, kind: str, statements: str | None, bootstrap: Brokers | str, service_id: str
) -> SourceInfo:
    """Return the stream or table of a name.

    Raises:
        StatementError: it does not exist, or is of the other kind.
    """
    catalog = _catalog_of(statements) if statements is not None else _catalog(bootstrap, service_id)
    wanted = _name(name)
    source = catalog.sources.get(wanted)
    if source is None:
        raise StatementError(
            f"{kind.lower()} {wanted} does not exist in SQL",
            detail=f"Existing streams and tables: {', '.join(sorted(catalog.sources)) or 'none'}.",
            hint=closest(wanted, catalog.sources).strip(),
        )
    if source.kind != kind:
        raise StatementError(
            f"{wanted} is a {source.kind.lower()} in SQL",
            hint=f'Use sql_{source.kind.lower()}(topology, "{name}").',
        )
    return source


def _catalog_of(statements: str) -> Catalog:
    session = SqlSession()
    for _ in session.run(statements):
        pass
    return session.catalog


def _catalog(bootstrap: Brokers | str, service_id: str) -> Catalog:
    """Return the current catalog of a service, from its command topic."""
    bootstrap = brokers_of(bootstrap)
    ensure_reachable(bootstrap)
    replayed = ReplayedCatalog(CommandTopic(bootstrap, service_id))
    try:
        replayed.follow()
        return replayed.catalog
    finally:
        replayed.topic.close()


def _alike(catalog: Catalog, name: str, statement: str) -> list[str]:
    """Return the names of sources that equal what a statement would create."""
    made = _essence(_catalog_of(statement).sources[name])
    return [one.name for one in catalog.sources.values() if _essence(one) == made]


def _essence(source: SourceInfo) -> tuple[object, ...]:
    schema = source_schema(source)
    # Compare formats of the plan, in which defaults and explicit values are equal.
    formats = [
        of if of.name in OF_A_REGISTRY else plan_format(of)
        for of in (source.key_format, source.value_format)
    ]
    topics, times = (source.topics, source.is_pattern), (source.timestamp, source.ttl_ms)
    return source.kind, *topics, source.columns, formats, schema.window, *times


def _topics_of(plan: Plan) -> dict[str, Source | Sink]:
    """Return the node for each topic; for a topic that is read and written, the sink."""
    found: dict[str, Source | Sink] = {}
    for sink in plan.sinks:
        found |= {topic: sink for topic in sink.topics if topic not in found}
    for source in plan.sources:
        if not source.is_pattern:
            found.setdefault(source.topic, source)
    return found


def _name(written: str) -> str:
    """Return the catalog name for a name as written in SQL.

    Example:
        >>> _name("by_city"), _name("`by_city`")
        ('BY_CITY', 'by_city')
    """
    quoted = len(written) > 1 and written[0] == written[-1] == "`"
    return written[1:-1] if quoted else written.upper()
