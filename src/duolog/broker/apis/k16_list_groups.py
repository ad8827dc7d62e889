"""ListGroups, API key 16, versions 0-5.

v1  throttle time
v3  flexible
v4  filter by state, KIP-518
v5  filter by type, KIP-848: "classic" or "consumer"

Source: Kafka ListGroupsRequest.json; GroupMetadataManager.listGroups.
"""

from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.coordinator.errors import NONE, GroupError


def handle(request: Any, context: RequestContext) -> None:
    states = {state.strip().lower() for state in getattr(request, "states_filter", ())}
    types = {name.lower() for name in getattr(request, "types_filter", ())}
    try:
        groups = list(context.broker.groups.list_groups())
    except GroupError as error:
        context.reply({"throttle_time": 0, "error_code": error.code, "groups": []})
        return
    listed = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type,
            "group_state": group.state,
            "group_type": group.group_type,
        }
        for group in groups
        if (not states or group.state.lower() in states)
        and (not types or group.group_type in types)
    ]
    context.reply({"throttle_time": 0, "error_code": NONE, "groups": listed})


API = Api(key=16, name="ListGroups", versions=range(6), handle=handle)
