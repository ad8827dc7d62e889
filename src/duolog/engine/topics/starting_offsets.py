"""Resolve the offsets at which an application starts to read; its checkpoint stores them.

    start=…  ─▶ offsets, requested from the broker once ─▶ application.json ─▶ startingOffsets
                                                                          └─▶ the lag is counted
                                                                          from there

Stored before Spark plans its first micro-batch: if a start fails before that, "latest" or "2 hours"
keep the meaning they had. Later positions are in Spark's own log, which then takes precedence.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.topic_reader import TopicReader
from duolog.plan.nodes import Plan, Source

# Spark's value for the first available offset of a partition.
_EARLIEST: Final = -2


def starting_offsets(
    sources: Iterable[Source],
    topics: TopicReader,
    partition_counts: Mapping[str, int],
    now_ms: int,
) -> dict[str, dict[int, int]]:
    """Return the starting offsets of the topics that are not read from their first record.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    found: dict[str, dict[int, int]] = {}
    for source in sources:
        start = source.start
        counts = {topic: n for topic, n in partition_counts.items() if source.reads_topic(topic)}
        if start.kind == "latest":
            found |= topics.end_offsets(counts)
        elif start.kind != "earliest":
            found |= topics.offsets_at(counts, start.time_ms(now_ms))
    return found


def resolve_starts(
    plan: Plan, topics: TopicReader, partition_counts: Mapping[str, int], starts: EndOffsets
) -> EndOffsets:
    """Return where to start topics that were not read before: `starts`, else what sources specify.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    now_ms = time.time_ns() // 1_000_000
    begins = starting_offsets(plan.sources, topics, partition_counts, now_ms)
    return {**begins, **{topic: at for topic, at in starts.items() if topic in partition_counts}}


def spark_starting_offsets(starts: EndOffsets, partition_counts: Mapping[str, int]) -> str:
    """Return Spark's option `startingOffsets`; partitions added since start at their first record.

    Example:
        >>> spark_starting_offsets({"t": {0: 5}}, {"t": 2})
        '{"t": {"0": 5, "1": -2}}'
        >>> spark_starting_offsets({"t": {0: 5}}, {"u": 2})
        'earliest'
    """
    if starts.keys().isdisjoint(partition_counts):
        return "earliest"
    offsets = {
        topic: dict.fromkeys(range(count), _EARLIEST) | dict(starts.get(topic, {}))
        for topic, count in partition_counts.items()
    }
    return json.dumps(offsets)
