"""ConsumerGroupDescribe, API key 69, versions 0-1.

Behaviour: a group of the classic protocol is GROUP_ID_NOT_FOUND, and clients then ask
DescribeGroups; so is a group that does not exist. A topic that was deleted is left out of
assignments.

v1  which protocol a member speaks, KIP-1099

Source: Kafka ConsumerGroupDescribeRequest.json; GroupMetadataManager.consumerGroupDescribe.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized, authorized_operations
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.consumer_groups.messages import DescribedConsumer, DescribedConsumerGroup
from duolog.coordinator.consumer_groups.records import Assignment
from duolog.coordinator.errors import NONE, GroupError
from duolog.protocol.operations import OPERATIONS_NOT_ASKED
from duolog.security.authorization.operations import ResourceType

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v0.request import ConsumerGroupDescribeRequest as Oldest
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest as Newest

    from duolog.broker.topics.topics import Topics

Fields = Mapping[str, object]

_GROUP, _TOPIC = checks_of(69)
_CLASSIC, _CONSUMER = 0, 1


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    asked = request.include_authorized_operations
    rows: list[bytes] = []

    def add(group_id: str) -> None:
        found = _describe(group_id, context)
        known = OPERATIONS_NOT_ASKED
        if asked and found["error_code"] == NONE:
            known = authorized_operations(context, ResourceType.GROUP, group_id)
        rows.append(context.encode_item("groups", {**found, "authorized_operations": known}))

    def finish() -> None:
        context.reply({"throttle_time": 0, "groups": rows})

    work_in_slices(context, request.group_ids, add, finish)


def _describe(group_id: str, context: RequestContext) -> Fields:
    try:
        _GROUP.ensure(context, group_id)
        group = context.broker.groups.describe_consumer(group_id)
        _ensure_topics(group, context)
    except (GroupError, NotAuthorized) as error:
        return {
            "error_code": error.code,
            "error_message": error.message,
            "group_id": group_id,
            "group_state": "",
            "group_epoch": 0,
            "assignment_epoch": 0,
            "assignor_name": "",
            "members": [],
        }
    return _fields(group, context.broker.topics)


def _ensure_topics(group: DescribedConsumerGroup, context: RequestContext) -> None:
    """Refuse a client that may not know of a topic that a member has, or will have.

    Raises:
        NotAuthorized: it may not; the error does not name the topic.
    """
    if context.authorizer is None:
        return
    topics = context.broker.topics.by_id
    names = {
        topics[topic_id].name
        for member in group.members
        for assignment in (member.assigned, member.target)
        for topic_id in assignment
        if topic_id in topics
    }
    if _TOPIC.denied(context, names):
        raise NotAuthorized(context.identity.principal, _TOPIC, f"in group {group.group_id}")


def _fields(group: DescribedConsumerGroup, topics: "Topics") -> Fields:
    return {
        "error_code": NONE,
        "error_message": None,
        "group_id": group.group_id,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [_member(member, topics) for member in group.members],
    }


def _member(member: DescribedConsumer, topics: "Topics") -> Fields:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.topics,
        "subscribed_topic_regex": member.regex,
        "assignment": _assignment(member.assigned, topics),
        "target_assignment": _assignment(member.target, topics),
        "member_type": _CLASSIC if member.classic else _CONSUMER,
    }


def _assignment(assignment: Assignment, topics: "Topics") -> Fields:
    return {
        "topic_partitions": [
            {
                "topic_id": topic_id,
                "topic_name": topics.by_id[topic_id].name,
                "partitions": sorted(partitions),
            }
            for topic_id, partitions in assignment.items()
            if topic_id in topics.by_id
        ]
    }


API = Api(key=69, name="ConsumerGroupDescribe", versions=range(2), handle=handle, looks=True)
