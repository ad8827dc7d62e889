"""OffsetCommit, API key 8, versions 2-9.

Behaviour: the answer leaves when the offsets are durable. A partition that does not exist gets
UNKNOWN_TOPIC_OR_PARTITION, metadata that is too long OFFSET_METADATA_TOO_LARGE, each for itself; what
the group refuses is refused for every other partition. An empty group id is allowed, as in Kafka.

v2  retention time (until v4)
v6  committed leader epoch
v7  static members, KIP-345
v8  flexible
v9  GROUP_ID_NOT_FOUND for a generation of an unknown group

Source: Kafka OffsetCommitRequest.json; OffsetMetadataManager.commitOffset.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.coordinator.errors import UNKNOWN_TOPIC_OR_PARTITION, GroupError
from duolog.coordinator.messages import OffsetsReply, CommitRequest, CommittedOffset
from duolog.core.ids import TopicPartition


def handle(request: Any, context: RequestContext) -> None:
    offsets = {
        TopicPartition(topic.name, partition.partition_index): CommittedOffset(
            partition.committed_offset,
            getattr(partition, "committed_leader_epoch", -1),
            partition.committed_metadata or "",
        )
        for topic in request.topics
        for partition in topic.partitions
        if _exists(topic.name, partition.partition_index, context)
    }

    def answer(reply: OffsetsReply) -> None:
        context.reply(_fields(request, reply.error_codes, UNKNOWN_TOPIC_OR_PARTITION))

    try:
        context.broker.groups.commit(_commit_request(request, context, offsets), answer)
    except GroupError as error:
        refused = dict.fromkeys(offsets, error.code)
        context.reply(_fields(request, refused, UNKNOWN_TOPIC_OR_PARTITION))


def _exists(name: str, index: int, context: RequestContext) -> bool:
    topic = context.broker.topics.get(name)
    return topic is not None and topic.partition(index) is not None


def _commit_request(
    request: Any,
    context: RequestContext,
    offsets: dict[TopicPartition, CommittedOffset],
) -> CommitRequest:
    retention = getattr(request, "retention_time", timedelta(milliseconds=-1))
    retention_ms = retention // timedelta(milliseconds=1)
    return CommitRequest(
        group_id=request.group_id,
        generation=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        offsets=offsets,
        retention_ms=retention_ms if retention_ms >= 0 else None,
        group_must_exist=context.version >= 9,
    )


def _fields(
    request: Any,
    error_codes: Mapping[TopicPartition, int],
    missing: int,
) -> Mapping[str, Any]:
    """Answer each partition that was asked for; `missing` is for those without a code."""
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": partition.partition_index,
                    "error_code": error_codes.get(
                        TopicPartition(topic.name, partition.partition_index), missing
                    ),
                }
                for partition in topic.partitions
            ],
        }
        for topic in request.topics
    ]
    return {"throttle_time": 0, "topics": topics}


API = Api(key=8, name="OffsetCommit", versions=range(2, 10), handle=handle)
