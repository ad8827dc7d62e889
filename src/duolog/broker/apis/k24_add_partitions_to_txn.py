"""AddPartitionsToTxn, API key 24, versions 0-3.

Behaviour: all partitions are added to the producer's transaction, or none: where one is not there
it is UNKNOWN_TOPIC_OR_PARTITION and the others OPERATION_NOT_ATTEMPTED. One whose log is damaged
gets KAFKA_STORAGE_ERROR: a transaction with it could not end. The first partition begins the
transaction. Versions 4 and 5 are for brokers among themselves and not served.

v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH       v3  flexible

Source: Kafka `KafkaApis.handleAddPartitionsToTxnRequest`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.topics.topic_names import INTERNAL_TOPICS
from duolog.broker.transactions.fencing import fenced_by_version
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.add_partitions_to_txn.v0.request import AddPartitionsToTxnRequest as Oldest
    from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnRequest as Newest

_TRANSACTIONAL_ID, _TOPIC = checks_of(24)
_FIRST_FENCED: Final = 2


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    asked = [
        TopicPartition(topic.name, partition)
        for topic in request.v3_and_below_topics
        for partition in topic.partitions
    ]
    if not _TRANSACTIONAL_ID.allows(context, request.v3_and_below_transactional_id):
        _reply(context, dict.fromkeys(asked, int(_TRANSACTIONAL_ID.code)))
        return
    denied = _denied((topic.name for topic in request.v3_and_below_topics), context)
    refused = {
        topic_partition: code
        for topic_partition in asked
        if (code := _refusal(topic_partition, denied, context))
    }
    if refused:
        not_attempted = dict.fromkeys(asked, int(ErrorCode.OPERATION_NOT_ATTEMPTED))
        _reply(context, not_attempted | refused)
        return
    context.broker.transactions.add(
        request.v3_and_below_transactional_id,
        Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
        asked,
        lambda answer: _reply(
            context,
            dict.fromkeys(asked, fenced_by_version(answer.error_code, context, _FIRST_FENCED)),
        ),
    )


def _denied(topics: Iterable[str], context: RequestContext) -> frozenset[str]:
    """Return the topics that the client may not write to; no client writes to internal ones."""
    if context.authorizer is None:
        return frozenset()
    names = frozenset(topics)
    return _TOPIC.denied(context, names - INTERNAL_TOPICS) | (names & INTERNAL_TOPICS)


def _refusal(
    topic_partition: TopicPartition, denied: frozenset[str], context: RequestContext
) -> int:
    if topic_partition.topic in denied:
        return _TOPIC.code
    topic = context.broker.topics.get(topic_partition.topic)
    partition = topic.partition(topic_partition.partition) if topic else None
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return partition.refused.code if partition.refused else ErrorCode.NONE


def _reply(context: RequestContext, codes: Mapping[TopicPartition, int]) -> None:
    topics: dict[str, list[dict[str, int]]] = defaultdict(list)
    for (topic, partition), code in codes.items():
        topics[topic].append({"partition_index": partition, "partition_error_code": code})
    context.reply(
        {
            "results_by_topic_v3_and_below": [
                {"name": name, "results_by_partition": results} for name, results in topics.items()
            ]
        }
    )


API = Api(key=24, name="AddPartitionsToTxn", versions=range(4), handle=handle)
