"""JoinGroup, API key 11, versions 0-9.

Behaviour: parked until the other members have joined, or the rebalance timeout has passed. A new
dynamic member receives its id first. Only the leader receives the members.

v1  rebalance timeout; before, the session timeout is meant
v4  MEMBER_ID_REQUIRED for a new dynamic member, KIP-394
v5  static members, KIP-345
v6  flexible
v7  protocol type in the answer
v9  skip assignment, KIP-814

Source: Kafka JoinGroupRequest.json; GroupMetadataManager.classicGroupJoin.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.coordinator_service import new_member_suffix
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import GroupError
from duolog.coordinator.messages import JoinReply, JoinRequest, MemberProtocol

if TYPE_CHECKING:
    from kio.schema.join_group.v0.request import JoinGroupRequest as Oldest
    from kio.schema.join_group.v9.request import JoinGroupRequest as Newest

(_GROUP,) = checks_of(11)
_MILLISECOND: Final = timedelta(milliseconds=1)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    def answer(reply: JoinReply) -> None:
        context.reply(_fields(reply, context.version))

    if not _GROUP.allows(context, request.group_id):
        answer(JoinReply(error_code=_GROUP.code))
        return
    try:
        context.broker.groups.join(_join_request(request, context), answer)
    except GroupError as error:
        answer(JoinReply(error_code=error.code, member_id=request.member_id))


def _join_request(request: "Oldest | Newest", context: RequestContext) -> JoinRequest:
    session_timeout = request.session_timeout
    rebalance_timeout = getattr(request, "rebalance_timeout", session_timeout)
    return JoinRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        client_id=context.client_id,
        client_host=context.client_host,
        session_timeout_ms=session_timeout // _MILLISECOND,
        rebalance_timeout_ms=rebalance_timeout // _MILLISECOND,
        protocol_type=request.protocol_type,
        protocols=tuple(MemberProtocol(p.name, bytes(p.metadata)) for p in request.protocols),
        fresh_id=new_member_suffix(),
        member_id_required=context.version >= 4,
        skip_assignment_known=context.version >= 9,
    )


def _fields(reply: JoinReply, version: int) -> Mapping[str, object]:
    # The protocol may be null from version 7 on.
    protocol_name = reply.protocol_name if version >= 7 else reply.protocol_name or ""
    return {
        "throttle_time": 0,
        "error_code": reply.error_code,
        "generation_id": reply.generation,
        "protocol_type": reply.protocol_type,
        "protocol_name": protocol_name,
        "leader": reply.leader_id,
        "skip_assignment": reply.skip_assignment,
        "member_id": reply.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "metadata": member.metadata,
            }
            for member in reply.members
        ],
    }


API = Api(key=11, name="JoinGroup", versions=range(10), handle=handle, awaits_clients=True)
