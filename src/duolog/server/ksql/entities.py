"""The entity of each statement of a request, from what the statement has done.

Statements without an entity: INSERT … VALUES, DELETE, SET, UNSET, DEFINE, UNDEFINE.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.server.ksql import descriptions, listings
from duolog.server.ksql.command_status import is_warning, status_entity

if TYPE_CHECKING:
    from duolog.runtime.sql.figures.query_figures import QueryFigures

Json = dict[str, Any]

_SILENT: Final = (
    nodes.InsertValues,
    nodes.DeleteRows,
    nodes.SetProperty,
    nodes.UnsetProperty,
    nodes.Define,
    nodes.Undefine,
)

_EXPLAIN: Final = re.compile(r"^\s*EXPLAIN\s+(UPGRADE\s+)?", re.IGNORECASE)
"""The words before the statement that is explained."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts that entities report and the catalog does not have."""

    host: str
    """Address of this server, as `host:port`."""
    last_command: Callable[[], int]
    """Returns the number of the last command that was executed."""
    replicas: Callable[[], Mapping[str, list[int]]]
    """Returns the number of replicas of each partition, by topic."""
    figures: "Callable[[Iterable[str]], Mapping[str, QueryFigures]]" = lambda _: {}
    """Returns the figures of queries by id, as far as they are known."""


def entity_of(done: Done, state: SessionState, text: str, facts: ServerFacts) -> Json | None:
    """Return the entity of a statement, or None if it has none.

    Args:
        done: the result of the statement.
        state: the session after it.
        text: the statement.
        facts: facts about the server.
    """
    node = done.node
    if isinstance(node, _SILENT):
        return None
    if is_warning(done):
        return _with_text({"@type": "warning_entity", "message": done.message}, text)
    found = _of_listing(node, state, facts) or _of_assertion(node)
    if found is not None:
        return _with_text(found, text)
    if isinstance(node, nodes.Explain):
        return _with_text(_explained(done, text, state, facts), text)
    return status_entity(done, text, facts.last_command())


def _with_text(entity: Json, text: str) -> Json:
    kind = entity.pop("@type")
    return {"@type": kind, "statementText": text, **entity, "warnings": []}


def _of_listing(node: exp.Expression, state: SessionState, facts: ServerFacts) -> Json | None:
    match node:
        case nodes.Show():
            return _shown(node, state, facts)
        case nodes.Describe():
            return _described(node, state, facts)
        case _:
            return None


def _shown(node: nodes.Show, state: SessionState, facts: ServerFacts) -> Json:
    kind = str(node.args["kind"])
    extended = bool(node.args.get("extended"))
    if kind in {"STREAMS", "TABLES"} and extended:
        return _all_described(state, kind, facts)
    if kind == "QUERIES" and extended:
        figures = facts.figures(state.queries)
        found = [
            descriptions.query_description(
                one,
                host=one.host or facts.host,
                of_server=state.settings.of_server,
                figures=figures.get(one.id),
            )
            for one in state.queries.values()
        ]
        return {"@type": "query_descriptions", "queryDescriptions": found}
    if kind in {"STREAMS", "TABLES"}:
        return listings.sources(state, kind.removesuffix("S"))
    if kind == "TOPICS":
        return listings.topics(node, facts.replicas(), state)
    return _LISTED[kind](state)


def _described(node: nodes.Describe, state: SessionState, facts: ServerFacts) -> Json:
    kind = str(node.args["kind"])
    if kind == "FUNCTION":
        return descriptions.function_description(state, node.this.name.upper())
    if kind in {"STREAMS", "TABLES"}:
        return _all_described(state, kind, facts)
    extended = bool(node.args.get("extended"))
    source = state.catalog.sources[node.this.name]
    replicas = facts.replicas() if extended else {}
    figures = facts.figures(_queries_of(state, source)) if extended else {}
    made = descriptions.source_description(
        state, source, replicas, extended=extended, figures=figures
    )
    return {"@type": "sourceDescription", "sourceDescription": made}


def _all_described(state: SessionState, kind: str, facts: ServerFacts) -> Json:
    replicas = facts.replicas()
    found = sorted(
        (one for one in state.catalog.sources.values() if one.kind == kind.removesuffix("S")),
        key=lambda one: one.name,
    )
    figures = facts.figures(state.queries)
    made = [
        descriptions.source_description(state, one, replicas, extended=True, figures=figures)
        for one in found
    ]
    return {"@type": "source_descriptions", "sourceDescriptions": made}


def _queries_of(state: SessionState, source: SourceInfo) -> list[str]:
    return [one.id for one in (*state.readers(source.name), *state.writers(source.name))]


def _explained(done: Done, text: str, state: SessionState, facts: ServerFacts) -> Json:
    explained = done.node.this
    if isinstance(explained, exp.Identifier):
        named = state.queries[explained.name]
        made = descriptions.query_description(
            named,
            host=named.host or facts.host,
            of_server=state.settings.of_server,
            figures=facts.figures([named.id]).get(named.id),
        )
        return {"@type": "queryDescription", "queryDescription": made}
    query = done.selected or done.query
    assert query is not None, "EXPLAIN of a statement has its plan"
    is_query = isinstance(explained, exp.Query)
    kind = "PERSISTENT"
    if is_query:
        kind = "PULL" if explained.args.get("emit") is None else "PUSH"
    made = descriptions.query_description(
        query, host="", kind=kind, of_server=state.settings.of_server
    )
    made["statementText"] = _EXPLAIN.sub("", text)
    return {"@type": "queryDescription", "queryDescription": made}


def _of_assertion(node: exp.Expression) -> Json | None:
    exists = not node.args.get("absent")
    match node:
        case nodes.AssertTopic():
            return {"@type": "assert_topic", "topicName": node.this.name, "exists": exists}
        case nodes.AssertSchema():
            subject, number = node.args.get("subject"), node.args.get("id")
            return {
                "@type": "assert_schema",
                "subject": None if subject is None else subject.name,
                "id": None if number is None else int(number.name),
                "exists": exists,
            }
        case _:
            return None


_LISTED: Final[Mapping[str, Callable[[SessionState], Json]]] = {
    "QUERIES": listings.queries,
    "PROPERTIES": listings.properties,
    "TYPES": listings.types,
    "VARIABLES": listings.variables,
    "FUNCTIONS": listings.functions,
}
