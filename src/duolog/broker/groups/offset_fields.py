"""Offsets of partitions as requests name them, and the error codes that answers give for them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from duolog.coordinator.errors import UNKNOWN_TOPIC_OR_PARTITION
from duolog.coordinator.messages import CommittedOffset
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.broker.topics.topics import Topics


def partition_exists(name: str, index: int, topics: "Topics") -> bool:
    topic = topics.get(name)
    return topic is not None and topic.partition(index) is not None


def committed_offsets(request: Any, topics: "Topics") -> dict[TopicPartition, CommittedOffset]:
    """Return what a request commits to partitions that exist."""
    return {
        TopicPartition(topic.name, partition.partition_index): CommittedOffset(
            partition.committed_offset,
            getattr(partition, "committed_leader_epoch", -1),
            partition.committed_metadata or "",
            found.id,
        )
        for topic in request.topics
        if (found := topics.get(topic.name)) is not None
        for partition in topic.partitions
        if found.partition(partition.partition_index) is not None
    }


def offset_codes(request: Any, error_codes: Mapping[TopicPartition, int]) -> Mapping[str, Any]:
    """Return the answer for each partition that was asked for; one without a code is unknown."""
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": partition.partition_index,
                    "error_code": error_codes.get(
                        TopicPartition(topic.name, partition.partition_index),
                        UNKNOWN_TOPIC_OR_PARTITION,
                    ),
                }
                for partition in topic.partitions
            ],
        }
        for topic in request.topics
    ]
    return {"throttle_time": 0, "topics": topics}
