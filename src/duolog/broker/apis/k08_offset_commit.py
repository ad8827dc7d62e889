"""OffsetCommit, API key 8, versions 2-9.

Behaviour: the answer leaves when the offsets are durable. A partition that does not exist gets
UNKNOWN_TOPIC_OR_PARTITION, metadata that is too long OFFSET_METADATA_TOO_LARGE, each for itself;
what the group refuses is refused for every other partition. An empty group id is allowed, as in
Kafka.

v2  retention time (until v4)
v6  committed leader epoch
v7  static members, KIP-345
v8  flexible
v9  GROUP_ID_NOT_FOUND for a generation of an unknown group

Source: Kafka OffsetCommitRequest.json; OffsetMetadataManager.commitOffset.
"""

from datetime import timedelta
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.offset_fields import Answer, commit_in_slices
from duolog.broker.requests.api import Api
from duolog.coordinator.messages import CommitRequest, CommittedOffset
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from kio.schema.offset_commit.v2.request import OffsetCommitRequest as Oldest
    from kio.schema.offset_commit.v9.request import OffsetCommitRequest as Newest


_GROUP, _TOPIC = checks_of(8)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _GROUP.ensure(context, request.group_id)

    def commit(offsets: dict[TopicPartition, CommittedOffset], answer: Answer) -> None:
        context.broker.groups.commit(_commit_request(request, context, offsets), answer)

    commit_in_slices(context, request, _TOPIC, commit, lambda error: error.code)


def _commit_request(
    request: "Oldest | Newest",
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
        version=context.version,
    )


API = Api(key=8, name="OffsetCommit", versions=range(2, 10), handle=handle)
