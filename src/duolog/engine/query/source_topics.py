"""The topics that a query reads, and the reader that asks a broker for their ends."""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.engine.checkpoint.topic_ids import TopicWatch
from duolog.engine.topics.topic_reader import TopicReader


@dataclass(frozen=True, slots=True)
class SourceTopics:
    """The source topics of one query. Threads: any."""

    reader: TopicReader
    partition_counts: Mapping[str, int]
    """The number of partitions of each topic, as of the start."""
    watch: TopicWatch | None = None
    """Compares topic ids and logs while the query runs; None: nothing is compared."""
