"""ListGroups, API key 16, versions 0-5.

v1  throttle time
v3  flexible
v4  filter by state, KIP-518
v5  filter by type, KIP-848: "classic" or "consumer"

Rows are made in time slices: a broker may have very many groups.

Source: Kafka ListGroupsRequest.json; GroupMetadataManager.listGroups.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.errors import NONE, GroupError
from duolog.coordinator.messages import ListedGroup

if TYPE_CHECKING:
    from kio.schema.list_groups.v0.request import ListGroupsRequest as Oldest
    from kio.schema.list_groups.v5.request import ListGroupsRequest as Newest


(_GROUP,) = checks_of(16)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    states = {state.strip().lower() for state in getattr(request, "states_filter", ())}
    types = {name.lower() for name in getattr(request, "types_filter", ())}
    rows: list[bytes] = []

    def add(group: ListedGroup) -> None:
        if (
            (not states or group.state.lower() in states)
            and (not types or group.group_type in types)
            and _GROUP.allows(context, group.group_id)
        ):
            row = {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.group_type,
            }
            rows.append(context.encode_item("groups", row))

    def finish() -> None:
        context.reply({"throttle_time": 0, "error_code": NONE, "groups": rows})

    try:
        groups = context.broker.groups.list_groups()
    except GroupError as error:
        context.reply({"throttle_time": 0, "error_code": error.code, "groups": []})
        return
    work_in_slices(context, groups, add, finish)


API = Api(key=16, name="ListGroups", versions=range(6), handle=handle, looks=True)
