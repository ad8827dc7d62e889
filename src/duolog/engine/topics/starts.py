"""Where an application begins to read: worked out at its first start, and kept with its checkpoint.

    start=…  ─▶ offsets, asked of the broker once ─▶ application.json ─▶ Spark's startingOffsets
                                                                    └─▶ the lag counts from there

Kept before Spark plans its first micro-batch: a start that ends before it changes nothing of what "latest" or
"2 hours" meant. What was read since stands in Spark's own log, which then counts.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.engine.topics.topics import EndOffsets, TopicReader
from duolog.plan.nodes import Plan, Source

# Spark's word for the first offset of a partition that there is.
_EARLIEST: Final = -2


def starting_offsets(
    sources: Iterable[Source],
    topics: TopicReader,
    partition_counts: Mapping[str, int],
    now_ms: int,
) -> dict[str, dict[int, int]]:
    """Return the offsets at which topics begin that are not read from their first record on.

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


def begins_of(
    plan: Plan, topics: TopicReader, partition_counts: Mapping[str, int], starts: EndOffsets
) -> EndOffsets:
    """Return where topics begin for who reads them first: where `starts` says, else where their sources do.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    now_ms = time.time_ns() // 1_000_000
    begins = starting_offsets(plan.sources, topics, partition_counts, now_ms)
    return {**begins, **{topic: at for topic, at in starts.items() if topic in partition_counts}}


def as_spark_reads(starts: EndOffsets, partition_counts: Mapping[str, int]) -> str:
    """Return Spark's option `startingOffsets` of topics; a partition that was added since begins at its first record.

    Example:
        >>> as_spark_reads({"t": {0: 5}}, {"t": 2}), as_spark_reads({"t": {0: 5}}, {"u": 2})
        ('{"t": {"0": 5, "1": -2}}', 'earliest')
    """
    if starts.keys().isdisjoint(partition_counts):
        return "earliest"
    offsets = {
        topic: dict.fromkeys(range(count), _EARLIEST) | dict(starts.get(topic, {}))
        for topic, count in partition_counts.items()
    }
    return json.dumps(offsets)
