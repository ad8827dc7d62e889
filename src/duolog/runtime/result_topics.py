"""The topics that a plan writes: made before it starts.

A table's topic is compacted: it holds the latest row of each key for ever, of windows too unless a retention is
given: then rows go that much later than from a store of Kafka Streams. As many partitions as
the plan says, else as many as the largest source topic, which is the number of tasks. Dead letters
have one partition: they are few, and read by people.
"""

from collections.abc import Mapping

from confluent_kafka.admin import NewTopic

from duolog.plan.nodes import AggregateNode, Plan, Sink
from duolog.plan.nodes.node import ancestors
from duolog.plan.nodes.topics import FOR_EVER
from duolog.runtime.topics import TABLE_CONFIG, admin_of, create, partition_counts


def create_result_topics(
    plan: Plan, bootstrap_servers: str, dead_letter_topic: str | None = None
) -> None:
    """Create the topics of the plan's sinks, and of dead letters, that do not exist.

    Raises:
        BrokerUnavailable: no broker answers.
        KafkaError: the broker refuses a topic.
    """
    admin = admin_of(bootstrap_servers)
    there = partition_counts(admin, bootstrap_servers)
    topics = result_topics(plan, there)
    if dead_letter_topic is not None:
        topics.append(NewTopic(dead_letter_topic, 1))
    create(admin, [topic for topic in topics if topic.topic not in there])


def result_topics(plan: Plan, partition_counts: Mapping[str, int]) -> list[NewTopic]:
    """Return what each sink of `plan` wants, given the partitions of the topics that exist."""
    read = [
        count
        for topic, count in partition_counts.items()
        if any(source.reads_topic(topic) for source in plan.sources)
    ]
    tasks = max(read, default=1)
    return [
        NewTopic(
            topic,
            sink.partitions or tasks,
            config=_config(sink),
        )
        for sink in plan.sinks
        for topic in sink.topics
    ]


def _config(sink: Sink) -> dict[str, str]:
    """Return what a topic is created with, beside the broker's own settings."""
    retention_ms = sink.retention_ms
    if not sink.is_table:
        return {} if retention_ms is None else {"retention.ms": str(retention_ms)}
    kept_ms = _kept_ms(sink) if sink.schema.window else None
    if kept_ms is None or retention_ms is None or retention_ms == FOR_EVER:
        return dict(TABLE_CONFIG)
    return {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms + retention_ms)}


def _kept_ms(sink: Sink) -> int | None:
    """Return how long the windows of a table's rows keep them; None where that has no end or is not known."""
    kept = [
        node.kept_ms
        for node in ancestors(sink)
        if isinstance(node, AggregateNode)
        and node.windows
        and node.windows.key == sink.schema.window
    ]
    return None if None in kept else max(filter(None, kept), default=None)
