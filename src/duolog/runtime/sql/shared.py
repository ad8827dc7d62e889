"""Streams and tables that topologies and SQL share: what one side has made the other takes by its name.

    topology ── sql_declare ─▶ CREATE … over its topics ─▶ catalog ── sql_stream, sql_table ─▶ topology

They meet in the topics: formats, key, windows and timestamps are those of whoever made them.
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
from duolog.ksql.query.sources import header_column, source_schema, time_of
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

if TYPE_CHECKING:
    from duolog.dsl.streams import Stream, Table
    from duolog.dsl.topology import Topology


def sql_statements(topology: "Topology", names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the statements that make topics of a topology streams and tables of SQL, by their names there.

    Columns keep their names: one that is not in capitals stands in ` in SQL.

    Args:
        topology: what is written is visible, and what is read by the name of its topic. A table that is written
            nowhere has no topic.
        names: topics, and what they are called, as SQL writes it: {"by-city": "totals"}; others are left out.
            None: all, each by its topic's name in capitals, `by-city` as BY_CITY.

    Raises:
        StatementError: there is no such topic, two have one name, or SQL cannot say how one is read.

    Example:
        >>> from duolog import Topology
        >>> topology = Topology("visits")
        >>> visits = topology.stream("visits", key="user STRING", value="place STRING")
        >>> visits.group_by_key().count("visits").to("by-user")
        >>> print(sql_statements(topology, {"by-user": "by_user"})["BY_USER"])
        CREATE OR REPLACE TABLE BY_USER (`user` STRING PRIMARY KEY, `visits` BIGINT) WITH (KAFKA_TOPIC = 'by-user', \
KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = true);
    """
    nodes = _topics_of(topology.build())
    if names is None:
        names = {topic: f"`{name_of(topic)}`" for topic in nodes}
    if missing := [topic for topic in names if topic not in nodes]:
        raise StatementError(
            f'topology "{topology.name}" has no topic "{missing[0]}"',
            detail=f"Those that it reads or writes by name: {', '.join(nodes)}.",
        )
    made: dict[str, str] = {}
    for topic, written in names.items():
        name = _name(written)
        if name in made:
            raise StatementError(
                f'two topics would be "{name}" in SQL',
                detail=f"{', '.join(names)}.",
                hint='Name them: names={"by-city": "by_city"}.',
            )
        made[name] = declaration(nodes[topic], topic, name)
    return made


def sql_declare(
    topology: "Topology",
    names: Mapping[str, str] | None = None,
    *,
    bootstrap: str = BOOTSTRAP,
    data: Path | str | None = None,
    service_id: str = DEFAULT_SERVICE,
) -> list[str]:
    """Make topics of a topology streams and tables of SQL; return the names that they have there.

    Topics that the topology writes are made as its application would make them, which need not run. What SQL has already, under
    whatever name, stays as it is, but for new columns, which are added.

    Args:
        topology: as for `sql_statements`, which returns what is run.
        names: as for `sql_statements`.
        bootstrap: the broker.
        data: as for `duolog.sql`.
        service_id: which catalog gets them.

    Raises:
        StatementError: as `sql_statements`, or SQL does not take them: other columns than before, a topic that is missing.
        BrokerUnavailable: no broker answers.

    Example:
        duolog.sql_declare(topology)
        duolog.sql("SELECT `user` FROM by_user WHERE `visits` > 10").rows()
    """
    statements = sql_statements(topology, names)
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
    bootstrap: str = BOOTSTRAP,
    service_id: str = DEFAULT_SERVICE,
    start: Begin | None = None,
) -> "Stream":
    """Return a stream of SQL in a topology, with the columns, formats, headers and timestamps that it has there.

    Args:
        topology: what reads it.
        name: as SQL writes it: `orders` is ORDERS, and a name in ` stays as it is.
        statements: what makes it, read in the place of a broker's catalog: no broker is asked.
        bootstrap: the broker that has the catalog.
        service_id: which catalog.
        start: as for `Topology.stream`.

    Raises:
        StatementError: there is no such stream.
        BrokerUnavailable: no broker answers.

    Example:
        >>> from duolog import Topology
        >>> made = "CREATE STREAM orders (id INT KEY, item STRING) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');"
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
    bootstrap: str = BOOTSTRAP,
    service_id: str = DEFAULT_SERVICE,
    store: str | None = None,
    start: Begin | None = None,
) -> "Table":
    """Return a table of SQL in a topology; as `sql_stream`.

    Args:
        topology: as for `sql_stream`.
        name: as for `sql_stream`.
        statements: as for `sql_stream`.
        bootstrap: as for `sql_stream`.
        service_id: as for `sql_stream`.
        store: the name of the store that keeps the rows.
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
    name: str, kind: str, statements: str | None, bootstrap: str, service_id: str
) -> SourceInfo:
    """Return the stream or table of a name.

    Raises:
        StatementError: there is none.
    """
    catalog = _catalog_of(statements) if statements is not None else _catalog(bootstrap, service_id)
    wanted = _name(name)
    source = catalog.sources.get(wanted)
    if source is None:
        raise StatementError(
            f"{kind.lower()} {wanted} does not exist in SQL",
            detail=f"There are {', '.join(sorted(catalog.sources)) or 'none'}.",
            hint=closest(wanted, catalog.sources).strip(),
        )
    if source.kind != kind:
        raise StatementError(
            f"{wanted} is a {source.kind.lower()} of SQL",
            hint=f'Take it by sql_{source.kind.lower()}(topology, "{name}").',
        )
    return source


def _catalog_of(statements: str) -> Catalog:
    session = SqlSession()
    for _ in session.run(statements):
        pass
    return session.catalog


def _catalog(bootstrap: str, service_id: str) -> Catalog:
    """Return what the command topic of a service says by now."""
    ensure_reachable(bootstrap)
    replayed = ReplayedCatalog(CommandTopic(bootstrap, service_id))
    try:
        replayed.follow()
        return replayed.catalog
    finally:
        replayed.topic.close()


def _alike(catalog: Catalog, name: str, statement: str) -> list[str]:
    """Return what the streams or tables are called that are the same as what a statement would make."""
    made = _essence(_catalog_of(statement).sources[name])
    return [one.name for one in catalog.sources.values() if _essence(one) == made]


def _essence(source: SourceInfo) -> tuple[object, ...]:
    schema = source_schema(source)
    # As the plan has them: what was said and what is so anyway are the same.
    formats = [
        of if of.name in OF_A_REGISTRY else plan_format(of)
        for of in (source.key_format, source.value_format)
    ]
    topics, times = (source.topics, source.is_pattern), (source.timestamp, source.ttl_ms)
    return source.kind, *topics, source.columns, formats, schema.window, *times


def _topics_of(plan: Plan) -> dict[str, Source | Sink]:
    """Return what reads or writes each topic; of one that is both, what writes it."""
    found: dict[str, Source | Sink] = {}
    for sink in plan.sinks:
        found |= {topic: sink for topic in sink.topics if topic not in found}
    for source in plan.sources:
        if not source.is_pattern:
            found.setdefault(source.topic, source)
    return found


def _name(written: str) -> str:
    """Return the name that the catalog has for one as SQL writes it.

    Example:
        >>> _name("by_city"), _name("`by_city`")
        ('BY_CITY', 'by_city')
    """
    quoted = len(written) > 1 and written[0] == written[-1] == "`"
    return written[1:-1] if quoted else written.upper()
