"""Create the topics that a plan writes, before it starts.

- The topic of a table is compacted: it keeps the latest row of each key, also of windows. With a
  retention, rows of
  windows are deleted that much later than from the store.
- The number of partitions is that of the plan, by default that of the largest source topic, which
  is the number of
  tasks. The dead letter topic has one partition.
- Result records have timestamps of source records. If a source topic accepts timestamps far in the
  future, result
  topics do too.
"""

import contextlib
from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic

from duolog.core.units import HOUR_MS
from duolog.plan.nodes import AggregateNode, Plan, Sink
from duolog.plan.nodes.node import ancestors
from duolog.plan.nodes.topics import FOR_EVER
from duolog.runtime.topics import TABLE_CONFIG, admin_of, create, partition_counts
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0
_AHEAD: Final = "message.timestamp.after.max.ms"


def create_result_topics(
    plan: Plan, bootstrap_servers: Brokers | str, dead_letter_topic: str | None = None
) -> None:
    """Create the missing topics of the plan's sinks, and the dead letter topic.

    Raises:
        BrokerUnavailable: no broker answers.
        KafkaError: the broker refuses a topic.
    """
    admin = admin_of(bootstrap_servers)
    there = partition_counts(admin, bootstrap_servers)
    missing = [topic for topic in result_topics(plan, there) if topic.topic not in there]
    if missing and (ahead := _ahead(admin, [topic for topic in there if _is_read(plan, topic)])):
        missing = [
            NewTopic(of.topic, of.num_partitions, config={**(of.config or {}), **ahead})
            for of in missing
        ]
    if dead_letter_topic is not None and dead_letter_topic not in there:
        missing.append(NewTopic(dead_letter_topic, 1))
    create(admin, missing)


def result_topics(plan: Plan, partition_counts: Mapping[str, int]) -> list[NewTopic]:
    """Return the topics of the plan's sinks, given the partition counts of existing topics."""
    read = [count for topic, count in partition_counts.items() if _is_read(plan, topic)]
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


def _is_read(plan: Plan, topic: str) -> bool:
    return any(source.reads_topic(topic) for source in plan.sources)


def _ahead(admin: AdminClient, read: list[str]) -> dict[str, str]:
    """Return the largest explicit limit of these topics for future timestamps."""
    asked = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in read]
    limits = []
    # Without permission to describe configs, use the default.
    with contextlib.suppress(KafkaException):
        for answer in admin.describe_configs(asked).values() if asked else ():
            entry = answer.result(_TIMEOUT_S)[_AHEAD]
            if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value:
                limits.append(int(entry.value))
    return {_AHEAD: str(max(limits))} if max(limits, default=0) > HOUR_MS else {}


def _config(sink: Sink) -> dict[str, str]:
    """Return the configuration of a new topic."""
    retention_ms = sink.retention_ms
    if not sink.is_table:
        return {} if retention_ms is None else {"retention.ms": str(retention_ms)}
    kept_ms = _kept_ms(sink) if sink.schema.window else None
    if kept_ms is None or retention_ms is None or retention_ms == FOR_EVER:
        return dict(TABLE_CONFIG)
    return {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms + retention_ms)}


def _kept_ms(sink: Sink) -> int | None:
    """Return the time that windows keep a table's rows; None if unlimited or unknown."""
    kept = [
        node.kept_ms
        for node in ancestors(sink)
        if isinstance(node, AggregateNode)
        and node.windows
        and node.windows.key == sink.schema.window
    ]
    return None if None in kept else max(filter(None, kept), default=None)
