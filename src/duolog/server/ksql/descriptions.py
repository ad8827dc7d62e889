"""Entities of DESCRIBE and EXPLAIN: sources, queries and functions.

Source: ksqlDB's documentation of the /ksql endpoint, and responses in the tests of its clients.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from duolog.core.clock import SystemClock
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import PersistentQuery, SessionState
from duolog.plan.sql.signatures import Signature
from duolog.server.ksql.listings import jvm_group, kind_of, running_query
from duolog.server.ksql.schema_json import fields_json
from duolog.server.ksql.statistics import error_statistics, offset_summaries, statistics

if TYPE_CHECKING:
    from duolog.runtime.sql.figures.query_figures import QueryFigures

Json = dict[str, Any]
_CLOCK: Final = SystemClock()


def source_description(
    state: SessionState,
    source: SourceInfo,
    replicas: Mapping[str, list[int]],
    *,
    extended: bool,
    figures: "Mapping[str, QueryFigures] | None" = None,
) -> Json:
    """Return a stream or a table: columns, formats, topic, and the queries that use it.

    Partitions and replication are 0 if its topic is not among the `replicas`; as in ksqlDB, only
    EXTENDED descriptions have them. They also have the `figures` of its queries.
    """
    there = replicas.get(source.topic, [])
    known = figures or {}
    writers = [known[one.id] for one in state.writers(source.name) if one.id in known]
    readers = [known[one.id] for one in state.readers(source.name) if one.id in known]
    return {
        "name": source.name,
        "windowType": None if source.window is None else source.window.kind,
        "readQueries": [running_query(one) for one in state.readers(source.name)],
        "writeQueries": [running_query(one) for one in state.writers(source.name)],
        "fields": fields_json(source.columns),
        "type": source.kind,
        "timestamp": "" if source.timestamp is None else source.timestamp.name,
        "statistics": statistics(source, writers, readers),
        "errorStats": error_statistics([*writers, *readers]),
        "extended": extended,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "topic": source.topic_names,
        "partitions": len(there),
        "replication": max(there, default=0),
        "statement": source.statement,
        "queryOffsetSummaries": [one for each in writers for one in offset_summaries(each)],
        "sourceConstraints": sorted(
            one.sink for one in state.readers(source.name) if one.sink != source.name
        ),
        "clusterStatistics": [],
        "clusterErrorStats": [],
    }


def query_description(
    query: PersistentQuery,
    *,
    host: str,
    kind: str = "PERSISTENT",
    of_server: Mapping[str, str] = MappingProxyType({}),
    figures: "QueryFigures | None" = None,
) -> Json:
    """Return a query: its columns, its sources, the steps of its plan, its state.

    Args:
        query: the query.
        host: address of the server that runs it; empty for a statement that does not run.
        kind: PERSISTENT, PUSH or PULL.
        of_server: properties of the server, which are not those of the statement.
        figures: its figures; they are a member of their own, which ksqlDB does not have.
    """
    planned = query.planned
    steps = "\n".join(_step(node) for node in planned.plan.nodes)
    error = {
        "timestamp": query.error_at_ms,
        "errorMessage": query.error,
        "type": query.error_kind,
    }
    return {
        "id": query.id,
        "statementText": query.statement,
        "windowType": None if planned.window is None else planned.window.kind,
        "fields": fields_json(planned.columns),
        "sources": sorted(set(query.reads)),
        "sinks": [query.sink] if query.sink else [],
        "topology": steps,
        "executionPlan": steps,
        "overriddenProperties": {
            name: value for name, value in query.properties if of_server.get(name) != value
        },
        "ksqlHostQueryStatus": {host: query.state} if host else {},
        "queryType": kind,
        "queryErrors": [error] if query.error else [],
        "tasksMetadata": [],
        "state": query.state if host else None,
        **jvm_group(query),
        **({} if figures is None else {"figures": figures.shown(_CLOCK.now_ms())}),
    }


def function_description(state: SessionState, name: str) -> Json:
    """Return a function and its overloads; the caller has checked that it exists."""
    from duolog.ksql.statements.function_listing import FUNCTIONS  # noqa: PLC0415 - few need it

    of_user = state.catalog.functions.get(name)
    function = FUNCTIONS[name] if of_user is None else of_user.function
    return {
        "@type": "describe_function",
        "name": name,
        "description": function.description,
        "author": "" if of_user is not None else "Duolog",
        "version": "",
        "path": "internal" if of_user is None else of_user.origin,
        "functions": [_overload(one, function.description) for one in function.signatures],
        "type": kind_of(name),
    }


def _overload(signature: Signature, description: str) -> Json:
    from duolog.ksql.expressions.function_errors import type_written  # noqa: PLC0415

    at = len(signature.parameters) - 1 - signature.trailing if signature.variadic else -1
    return {
        "arguments": [
            {
                "name": one.name,
                "type": type_written(one.type),
                "description": "",
                "isVariadic": number == at,
            }
            for number, one in enumerate(signature.parameters)
        ],
        "returnType": type_written(signature.result),
        "description": description,
    }


def _step(node: Any) -> str:
    parents = ", ".join(parent.name for parent in node.parents)
    return f" > [ {type(node).__name__} ] | {node.name}" + (f" <- {parents}" if parents else "")
