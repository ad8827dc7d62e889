"""LeaveGroup, API key 13, versions 0-5.

Behaviour: several members may leave at once, with one rebalance. An administrator removes a static
member by its instance id alone.

v3  several members, each with an error; static members, KIP-345
v4  flexible
v5  reason (not used)

Source: Kafka LeaveGroupRequest.json; GroupMetadataManager.classicGroupLeave.
"""

from typing import Any

from duolog.broker.requests.api import Api, RequestContext
from duolog.coordinator.errors import NONE, GroupError, UnknownMemberId
from duolog.coordinator.messages import LeavingMember, LeftMember


def handle(request: Any, context: RequestContext) -> None:
    batched = context.version >= 3
    leaving = (
        [LeavingMember(member.member_id, member.group_instance_id) for member in request.members]
        if batched
        else [LeavingMember(request.member_id)]
    )
    try:
        left = context.broker.groups.leave(request.group_id, leaving)
    except UnknownMemberId as error:
        # The group is unknown, so nobody is a member: each is told so.
        left = tuple(LeftMember(*member, error.code) for member in leaving)
    except GroupError as error:
        context.reply({"throttle_time": 0, "error_code": error.code, "members": []})
        return
    members = [
        {
            "member_id": member.member_id,
            "group_instance_id": member.instance_id,
            "error_code": member.error_code,
        }
        for member in left
    ]
    error_code = NONE if batched else left[0].error_code
    context.reply({"throttle_time": 0, "error_code": error_code, "members": members})


API = Api(key=13, name="LeaveGroup", versions=range(6), handle=handle)
