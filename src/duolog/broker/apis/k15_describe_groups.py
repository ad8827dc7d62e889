"""DescribeGroups, API key 15, versions 0-6.

Behaviour: an unknown group is "Dead" without an error, and GROUP_ID_NOT_FOUND from version 6 on.
Metadata is shown of a stable group. A group of the new protocol is unknown here:
ConsumerGroupDescribe shows it.

v3  authorized operations
v4  static members, KIP-345
v5  flexible
v6  GROUP_ID_NOT_FOUND and error messages, KIP-1043

Source: Kafka DescribeGroupsRequest.json; GroupMetadataManager.describeGroups.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized, authorized_operations
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.errors import GROUP_ID_NOT_FOUND, NONE, GroupError
from duolog.coordinator.messages import DescribedGroup
from duolog.protocol.operations import OPERATIONS_NOT_ASKED
from duolog.security.authorization.operations import ResourceType

if TYPE_CHECKING:
    from kio.schema.describe_groups.v0.request import DescribeGroupsRequest as Oldest
    from kio.schema.describe_groups.v6.request import DescribeGroupsRequest as Newest

(_GROUP,) = checks_of(15)

Fields = Mapping[str, object]


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    asked = getattr(request, "include_authorized_operations", False)
    rows: list[bytes] = []

    def add(group_id: str) -> None:
        found = _describe(group_id, context)
        known = OPERATIONS_NOT_ASKED
        if asked and found["error_code"] == NONE:
            known = authorized_operations(context, ResourceType.GROUP, group_id)
        row = {**found, "authorized_operations": known}
        rows.append(context.encode_item("groups", row))

    def finish() -> None:
        context.reply({"throttle_time": 0, "groups": rows})

    work_in_slices(context, request.groups, add, finish)


def _describe(group_id: str, context: RequestContext) -> Fields:
    try:
        _GROUP.ensure(context, group_id)
        group = context.broker.groups.describe(group_id)
    except (GroupError, NotAuthorized) as error:
        return _missing(group_id, "", error.code, error.message)
    if group is not None:
        return _fields(group)
    if context.version < 6:
        return _missing(group_id, "Dead", NONE, None)
    return _missing(group_id, "Dead", GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")


def _missing(group_id: str, state: str, error_code: int, message: str | None) -> Fields:
    return {
        "error_code": error_code,
        "error_message": message,
        "group_id": group_id,
        "group_state": state,
        "protocol_type": "",
        "protocol_data": "",
        "members": [],
    }


def _fields(group: DescribedGroup) -> Fields:
    return {
        "error_code": NONE,
        "error_message": None,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_name,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": member.metadata,
                "member_assignment": member.assignment,
            }
            for member in group.members
        ],
    }


API = Api(key=15, name="DescribeGroups", versions=range(7), handle=handle, looks=True)
