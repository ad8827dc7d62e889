"""DeleteGroups, API key 42, versions 0-2.

Behaviour: a group goes with all its offsets, also those that an open transaction has brought; the
answer leaves when that is durable. GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, each for itself. A group
that is named twice is answered once. An empty group id is allowed, as in Kafka.

v2  flexible

Source: Kafka DeleteGroupsRequest.json; GroupCoordinatorShard.deleteGroups.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.errors import GroupError
from duolog.coordinator.messages import DeletedReply

if TYPE_CHECKING:
    from kio.schema.delete_groups.v0.request import DeleteGroupsRequest as Oldest
    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest as Newest


(_GROUP,) = checks_of(42)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    group_ids = list(dict.fromkeys(request.groups_names))
    error_codes: dict[str, int] = {}

    def delete(group_id: str) -> None:
        def answer(reply: DeletedReply) -> None:
            error_codes[group_id] = reply.error_code
            maybe_reply()

        try:
            _GROUP.ensure(context, group_id)
            context.broker.groups.delete(group_id, answer)
        except (GroupError, NotAuthorized) as error:
            answer(DeletedReply(error.code))

    def maybe_reply() -> None:
        if len(error_codes) == len(group_ids):
            results = [
                {"group_id": group_id, "error_code": error_codes[group_id]}
                for group_id in group_ids
            ]
            context.reply({"throttle_time": 0, "results": results})

    if group_ids:
        work_in_slices(context, group_ids, delete, lambda: None)
    else:
        maybe_reply()


API = Api(key=42, name="DeleteGroups", versions=range(3), handle=handle)
