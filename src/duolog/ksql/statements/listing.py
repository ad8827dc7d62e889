"""Run SHOW, DESCRIBE and EXPLAIN."""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.hints import named
from duolog.ksql.errors import NoConnectCluster, SqlError
from duolog.ksql.settings import DEFAULT_GROUP, EXACTLY_ONCE
from duolog.ksql.statements.state import Done, PersistentQuery, Rows, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name


def show(state: SessionState, node: nodes.Show) -> Done:
    """Run SHOW or LIST.

    Raises:
        NoConnectCluster: connectors are requested.
    """
    kind = str(node.args["kind"])
    if kind not in _SHOWN:
        raise NoConnectCluster(at=place_of(node))
    if node.args.get("extended") and kind in {"STREAMS", "TABLES"}:
        return Done(node, rows=_described_all(state, kind))
    if node.args.get("extended") and kind == "QUERIES":
        explained_queries = (rows for query in state.queries.values() for rows in _explained(query))
        return Done(node, rows=tuple(explained_queries))
    return Done(node, rows=(_SHOWN[kind](state),))


def describe(state: SessionState, node: nodes.Describe) -> Done:
    """Run DESCRIBE of a source, of all sources, or of a function.

    Raises:
        SqlError: there is no such source or function.
    """
    kind = str(node.args["kind"])
    if kind == "FUNCTION":
        # Imported in functions: each statement loads only what it needs.
        from duolog.ksql.statements import function_listing  # noqa: PLC0415

        return Done(node, rows=function_listing.described(node.this, state.catalog.functions))
    if kind == "CONNECTOR":
        raise NoConnectCluster(at=place_of(node))
    if kind in {"STREAMS", "TABLES"}:
        return Done(node, rows=_described_all(state, kind))
    unknown = "Could not find STREAM/TABLE '{}' in the Metastore"
    source = named(state.catalog.sources, node.this, unknown)
    extended = bool(node.args.get("extended"))
    return Done(node, rows=_described(state, source, extended=extended))


def explain(state: SessionState, node: nodes.Explain) -> Done:
    """Run EXPLAIN of a running query, or of a statement, which is planned and not run.

    Raises:
        SqlError: there is no such query, or the statement is invalid.
    """
    explained = node.this
    if isinstance(explained, exp.Identifier):
        if explained.name not in state.queries:
            raise SqlError(
                f"Query with id:{explained.name} does not exist, use SHOW QUERIES to view the "
                "full set of queries.",
                at=place_of(explained),
            )
        return Done(node, rows=_explained(state.queries[explained.name]))
    from duolog.ksql.statements.queries import tried  # noqa: PLC0415

    query = tried(state, explained)
    if node.args.get("upgrade"):
        if not explained.args.get("replace"):
            raise SqlError(
                "EXPLAIN UPGRADE requires CREATE OR REPLACE ... AS SELECT.",
                at=place_of(explained),
            )
        # The caller, which runs the queries, knows their state.
        return Done(node, query=query)
    return Done(node, selected=query, rows=_explained(query))


def _streams(state: SessionState) -> Rows:
    return _sources(state, "STREAM", "Stream")


def _tables(state: SessionState) -> Rows:
    return _sources(state, "TABLE", "Table")


def _sources(state: SessionState, kind: str, word: str) -> Rows:
    rows = tuple(
        (s.name, s.topic_names, s.key_format.name, s.value_format.name, _windowed(s))
        for s in _sorted(state, kind)
    )
    names = (f"{word} Name", "Kafka Topic", "Key Format", "Value Format", "Windowed")
    return Rows(names, rows, f"{word}s")


def _topics(state: SessionState) -> Rows:
    partitions = state.catalog.partitions
    sources = [one for one in state.catalog.sources.values() if not one.is_pattern]
    names = sorted({topic for source in sources for topic in source.topics} | set(partitions))
    rows = tuple((name, partitions.get(name)) for name in names)
    return Rows(("Kafka Topic", "Partitions"), rows, "Topics")


def _queries(state: SessionState) -> Rows:
    queries = state.queries.values()
    # Only servers have addresses.
    hosts = [(query.host,) if any(one.host for one in queries) else () for query in queries]
    rows = tuple(
        (
            query.id,
            "PERSISTENT",
            query.state,
            query.sink,
            query.planned.topic,
            query.statement,
            query.jvm_group,
            query.error,
            *host,
        )
        for query, host in zip(queries, hosts, strict=True)
    )
    columns = (
        "Query ID",
        "Query Type",
        "Status",
        "Sink Name",
        "Sink Kafka Topic",
        "Query String",
        "JVM Group",
        "Error",
    )
    return Rows((*columns, "Host") if any(hosts) else columns, rows, "Queries")


def _properties(state: SessionState) -> Rows:
    rows = tuple(state.settings.rows())
    return Rows(("Property", "Default override", "Effective Value"), rows, "Properties")


def _types(state: SessionState) -> Rows:
    rows = tuple((name, sql_name(of)) for name, of in sorted(state.catalog.types.items()))
    return Rows(("Type Name", "Schema"), rows, "Types")


def _variables(state: SessionState) -> Rows:
    return Rows(("Variable Name", "Value"), tuple(sorted(state.variables.items())), "Variables")


def _functions(state: SessionState) -> Rows:
    from duolog.ksql.statements import function_listing  # noqa: PLC0415

    return function_listing.listed(state.catalog.functions)


_SHOWN: Final[dict[str, Callable[[SessionState], Rows]]] = {
    "STREAMS": _streams,
    "TABLES": _tables,
    "TOPICS": _topics,
    "QUERIES": _queries,
    "PROPERTIES": _properties,
    "FUNCTIONS": _functions,
    "TYPES": _types,
    "VARIABLES": _variables,
}


def _sorted(state: SessionState, kind: str) -> list[SourceInfo]:
    found = (source for source in state.catalog.sources.values() if source.kind == kind)
    return sorted(found, key=lambda source: source.name)


def _described_all(state: SessionState, kind: str) -> tuple[Rows, ...]:
    sources = _sorted(state, kind.removesuffix("S"))
    return tuple(rows for one in sources for rows in _described(state, one, extended=True))


def _described(state: SessionState, source: SourceInfo, *, extended: bool) -> tuple[Rows, ...]:
    fields = tuple((column.name, _described_type(source, column)) for column in source.columns)
    columns = Rows(("Field", "Type"), fields, f"Name : {source.name}")
    if not extended:
        return (columns,)
    facts = (
        ("Type", source.kind),
        (
            "Timestamp field",
            source.timestamp.name if source.timestamp else "Not set - using <ROWTIME>",
        ),
        ("Key format", _format(source.key_format)),
        ("Value format", _format(source.value_format)),
        ("Topics that match" if source.is_pattern else "Kafka topic", source.topic_names),
        ("Partitions", state.catalog.partitions.get(source.topic)),
        ("Windowed", _windowed(source)),
        *((("TTL", f"{source.ttl_ms} ms"),) if source.ttl_ms is not None else ()),
        ("Read-only", source.read_only),
        *((("Global", True),) if source.is_global else ()),
        ("Statement", source.statement),
    )
    users = (
        *((one, "reads") for one in state.readers(source.name)),
        *((one, "writes") for one in state.writers(source.name)),
    )
    columns_of_users: tuple[str, ...] = (
        "Query",
        "Reads or writes",
        "Status",
        "JVM Group",
        "Error",
    )
    rows: tuple[tuple[object, ...], ...] = tuple(
        (one.id, verb, one.state, one.jvm_group, one.error) for one, verb in users
    )
    if any(one.host for one, _ in users):
        columns_of_users = (*columns_of_users, "Host")
        rows = tuple((*row, one.host) for row, (one, _) in zip(rows, users, strict=True))
    readers = Rows(columns_of_users, rows, "Queries")
    return columns, Rows(("Property", "Value"), facts, "Properties"), readers


def _explained(query: PersistentQuery) -> tuple[Rows, ...]:
    from duolog.plan.cutting.levels import find_levels  # noqa: PLC0415 - SHOW does not load the planner
    from duolog.plan.cutting.python_calls import function_calls  # noqa: PLC0415

    planned = query.planned
    facts = (
        ("ID", query.id),
        ("Status", query.state),
        *((("Host", query.host),) if query.host else ()),
        ("Sink", query.sink),
        ("Kafka topic", planned.topic),
        ("Result", "TABLE" if planned.is_table else "STREAM"),
        ("Reads", ", ".join(query.reads)),
        *((("Error", query.error),) if query.error else ()),
        *((("Dead letters", query.dead_letters),) if query.dead_letters else ()),
        *((("JVM group", query.jvm_group),) if query.jvm_group != DEFAULT_GROUP else ()),
        *((("Guarantee", query.guarantee),) if query.guarantee == EXACTLY_ONCE else ()),
        ("SQL", query.statement),
    )
    fields = tuple(
        (column.name, f"{sql_name(column.type)} ({column.role})") for column in planned.columns
    )
    steps = tuple(
        (node.name, type(node).__name__, ", ".join(parent.name for parent in node.parents))
        for node in planned.plan.nodes
    )
    calls = tuple(
        (call.called, call.node.name, call.kind, call.modes, f"{call.where}; {call.how}")
        for call in function_calls(find_levels(planned.plan))
    )
    names = ("Function", "Step", "Kind", "Modes", "Called")
    return (
        Rows(("Property", "Value"), facts, f"Query {query.id}"),
        Rows(("Field", "Type"), fields, "Columns"),
        Rows(("Step", "Kind", "Reads"), steps, "Execution plan"),
        *((Rows(names, calls, "Functions in Python"),) if calls else ()),
    )


def _described_type(source: SourceInfo, column: SqlColumn) -> str:
    of = sql_name(column.type)
    match column.role:
        case "KEY":
            windowed = " (Window type: " + source.window.kind + ")" if source.window else ""
            return f"{of} ({'primary key' if source.is_table else 'key'}){windowed}"
        case "HEADERS":
            return f"{of} (headers)"
        case "HEADER":
            return f"{of} (header('{column.header}'))"
        case _:
            return of


def _windowed(source: SourceInfo) -> bool:
    return source.window is not None


def _format(of: SqlFormat) -> str:
    options = ", ".join(f"{name}={value}" for name, value in of.properties)
    return f"{of.name} ({options})" if options else of.name
