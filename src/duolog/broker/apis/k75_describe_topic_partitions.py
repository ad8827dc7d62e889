"""DescribeTopicPartitions, API key 75, version 0.

Behaviour: topics in the order of their names, at most `response_partition_limit` partitions;
what is left is asked for by the cursor of the answer. No topic named means all. A cursor that names
another topic than those asked for is INVALID_REQUEST. Lists are never null: Java's admin client
fails on null.

Source: Kafka `DescribeTopicPartitionsRequestHandler`, KIP-966.
"""

from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.broker.errors import InvalidTopic
from duolog.broker.topic_names import check_topic_name
from duolog.broker.topics import Partition, Topic
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.operations import TOPIC_OPERATIONS


def handle(request: Any, context: RequestContext) -> None:
    cursor = request.cursor
    topics = context.broker.topics
    named = {topic.name for topic in request.topics}
    if cursor is not None and (
        cursor.partition_index < 0 or (named and cursor.topic_name not in named)
    ):
        raise KafkaError(
            f'cursor "{cursor.topic_name}" {cursor.partition_index} is not among what is asked for',
            code=ErrorCode.INVALID_REQUEST,
        )
    first_name = cursor.topic_name if cursor else ""
    asked = named or {topic.name for topic in topics}
    limit = context.broker.settings.integer("max.request.partition.size.limit")
    left = max(1, min(request.response_partition_limit, limit))
    rows: list[dict[str, Any]] = []
    next_cursor = None
    for name in sorted(name for name in asked if name >= first_name):
        topic = topics.get(name)
        if topic is None:
            rows.append(_missing_row(name))
            continue
        first = cursor.partition_index if cursor and name == first_name else 0
        if left == 0:
            next_cursor = {"topic_name": name, "partition_index": first}
            break
        partitions = topic.partitions[first : first + left]
        left -= len(partitions)
        rows.append(_row(topic, partitions, context.broker.node_id))
        if first + len(partitions) < len(topic.partitions):
            next_cursor = {"topic_name": name, "partition_index": first + len(partitions)}
            break
    context.reply({"topics": rows, "next_cursor": next_cursor})


def _missing_row(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "error_code": _missing(name),
        "topic_authorized_operations": TOPIC_OPERATIONS,
    }


def _missing(name: str) -> int:
    try:
        check_topic_name(name)
    except InvalidTopic as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _row(topic: Topic, partitions: list[Partition], node_id: int) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "topic_authorized_operations": TOPIC_OPERATIONS,
        "partitions": [
            {
                "partition_index": partition.index,
                "leader_id": node_id,
                "leader_epoch": partition.log.leader_epoch,
                "replica_nodes": [node_id],
                "isr_nodes": [node_id],
                "eligible_leader_replicas": [],
                "last_known_elr": [],
            }
            for partition in partitions
        ],
    }


API = Api(key=75, name="DescribeTopicPartitions", versions=range(1), handle=handle)
