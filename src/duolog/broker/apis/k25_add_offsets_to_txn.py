"""AddOffsetsToTxn, API key 25, versions 0-4.

Behaviour: adds the partition of `__consumer_offsets` that holds the group to the transaction, so
that the offsets that TxnOffsetCommit brings are committed with it.

v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH       v3  flexible
v4  TRANSACTION_ABORTABLE is known to the client

Source: Kafka `KafkaApis.handleAddOffsetsToTxnRequest`.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.topics.topic_names import OFFSETS_TOPIC
from duolog.broker.transactions.fencing import fenced_by_version
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from kio.schema.add_offsets_to_txn.v0.request import AddOffsetsToTxnRequest as Oldest
    from kio.schema.add_offsets_to_txn.v4.request import AddOffsetsToTxnRequest as Newest

_TRANSACTIONAL_ID, _GROUP = checks_of(25)
_FIRST_FENCED: Final = 2


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _TRANSACTIONAL_ID.ensure(context, request.transactional_id)
    _GROUP.ensure(context, request.group_id)
    partition = context.broker.groups.partition_of(request.group_id)
    context.broker.transactions.add(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [TopicPartition(OFFSETS_TOPIC, partition)],
        lambda answer: context.reply(
            {"error_code": fenced_by_version(answer.error_code, context, _FIRST_FENCED)}
        ),
    )


API = Api(key=25, name="AddOffsetsToTxn", versions=range(5), handle=handle)
