"""ConsumerGroupHeartbeat, API key 68, versions 0-1.

Behaviour: joins (epoch 0), keeps a session, hears of a new assignment and says what it owns, leaves
(epoch -1; -2 for a static member that will come back). The broker assigns. The response is sent
when the state that it reports is durable. The response has an assignment if it changed, or after a
full heartbeat.

v0  the broker makes the member's id
v1  the member makes its id, KIP-1082; subscription by expression, in RE2's syntax: matched in a
    helper process; the answer waits for the first result

Source: Kafka ConsumerGroupHeartbeatRequest.json; GroupCoordinatorService.consumerGroupHeartbeat;
KIP-848.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.coordinator_service import new_member_suffix
from duolog.broker.requests.api import Api
from duolog.coordinator.consumer_groups.messages import HeartbeatReply, MemberHeartbeat
from duolog.coordinator.consumer_groups.records import Assignment
from duolog.coordinator.errors import GroupError

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v0.request import (
        ConsumerGroupHeartbeatRequest as Oldest,
    )
    from kio.schema.consumer_group_heartbeat.v0.request import TopicPartitions as OldestTopic
    from kio.schema.consumer_group_heartbeat.v1.request import (
        ConsumerGroupHeartbeatRequest as Newest,
    )
    from kio.schema.consumer_group_heartbeat.v1.request import TopicPartitions as NewestTopic

_GROUP, _TOPIC, _ = checks_of(68)
_MILLISECOND: Final = timedelta(milliseconds=1)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    def answer(reply: HeartbeatReply) -> None:
        context.reply(_fields(reply))

    _GROUP.ensure(context, request.group_id)
    denied = _TOPIC.denied(context, request.subscribed_topic_names or ())
    if denied:
        raise _TOPIC.refusal(context, min(denied))
    heartbeat = _heartbeat(request, context)

    def go_on() -> None:
        try:
            context.broker.groups.consumer_heartbeat(heartbeat, answer, context)
        except GroupError as error:
            answer(HeartbeatReply(error_code=error.code, error_message=error.message))
        except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
            context.broker.refuse(context, error)

    if not context.broker.groups.topic_matches.when_known(heartbeat.regex, go_on):
        # Other expressions may take longer than a session.
        context.broker.groups.consumer_waits(heartbeat)


def _heartbeat(request: "Oldest | Newest", context: RequestContext) -> MemberHeartbeat:
    names = request.subscribed_topic_names
    return MemberHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout // _MILLISECOND,
        topics=None if names is None else tuple(names),
        regex=getattr(request, "subscribed_topic_regex", None),
        assignor=request.server_assignor,
        owned=_owned(request.topic_partitions),
        client_id=context.client_id,
        client_host=context.client_host,
        fresh_id=new_member_suffix(),
        member_id_required=context.version >= 1,
    )


def _owned(topics: "Iterable[OldestTopic | NewestTopic] | None") -> Assignment | None:
    if topics is None:
        return None
    owned: dict[UUID, frozenset[int]] = {}
    for topic in topics:
        topic_id = topic.topic_id or UUID(int=0)
        owned[topic_id] = owned.get(topic_id, frozenset()) | frozenset(topic.partitions)
    return {topic_id: partitions for topic_id, partitions in owned.items() if partitions}


def _fields(reply: HeartbeatReply) -> Mapping[str, object]:
    return {
        "throttle_time": 0,
        "error_code": reply.error_code,
        "error_message": reply.error_message,
        "member_id": reply.member_id,
        "member_epoch": reply.member_epoch,
        "heartbeat_interval": reply.heartbeat_interval_ms,
        "assignment": None if reply.assignment is None else _assignment(reply.assignment),
    }


def _assignment(assignment: Assignment) -> Mapping[str, object]:
    return {
        "topic_partitions": [
            {"topic_id": topic_id, "partitions": sorted(partitions)}
            for topic_id, partitions in assignment.items()
        ]
    }


API = Api(key=68, name="ConsumerGroupHeartbeat", versions=range(2), handle=handle)
