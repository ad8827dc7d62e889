"""OffsetFetch, API key 9, versions 1-9.

Behaviour: a partition without an offset gets -1 and no error, also in a group that does not exist.
Null topics mean all offsets of the group. Only durable offsets are shown. With `require_stable`, a
partition whose offset an open transaction may replace gets UNSTABLE_OFFSET_COMMIT: clients ask again.

An offset of a topic that was deleted does not count for one that was made under its name later.

v2  null topics; error code of the group
v5  committed leader epoch
v6  flexible
v7  require stable, KIP-447
v8  several groups
v9  member id and epoch, for groups of the consumer protocol

Source: Kafka OffsetFetchRequest.json; OffsetMetadataManager.fetchOffsets.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from duolog.broker.requests.api import Api, RequestContext
from duolog.coordinator.errors import NONE, UNSTABLE_OFFSET_COMMIT, GroupError
from duolog.coordinator.records import OffsetRecord
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.broker.groups.coordinator_service import GroupCoordinatorService

Fields = Mapping[str, Any]

_GROUP_ERROR_VERSION: Final = 2
_NO_OFFSET: Final = OffsetRecord(offset=-1, leader_epoch=-1, metadata="", committed_at_ms=-1)


def handle(request: Any, context: RequestContext) -> None:
    groups = context.broker.groups
    stable = getattr(request, "require_stable", False)
    if context.version >= 8:
        found = [_fetch(groups, group, context.version, stable=stable) for group in request.groups]
        context.reply({"throttle_time": 0, "groups": found})
        return
    one = _fetch(groups, request, context.version, stable=stable)
    context.reply({"throttle_time": 0, **one})


def _fetch(groups: "GroupCoordinatorService", asked: Any, version: int, *, stable: bool) -> Fields:
    member_id = getattr(asked, "member_id", None)
    try:
        offsets = groups.offsets(asked.group_id, member_id, getattr(asked, "member_epoch", -1))
    except GroupError as error:
        # Version 1 has no place for the group's error but the partitions.
        keys = _asked(asked.topics or ()) if version < _GROUP_ERROR_VERSION else ()
        rows = [(key, _NO_OFFSET, error.code) for key in keys]
        return _group(asked.group_id, rows, error.code)
    unstable = groups.unstable_offsets(asked.group_id) if stable else frozenset()
    keys = sorted(offsets) if asked.topics is None else _asked(asked.topics)
    alive = {name: groups.topic_ids(name) for name in {key.topic for key in keys}}
    rows = []
    for key in keys:
        value = offsets.get(key, _NO_OFFSET)
        if key in unstable:
            rows.append((key, _NO_OFFSET, UNSTABLE_OFFSET_COMMIT))
        elif value.topic_id in alive[key.topic]:
            rows.append((key, value, NONE))
        elif asked.topics is not None:
            rows.append((key, _NO_OFFSET, NONE))
    return _group(asked.group_id, rows, NONE)


def _asked(topics: Iterable[Any]) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes
    ]


def _group(
    group_id: str, rows: Iterable[tuple[TopicPartition, OffsetRecord, int]], error_code: int
) -> Fields:
    topics: dict[str, list[Fields]] = {}
    for key, value, code in rows:
        topics.setdefault(key.topic, []).append(
            {
                "partition_index": key.partition,
                "committed_offset": value.offset,
                "committed_leader_epoch": value.leader_epoch,
                "metadata": value.metadata,
                "error_code": code,
            }
        )
    return {
        "group_id": group_id,
        "error_code": error_code,
        "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
    }


API = Api(key=9, name="OffsetFetch", versions=range(1, 10), handle=handle)
