"""OffsetFetch, API key 9, versions 1-9.

Behaviour: a partition without an offset gets -1 and no error, also in a group that does not exist.
Null topics mean all offsets of the group. Only durable offsets are shown, so `require_stable` has
nothing to wait for.

v2  null topics; error code of the group
v5  committed leader epoch
v6  flexible
v7  require stable, KIP-447
v8  several groups
v9  member id and epoch, for groups of the consumer protocol

Source: Kafka OffsetFetchRequest.json; OffsetMetadataManager.fetchOffsets.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from duolog.broker.api import Api, RequestContext
from duolog.coordinator.errors import NONE, GroupError
from duolog.coordinator.records import OffsetRecord
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.broker.groups import Groups

Fields = Mapping[str, Any]

_NO_OFFSET = OffsetRecord(offset=-1, leader_epoch=-1, metadata="", committed_at_ms=-1)


def handle(request: Any, context: RequestContext) -> None:
    groups = context.broker.groups
    if context.version >= 8:
        found = [_fetch(groups, group.group_id, group.topics) for group in request.groups]
        context.reply({"throttle_time": 0, "groups": found})
        return
    one = _fetch(groups, request.group_id, request.topics)
    # Version 1 has no place for the group's error but the partitions.
    context.reply({"throttle_time": 0, **one})


def _fetch(groups: "Groups", group_id: str, topics: Any) -> Fields:
    try:
        offsets = groups.offsets(group_id)
    except GroupError as error:
        asked = _asked(topics or ())
        return _group(group_id, [(key, _NO_OFFSET) for key in asked], error.code)
    if topics is None:
        return _group(group_id, sorted(offsets.items()), NONE)
    return _group(group_id, [(key, offsets.get(key, _NO_OFFSET)) for key in _asked(topics)], NONE)


def _asked(topics: Iterable[Any]) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes
    ]


def _group(
    group_id: str, offsets: Iterable[tuple[TopicPartition, OffsetRecord]], error_code: int
) -> Fields:
    topics: dict[str, list[Fields]] = {}
    for key, value in offsets:
        topics.setdefault(key.topic, []).append(
            {
                "partition_index": key.partition,
                "committed_offset": value.offset,
                "committed_leader_epoch": value.leader_epoch,
                "metadata": value.metadata,
                "error_code": error_code,
            }
        )
    return {
        "group_id": group_id,
        "error_code": error_code,
        "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
    }


API = Api(key=9, name="OffsetFetch", versions=range(1, 10), handle=handle)
