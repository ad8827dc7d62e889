"""DeleteRecords, API key 21, versions 0-2.

Behaviour: the log of a partition starts at the requested offset, durably, and the response has the
new start offset; -1 asks for the high watermark. An offset above that is OFFSET_OUT_OF_RANGE, one
below the start changes nothing. A topic that is only compacted keeps its records: POLICY_VIOLATION.
There is one replica, so the request waits for no other.

v2  flexible

Source: Kafka `ReplicaManager.deleteRecords`, `Partition.deleteRecordsOnLeader`; KIP-107.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.cleaning.retention_task import cutting
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import change_each
from duolog.core.errors import KafkaError
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.delete_records.v0.request import DeleteRecordsRequest as Oldest
    from kio.schema.delete_records.v2.request import DeleteRecordsRequest as Newest

(_TOPIC,) = checks_of(21)
_HIGH_WATERMARK: Final = -1
_NO_OFFSET: Final = -1


class _Asked(NamedTuple):
    topic_partition: TopicPartition
    offset: int


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    asked = [
        _Asked(TopicPartition(topic.name, row.partition_index), row.offset)
        for topic in request.topics
        for row in topic.partitions
    ]

    def done(item: _Asked, error: Exception | None) -> dict[str, object]:
        result: dict[str, object] = {"partition_index": item.topic_partition.partition}
        if error is None:
            try:
                start = context.broker.log(*item.topic_partition).log_start_offset
            except KafkaError as gone:  # With its records.
                error = gone
            else:
                return {**result, "low_watermark": start}
        code, _ = kafka_code(error)
        return {**result, "low_watermark": _NO_OFFSET, "error_code": code}

    def finish(results: list[dict[str, object]]) -> None:
        rest = iter(results)
        topics = [
            {"name": topic.name, "partitions": [next(rest) for _ in topic.partitions]}
            for topic in request.topics
        ]
        context.reply({"topics": topics})

    change_each(
        context,
        asked,
        lambda item: (str(item.topic_partition), partial(_deleting, item, context)),
        done,
        finish,
    )


def _deleting(asked: _Asked, context: RequestContext) -> Change | None:
    """Return the change that advances the log start offset; None if it is there already.

    Raises:
        NotAuthorized: the client may not delete from the topic.
        KafkaError: the partition does not exist, the offset is out of range, or the topic's
            cleanup.policy is only compact.
    """
    _TOPIC.ensure(context, asked.topic_partition.topic)
    partition = context.broker.topics.partition(*asked.topic_partition)
    log = partition.log
    if not log.config.deleted_when_old:
        raise KafkaError(
            f'records of topic "{asked.topic_partition.topic}" cannot be deleted: its '
            "cleanup.policy is compact alone",
            code=ErrorCode.POLICY_VIOLATION,
        )
    offset = log.high_watermark if asked.offset == _HIGH_WATERMARK else asked.offset
    if not 0 <= offset <= log.high_watermark:
        raise KafkaError(
            f"offset {offset} is not within the log, which ends at {log.high_watermark}",
            code=ErrorCode.OFFSET_OUT_OF_RANGE,
        )
    return cutting(context.broker, partition, offset)


API = Api(key=21, name="DeleteRecords", versions=range(3), handle=handle)
