"""Heartbeat, API key 12, versions 0-4.

Behaviour: an unknown group replies UNKNOWN_MEMBER_ID, as Kafka does; a member of a group that
rebalances gets REBALANCE_IN_PROGRESS and joins again. While groups are loaded a heartbeat is taken
blindly: sessions restart after that.

v1  throttle time (always 0)
v3  static members, KIP-345
v4  flexible

Source: Kafka HeartbeatRequest.json; GroupMetadataManager.classicGroupHeartbeat.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import NONE, CoordinatorLoadInProgress, GroupError
from duolog.coordinator.messages import HeartbeatRequest

if TYPE_CHECKING:
    from kio.schema.heartbeat.v0.request import HeartbeatRequest as Oldest
    from kio.schema.heartbeat.v4.request import HeartbeatRequest as Newest


(_GROUP,) = checks_of(12)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    heartbeat = HeartbeatRequest(
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
    )
    error_code = NONE
    try:
        _GROUP.ensure(context, request.group_id)
        context.broker.groups.heartbeat(heartbeat)
    except CoordinatorLoadInProgress:
        pass
    except (GroupError, NotAuthorized) as error:
        error_code = error.code
    context.reply({"throttle_time": 0, "error_code": error_code})


API = Api(key=12, name="Heartbeat", versions=range(5), handle=handle)
