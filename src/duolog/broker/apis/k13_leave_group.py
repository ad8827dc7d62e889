"""LeaveGroup, API key 13, versions 0-5.

Behaviour: several members may leave at once, with one rebalance. An administrator removes a static
member by its instance id alone.

v3  several members, each with an error; static members, KIP-345
v4  flexible
v5  reason (not used)

Source: Kafka LeaveGroupRequest.json; GroupMetadataManager.classicGroupLeave.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import NONE, GroupError, UnknownMemberId
from duolog.coordinator.messages import LeavingMember, LeftMember

if TYPE_CHECKING:
    from kio.schema.leave_group.v0.request import LeaveGroupRequest as Oldest
    from kio.schema.leave_group.v5.request import LeaveGroupRequest as Newest

(_GROUP,) = checks_of(13)
_FIRST_BATCHED: Final = 3


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    batched = context.version >= _FIRST_BATCHED
    leaving = (
        [LeavingMember(member.member_id, member.group_instance_id) for member in request.members]
        if hasattr(request, "members")
        else [LeavingMember(request.member_id)]
    )
    try:
        _GROUP.ensure(context, request.group_id)
        left = context.broker.groups.leave(request.group_id, leaving)
    except UnknownMemberId as error:
        # The group is unknown, so it has no members: each one gets this error.
        left = tuple(LeftMember(*member, error.code) for member in leaving)
    except (GroupError, NotAuthorized) as error:
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
