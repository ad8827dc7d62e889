"""Create topics for statements: CREATE with PARTITIONS, and results of queries; find their ends.

An existing topic is used unless its number of partitions differs from the statement's. Source:
ksqlDB.
"""

from collections.abc import Mapping

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.properties import DECLARED, SELECTED, Properties
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import OFFSET_RESET
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.runtime.result_topics import result_topics
from duolog.runtime.sql.command_log.commands import Offsets
from duolog.runtime.sql.command_log.reserved_topics import ensure_writable
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.topics import TABLE_CONFIG


def first_offsets(
    topics: Topics, there: Mapping[str, int], done: Done, state: SessionState
) -> Offsets:
    """Return the offsets at which the query of a statement starts.

    They are the ends of its streams if it reads from `latest`, else there are none.

    Raises:
        KafkaError: they cannot be read.
    """
    if done.query is None or state.settings[OFFSET_RESET] != "latest":
        return {}
    sources = done.query.planned.plan.sources
    tables = {source.topic for source in sources if source.is_table}
    streams = [source for source in sources if source.topic not in tables]
    read = [topic for topic in there if any(one.reads_topic(topic) for one in streams)]
    return topics.ends(read, there)


def make_topics(
    topics: Topics, there: Mapping[str, int], done: Done, state: SessionState
) -> list[str]:
    """Create the topics that a statement needs; return the names of those of its source.

    `there` are the existing topics with their partitions; `state` is the session's state after the
    statement.

    Raises:
        SqlError: a topic that it reads does not exist, one that it writes is reserved, or one
            exists with another number of partitions.
        KafkaError: the broker refuses.
    """
    node = done.node
    if done.query is not None:
        planned = done.query.planned
        for source in planned.sources:
            _ensure_there(source, there, node)
        for written in filter(None, (planned.topic, done.query.dead_letters)):
            ensure_writable(written)
        if (letters := done.query.dead_letters) and letters not in there:
            # Not only when the query starts: the next statement may declare a stream over it.
            topics.create(letters, 1, None, {})
    if not isinstance(node, nodes.CreateSource):
        return []
    source = state.catalog.sources[node.this.name]
    selects = node.args.get("expression") is not None
    given = Properties(node.args.get("properties"), SELECTED if selects else DECLARED)
    wanted = given.number("PARTITIONS")
    for topic in source.topics_among(there):
        _ensure_partitions(topic, there[topic], wanted, node)
    missing = [topic for topic in source.topics if topic not in there]
    if source.is_pattern or not missing:
        return []
    config: dict[str, str] = dict(TABLE_CONFIG) if source.is_table else {}
    if done.query is not None:
        (result,) = result_topics(done.query.planned.plan, there)
        wanted = wanted or there.get(done.query.planned.sources[0].topic, 1)
        config = dict(result.config or {})
    if wanted is None:
        raise _missing(missing[0], node)
    if (retention_ms := given.number("RETENTION_MS")) is not None:
        config["retention.ms"] = str(retention_ms)
    if (policy := given.text("CLEANUP_POLICY")) is not None:
        config["cleanup.policy"] = policy.lower()
    for topic in missing:
        ensure_writable(topic)
        topics.create(topic, wanted, given.number("REPLICAS"), config)
    return missing


def _ensure_there(source: SourceInfo, there: Mapping[str, int], node: exp.Expression) -> None:
    found = source.topics_among(there)
    if source.is_pattern and not found:
        raise SqlError(
            f"No topic matches {source.topic}, which {source.name} reads.", at=place_of(node)
        )
    for topic in () if source.is_pattern else source.topics:
        if topic not in found:
            raise SqlError(f"Kafka topic does not exist: {topic}", at=place_of(node))


def _ensure_partitions(topic: str, there: int, wanted: int | None, node: exp.Expression) -> None:
    if wanted is not None and wanted != there:
        raise SqlError(
            f"A Kafka topic with the name '{topic}' already exists, with different "
            f"partition/replica configuration than required. KSQL expects {wanted} partitions "
            f"(topic has {there}).",
            at=place_of(node),
        )


def _missing(topic: str, node: exp.Expression) -> SqlError:
    kind = str(node.args["kind"])
    return SqlError(
        f"Topic '{topic}' does not exist. If you want to create a new topic for the {kind.lower()} "
        "please re-run the statement providing the required 'PARTITIONS' configuration in the "
        f"WITH clause (and optionally 'REPLICAS'). For example: CREATE {kind} {node.this.name} "
        f"(...) WITH (KAFKA_TOPIC='{topic}', PARTITIONS=1);",
        at=place_of(node),
    )
