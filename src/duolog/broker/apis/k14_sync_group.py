"""SyncGroup, API key 14, versions 0-5.

Behaviour: parked until the leader's assignment is durable.

v3  static members, KIP-345
v4  flexible
v5  protocol type and name, checked against the group's; without them the answer is
    INCONSISTENT_GROUP_PROTOCOL, before rights and members are checked

Source: Kafka SyncGroupRequest.json; KafkaApis.handleSyncGroupRequest;
GroupMetadataManager.classicGroupSync.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import GroupError
from duolog.coordinator.messages import SyncReply, SyncRequest
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sync_group.v0.request import SyncGroupRequest as Oldest
    from kio.schema.sync_group.v5.request import SyncGroupRequest as Newest


(_GROUP,) = checks_of(14)
_FIRST_WITH_PROTOCOL: Final = 5


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    def answer(reply: SyncReply) -> None:
        context.reply(
            {
                "throttle_time": 0,
                "error_code": reply.error_code,
                "protocol_type": reply.protocol_type,
                "protocol_name": reply.protocol_name,
                "assignment": reply.assignment,
            }
        )

    sync = SyncRequest(
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        protocol_type=getattr(request, "protocol_type", None),
        protocol_name=getattr(request, "protocol_name", None),
        assignments={part.member_id: bytes(part.assignment) for part in request.assignments},
    )
    if context.version >= _FIRST_WITH_PROTOCOL and None in (sync.protocol_type, sync.protocol_name):
        answer(SyncReply(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return
    try:
        _GROUP.ensure(context, request.group_id)
        context.broker.groups.sync(sync, answer)
    except (GroupError, NotAuthorized) as error:
        answer(SyncReply(error_code=error.code))


API = Api(key=14, name="SyncGroup", versions=range(6), handle=handle, awaits_clients=True)
