"""OffsetDelete, API key 47, version 0.

Behaviour: offsets of topics that a member reads stay, with GROUP_SUBSCRIBED_TO_TOPIC; the others
are gone when the answer leaves. A partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, one
without an offset no error. What the group refuses is one error for the request.

Source: Kafka OffsetDeleteRequest.json; OffsetMetadataManager.deleteOffsets; KIP-496.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.offset_fields import Answer, delete_in_slices
from duolog.broker.requests.api import Api
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest as Request


_GROUP, _TOPIC = checks_of(47)


def handle(request: "Request", context: RequestContext) -> None:
    _GROUP.ensure(context, request.group_id)

    def delete(asked: list[TopicPartition], answer: Answer) -> None:
        context.broker.groups.delete_offsets(request.group_id, asked, answer)

    delete_in_slices(context, request, _TOPIC, delete)


API = Api(key=47, name="OffsetDelete", versions=range(1), handle=handle)
