"""Entities of SHOW and LIST.

Source: ksqlDB's documentation of the /ksql endpoint, and responses in the tests of its clients.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.settings import DEFAULT_GROUP, DEFAULTS, HIDDEN, is_secret
from duolog.ksql.statements.state import PersistentQuery, SessionState
from duolog.ksql.syntax import nodes
from duolog.plan.sql.aggregates import SQL_AGGREGATES
from duolog.plan.sql.table import TABLE_FUNCTIONS
from duolog.server.ksql.schema_json import type_json

Json = dict[str, Any]

_INTERNAL: Final = "_"
"""Prefix of internal topics, which ksqlDB lists only with ALL."""
_TABLE_FUNCTIONS: Final = frozenset(one.name for one in TABLE_FUNCTIONS)


def sources(state: SessionState, kind: str) -> Json:
    """Return the streams or the tables (`kind` is STREAM or TABLE), by name."""
    word = f"{kind.lower()}s"
    return {"@type": word, word: [_source(one) for one in _sorted(state, kind)]}


def topics(node: nodes.Show, replicas: Mapping[str, list[int]], state: SessionState) -> Json:
    """Return the topics with the replicas of each partition; EXTENDED adds counts of readers."""
    extended = bool(node.args.get("extended"))
    # The topics of the state are those that the client may see.
    seen = sorted(replicas.keys() & state.catalog.partitions.keys())
    names = [one for one in seen if node.args.get("all") or one[:1] != _INTERNAL]
    found: list[Json] = [{"name": one, "replicaInfo": replicas[one]} for one in names]
    if extended:
        readers = Counter(
            topic
            for query in state.queries.values()
            for topic in {name for one in query.planned.sources for name in one.topics}
        )
        for one in found:
            one |= {
                "consumerCount": readers[one["name"]],
                "consumerGroupCount": readers[one["name"]],
            }
    return {"@type": "kafka_topics_extended" if extended else "kafka_topics", "topics": found}


def queries(state: SessionState) -> Json:
    """Return the persistent queries with their states."""
    return {"@type": "queries", "queries": [running_query(one) for one in state.queries.values()]}


def running_query(query: PersistentQuery) -> Json:
    """Return a query as SHOW QUERIES and DESCRIBE list it."""
    return {
        "queryString": query.statement,
        "sinks": [query.sink],
        "sinkKafkaTopics": [query.planned.topic],
        "id": query.id,
        "statusCount": {query.state: 1},
        "queryType": "PERSISTENT",
        "state": query.state,
        **jvm_group(query),
    }


def jvm_group(query: PersistentQuery) -> Json:
    """Return the group of a query, which ksqlDB does not have, unless it is the default one."""
    return {} if query.jvm_group == DEFAULT_GROUP else {"jvmGroup": query.jvm_group}


def properties(state: SessionState) -> Json:
    """Return the settings, the names of those that the client has set, and of unchanged ones.

    Values of passwords are hidden, as in ksqlDB: the file of the server's properties may have some.
    """
    rows = state.settings.rows()
    of_server = state.settings.of_server
    return {
        "@type": "properties",
        "properties": [
            {
                "name": name,
                "scope": "KSQL" if name.startswith("ksql.") else "STREAMS",
                "value": HIDDEN if value and is_secret(name) else value,
                "editable": state.settings.without_effect(name) == "",
                "level": "SERVER",
            }
            for name, _, value in rows
        ],
        "overwrittenProperties": [
            name for name, origin, value in rows if origin and of_server.get(name) != value
        ],
        "defaultProperties": [name for name, _, value in rows if DEFAULTS.get(name) == value],
    }


def types(state: SessionState) -> Json:
    """Return the types of CREATE TYPE by name."""
    found = {name: type_json(of) for name, of in sorted(state.catalog.types.items())}
    return {"@type": "type_list", "types": found}


def variables(state: SessionState) -> Json:
    """Return the variables of the request."""
    found = [{"name": name, "value": value} for name, value in sorted(state.variables.items())]
    return {"@type": "variables", "variables": found}


def functions(state: SessionState) -> Json:
    """Return all functions with kind and category."""
    from duolog.ksql.statements import function_listing  # noqa: PLC0415 - few requests need it

    rows = function_listing.listed(state.catalog.functions).rows
    found = [
        {"name": name, "type": kind_of(str(name)), "category": str(family).upper()}
        for name, family in rows
    ]
    return {"@type": "function_names", "functions": found}


def kind_of(function: str) -> str:
    """Return SCALAR, AGGREGATE or TABLE."""
    if function in SQL_AGGREGATES:
        return "AGGREGATE"
    return "TABLE" if function in _TABLE_FUNCTIONS else "SCALAR"


def _sorted(state: SessionState, kind: str) -> list[SourceInfo]:
    found = (source for source in state.catalog.sources.values() if source.kind == kind)
    return sorted(found, key=lambda source: source.name)


def _source(source: SourceInfo) -> Json:
    return {
        "type": source.kind,
        "name": source.name,
        "topic": source.topic_names,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "isWindowed": source.window is not None,
    }
