"""TxnOffsetCommit, API key 28, versions 0-5.

Behaviour: the offsets are kept as part of the producer's transaction and count when it commits. The
answer leaves when they are durable. What the transaction or the group refuses is refused for every
partition that exists. An empty group id is INVALID_GROUP_ID.

v2  committed leader epoch; before, COORDINATOR_NOT_AVAILABLE is sent while groups are loaded
v3  flexible; member, generation and group instance id are checked, KIP-447
v4  TRANSACTION_ABORTABLE is known to the client
v5  the offsets' partition joins the transaction with the first commit, KIP-890

Source: Kafka TxnOffsetCommitRequest.json; OffsetMetadataManager.commitTransactionalOffset.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.offset_fields import Answer, commit_in_slices
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import CoordinatorLoadInProgress, InvalidGroupId
from duolog.coordinator.messages import CommitRequest, CommittedOffset, Producer
from duolog.core.errors import KafkaError
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v0.request import TxnOffsetCommitRequest as Oldest
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest as Newest

_TRANSACTIONAL_ID, _GROUP, _TOPIC = checks_of(28)
_LOADING_KNOWN_VERSION: Final = 2
_ABORTABLE_VERSION: Final = 4
_IMPLICIT_VERSION: Final = 5


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _TRANSACTIONAL_ID.ensure(context, request.transactional_id)
    _GROUP.ensure(context, request.group_id)

    def commit(offsets: dict[TopicPartition, CommittedOffset], answer: Answer) -> None:
        _commit(request, context, offsets, answer)

    def code_of(error: KafkaError) -> int:
        loading = error.code == CoordinatorLoadInProgress.CODE
        if loading and context.version < _LOADING_KNOWN_VERSION:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return error.code

    commit_in_slices(context, request, _TOPIC, commit, code_of)


def _commit(
    request: "Oldest | Newest",
    context: RequestContext,
    offsets: dict[TopicPartition, CommittedOffset],
    answer: Answer,
) -> None:
    group_id, version = request.group_id, context.version
    if not group_id:
        raise InvalidGroupId("the group id is empty")
    groups = context.broker.groups
    context.broker.transactions.verify_offsets(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        groups.partition_of(group_id),
        implicit=version >= _IMPLICIT_VERSION,
        abortable=version >= _ABORTABLE_VERSION,
    )
    commit = CommitRequest(
        group_id=group_id,
        generation=getattr(request, "generation_id", -1),
        member_id=getattr(request, "member_id", ""),
        instance_id=getattr(request, "group_instance_id", None),
        offsets=offsets,
        producer=Producer(request.producer_id, request.producer_epoch),
        version=version,
    )
    groups.commit(commit, answer)


API = Api(key=28, name="TxnOffsetCommit", versions=range(6), handle=handle)
