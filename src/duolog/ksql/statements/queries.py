"""Run CREATE … AS SELECT, INSERT INTO … SELECT, TERMINATE, PAUSE and RESUME."""

from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn
from duolog.ksql.catalog.hints import named
from duolog.ksql.catalog.properties import (
    DEAD_LETTER_TOPIC,
    INSERTED,
    SELECTED,
    Properties,
    ensure_timestamp_format,
)
from duolog.ksql.catalog.schemas import with_schemas
from duolog.ksql.catalog.source_topics import ensure_legal, ensure_one_topic
from duolog.ksql.compatibility.extensions import (
    ensure_global_allowed,
    ensure_known_to_ksqldb,
    ensure_readable_by_ksqldb,
)
from duolog.ksql.compatibility.pull_rules import ensure_by_key, ensure_clauses, ensure_in_values
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.planner import Planned, plan_query
from duolog.ksql.planning.sinks import Target
from duolog.ksql.planning.unions import united_select
from duolog.ksql.planning.written_headers import ensure_no_headers
from duolog.ksql.statements.definitions import ensure_registry, existing_result
from duolog.ksql.statements.state import Done, PersistentQuery, QueryState, SessionState
from duolog.ksql.statements.upgrades import ensure_query_upgradable, ensure_upgradable
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.rows_parser import ROWS_ONLY
from duolog.ksql.syntax.script import text_of

_PULL_INSTEAD: Final = "Use a pull query, without EMIT CHANGES, to get the current rows."
_TRANSIENT: Final = "__rows"
"""Topic in the plans of queries that write no topic."""


def create_as(state: SessionState, node: nodes.CreateSource) -> Done:
    """Run CREATE STREAM or CREATE TABLE … AS SELECT.

    Raises:
        SqlError: the query is invalid, or its result is of the other kind.
    """
    name, kind = node.this.name, str(node.args["kind"])
    properties = Properties(node.args.get("properties"), SELECTED)
    ensure_timestamp_format(properties, state.settings)
    ensure_known_to_ksqldb(properties, state.settings)
    ensure_global_allowed(node, state.settings, text_of(node))
    if existing := existing_result(state, node):
        return existing
    query = _persistent_query(state, node)
    _ensure_no_limit(f"CREATE {kind} AS SELECT", query)
    topic = properties.topic() or f"{state.settings.output_prefix}{name}"
    if "," in topic and not state.settings.strict:
        raise SqlError(f"A query writes a single topic, not several: '{topic}'")
    ensure_legal((topic,), node)
    target = Target(topic, properties, state.settings, name=name)
    planned = plan_query(query, state.catalog, target)
    _ensure_kind(kind, planned)
    ensure_registry(state, planned.key_format, planned.value_format)
    made = SourceInfo(
        name,
        node.args["kind"],
        planned.columns,
        planned.topic,
        planned.key_format,
        planned.value_format,
        planned.window,
        target.timestamp(planned.columns),
        statement=text_of(node),
        ttl_ms=planned.ttl_ms,
    )
    letters = _dead_letters(state, properties, planned)
    begun = replace(
        _begun_or_upgraded(state, made, planned),
        **_of_settings(state.settings, letters),
    )
    state.catalog.sources[name] = replace(made, query=begun.id)
    state.queries[begun.id] = begun
    _keep_partitions(state, properties, planned)
    return Done(node, begun, message=f"Created query with ID {begun.id}")


def insert_select(state: SessionState, node: nodes.InsertSelect) -> Done:
    """Run INSERT INTO … SELECT.

    Raises:
        SqlError: there is no such stream, or its columns differ from those of the result.
    """
    properties = Properties(node.args.get("properties"), INSERTED)
    ensure_known_to_ksqldb(properties, state.settings)
    sink = named(state.catalog.sources, node.this, "{} does not exist.")
    if sink.is_table:
        raise SqlError(
            f"INSERT INTO can only be used to insert into a stream. {sink.name} is a table."
        )
    if sink.read_only:
        raise SqlError(f"Cannot insert into read-only stream: {sink.name}")
    ensure_one_topic(sink, "insert into", node.this)
    if sink.headers and state.settings.strict:
        listed = ", ".join(column.name for column in sink.headers)
        raise SqlError(f"Cannot insert into {sink.name} because it has header columns: {listed}")
    selected = _persistent_query(state, node)
    _ensure_no_limit("INSERT INTO", selected)
    sink = with_schemas(sink, state.settings, writes=True)
    target = Target(sink.topic, properties, state.settings, sink, sink.name)
    planned = plan_query(selected, state.catalog, target)
    if planned.is_table:
        raise SqlError(
            f"Incompatible data sink and query result. Data sink ({sink.name}) type is KSTREAM "
            "but select query result is KTABLE.",
            hint="Use CREATE TABLE … AS SELECT for a query that returns a table.",
        )
    # Headers are not compared: the query may write undeclared ones, and need not write declared
    # ones.
    result, wanted = _without_headers(planned.columns), _without_headers(sink.columns)
    if result != wanted:
        raise SqlError(
            "Incompatible schema between results and sink.\n"
            f"Result schema is {_listed(result)}\nSink schema is {_listed(wanted)}"
        )
    query_id = properties.text("QUERY_ID")
    if query_id is None:
        query_id = state.next_id("INSERTQUERY")
    query_id = query_id.upper()
    if query_id in state.queries:
        raise SqlError(f"Query ID '{query_id}' already exists.")
    letters = _dead_letters(state, properties, planned)
    query = PersistentQuery(
        query_id,
        planned,
        sink.name,
        text_of(node),
        **_of_settings(state.settings, letters),
    )
    state.queries[query_id] = query
    return Done(node, query, message=f"Created query with ID {query_id}")


def select(state: SessionState, node: exp.Select) -> Done:
    """Plan a SELECT whose rows are returned to the caller.

    Raises:
        SqlError: the query is invalid.
    """
    ends = node.args.get("emit") is None and state.settings.strict
    if ends:
        ensure_clauses(node, state.settings, text_of(node))
        ensure_in_values(node, state.catalog.sources)
    ensure_continuous(node)
    ensure_readable_by_ksqldb(node, state.settings, text_of(node))
    planned = plan_query(node, state.catalog, Target(_TRANSIENT, settings=state.settings))
    if ends:
        ensure_by_key(node, planned.sources[0], state.settings)
    query_id = state.next_id(f"transient_{planned.sources[0].name}")
    return Done(node, selected=PersistentQuery(query_id, planned, "", text_of(node)))


def query_command(state: SessionState, node: nodes.QueryCommand) -> Done:
    """Run TERMINATE, PAUSE or RESUME for one query, or for all.

    Raises:
        SqlError: there is no such query.
    """
    verb = str(node.args["kind"])
    name = node.this.name if node.this else None
    if name is not None and name not in state.queries:
        raise SqlError(f"Unknown queryId: {name}", at=place_of(node.this))
    chosen = list(state.queries) if name is None else [name]
    for one in chosen:
        if verb == "TERMINATE":
            del state.queries[one]
        else:
            now: QueryState = "PAUSED" if verb == "PAUSE" else "RUNNING"
            state.queries[one] = replace(state.queries[one], state=now)
    past = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}[verb]
    ended = tuple(chosen) if verb == "TERMINATE" else ()
    return Done(node, message=f"Query {past}.", ended=ended)


def _begun_or_upgraded(state: SessionState, made: SourceInfo, planned: Planned) -> PersistentQuery:
    """Return the new query, with the id of the query that it replaces, if any."""
    old, begin = state.catalog.sources.get(made.name), f"C{made.kind[0]}AS_{made.name}"
    if old is None:
        return PersistentQuery(state.next_id(begin), planned, made.name, made.statement)
    ensure_upgradable(old, replace(made, query=old.query or begin))
    running = state.queries.get(old.query)
    if running is not None and state.settings.strict:
        ensure_query_upgradable(running.planned, planned)
    return PersistentQuery(old.query, planned, made.name, made.statement)


def _of_settings(given: settings.Settings, letters: str) -> dict[str, Any]:
    """Return the fields of a query that depend on the settings of its start."""
    return {
        "dead_letters": letters,
        "guarantee": given[settings.GUARANTEE] or "",
        "jvm_group": given[settings.JVM_GROUP] or settings.DEFAULT_GROUP,
        "skips_refused": given.truth(settings.FAIL_ON_REFUSED) is False,
        "properties": tuple(
            (name, value)
            for name, value in sorted(given.given.items())
            if not settings.is_secret(name)
        ),
    }


def _dead_letters(state: SessionState, properties: Properties, planned: Planned) -> str:
    """Return the topic for records that the query cannot read or process.

    Raises:
        SqlError: the query reads or writes that topic.
    """
    topic = properties.text(DEAD_LETTER_TOPIC)
    if topic is None:
        topic = state.settings[settings.DEAD_LETTERS] or ""
    read = any(source.topics_among((topic,)) for source in planned.sources)
    if topic and (read or topic == planned.topic):
        raise SqlError(
            f"Dead letters cannot be written to '{topic}', which the query "
            f"{'reads' if read else 'writes'}."
        )
    return topic


def _ensure_no_limit(what: str, select: exp.Expression) -> None:
    if select.args.get("limit") is not None:
        raise SqlError(f"{what} statements don't support LIMIT clause.")


def _persistent_query(state: SessionState, node: exp.Expression) -> exp.Select:
    """Return the query of CREATE … AS or INSERT.

    Raises:
        SqlError: it has clauses that only a pull query may have or, in strict mode, that ksqlDB
            does not have.
    """
    query: exp.Select = node.args["expression"]
    ensure_readable_by_ksqldb(query, state.settings, text_of(node))
    _ensure_continuous_clauses(query)
    return query


def pushed_select(state: SessionState, query: exp.Query, text: str) -> exp.Select:
    """Return a push query as one SELECT; it may have the clauses of a persistent query.

    Raises:
        SqlError: it has clauses that only a pull query may have or, in strict mode, that ksqlDB
            does not have.
    """
    select = _as_select(query)
    ensure_no_headers(select)
    ensure_readable_by_ksqldb(select, state.settings, text)
    if state.settings.strict:
        ensure_continuous(select)
    _ensure_continuous_clauses(select)
    return select


def _as_select(query: exp.Query) -> exp.Select:
    match query:
        case exp.Select():
            return query
        case exp.SetOperation() if query.args.get("distinct"):
            raise _not_pushed(query.key.upper(), query)
        case exp.SetOperation():
            rest = query.copy()
            around = {key: rest.args.pop(key, None) for key in ("with_", "emit", "limit")}
            select = united_select(rest)
            for key, value in around.items():
                select.set(key, value)
            return select
        case _:
            raise _not_pushed("parentheses around it")


def _not_pushed(what: str, query: exp.Expression | None = None) -> SqlError:
    at = None if query is None else place_of(query)
    return SqlError(f"A continuous query cannot have {what}", at=at, hint=_PULL_INSTEAD)


def _ensure_continuous_clauses(query: exp.Query) -> None:
    """Refuse clauses that a continuous query cannot have; it may have subqueries in FROM."""
    rows_only = tuple(kind for kind in ROWS_ONLY if kind not in {exp.Subquery, exp.With})
    found = query.find(*rows_only)
    for inner in () if found is not None else query.find_all(exp.Subquery):
        if not isinstance(inner.parent, exp.From | nodes.SourceJoin | exp.Union):
            found = inner
    crossed = [one for one in query.find_all(nodes.SourceJoin) if one.args.get("on") is None]
    if crossed:
        raise SqlError("A continuous query cannot have CROSS JOIN", at=place_of(crossed[0]))
    if found is not None:
        raise SqlError(
            f"A continuous query cannot have {_CLAUSES.get(type(found), 'a subquery')}",
            at=place_of(found),
            hint=_PULL_INSTEAD,
        )


def ensure_continuous(select: exp.Select) -> None:
    """Refuse clauses that only a pull query, or a query that writes a topic, may have."""
    ensure_no_headers(select)
    found = select.find(*ROWS_ONLY)
    distinct = select.args.get("distinct")
    if found is not None or distinct:
        what = "DISTINCT" if found is None else _CLAUSES.get(type(found), "a subquery")
        raise SqlError(
            f"A continuous query cannot have {what}",
            at=place_of(found) if found is not None else None,
            hint=_PULL_INSTEAD,
        )


_CLAUSES: Final = {
    exp.Window: "OVER",
    exp.Filter: "FILTER",
    exp.Order: "ORDER BY",
    exp.With: "WITH",
    exp.Qualify: "QUALIFY",
    exp.Offset: "OFFSET",
}


def _ensure_kind(kind: str, planned: Planned) -> None:
    made = "TABLE" if planned.is_table else "STREAM"
    if made != kind:
        raise SqlError(
            f"Invalid result type. Your SELECT query produces a {made}. Please use CREATE {made} "
            "AS SELECT statement instead."
        )


def _keep_partitions(state: SessionState, properties: Properties, planned: Planned) -> None:
    """Store the number of partitions of the result's topic, by default that of the first source."""
    partitions = state.catalog.partitions
    count = properties.number("PARTITIONS") or partitions.get(planned.sources[0].topic)
    if count is not None:
        partitions.setdefault(planned.topic, count)


def _without_headers(columns: tuple[SqlColumn, ...]) -> tuple[SqlColumn, ...]:
    return tuple(column for column in columns if column.role in {"KEY", "VALUE"})


def _listed(columns: tuple[object, ...]) -> str:
    return ", ".join(map(str, columns))


def tried(state: SessionState, node: exp.Expression) -> PersistentQuery:
    """Plan the query of a statement without changing the session.

    Raises:
        SqlError: the statement has no query, or is invalid.
    """
    copy = SessionState(
        state.catalog.copy(), state.settings, state.variables, dict(state.queries), state.begun
    )
    match node:
        case nodes.CreateSource() if node.args.get("expression") is not None:
            done = create_as(copy, node)
        case nodes.InsertSelect():
            done = insert_select(copy, node)
        case exp.Select():
            done = select(copy, node)
            assert done.selected is not None
            return done.selected
        case _:
            raise SqlError("The provided statement does not run a ksql query")
    assert done.query is not None
    return done.query
