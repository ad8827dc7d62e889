"""OffsetDelete, API key 47, version 0.

Behaviour: offsets of topics that a member reads stay, with GROUP_SUBSCRIBED_TO_TOPIC; the others are
gone when the answer leaves. A partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, one
without an offset no error. What the group refuses is one error for the request.

Source: Kafka OffsetDeleteRequest.json; OffsetMetadataManager.deleteOffsets; KIP-496.
"""

from typing import Any

from duolog.broker.groups.offset_fields import offset_codes, partition_exists
from duolog.broker.requests.api import Api, RequestContext
from duolog.coordinator.errors import NONE, GroupError
from duolog.coordinator.messages import OffsetsReply
from duolog.core.ids import TopicPartition


def handle(request: Any, context: RequestContext) -> None:
    topics = context.broker.topics
    asked = [
        TopicPartition(topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
        if partition_exists(topic.name, partition.partition_index, topics)
    ]

    def answer(reply: OffsetsReply) -> None:
        context.reply({"error_code": NONE, **offset_codes(request, reply.error_codes)})

    try:
        context.broker.groups.delete_offsets(request.group_id, asked, answer)
    except GroupError as error:
        context.reply({"throttle_time": 0, "error_code": error.code, "topics": []})


API = Api(key=47, name="OffsetDelete", versions=range(1), handle=handle)
