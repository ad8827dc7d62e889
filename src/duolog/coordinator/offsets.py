"""Committed offsets: who may commit, what is kept, and when it expires.

Source: Kafka `OffsetMetadataManager`, `ClassicGroup.validateOffsetCommit` and
`ClassicGroup.offsetExpirationCondition`.
"""

from collections.abc import Mapping
from typing import Final

from duolog.coordinator.errors import (
    NONE,
    OFFSET_METADATA_TOO_LARGE,
    GroupIdNotFound,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.messages import CommitRequest, OffsetsReply
from duolog.coordinator.rebalance import Step
from duolog.coordinator.records import OffsetChange, OffsetRecord
from duolog.core.ids import TopicPartition

Offsets = dict[TopicPartition, OffsetRecord]

_KEEPS_SESSION: Final = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)


def check_commit(group: Group | None, request: CommitRequest, step: Step) -> None:
    """Let through what the group may commit, and take it as a sign of life.

    Raises:
        GroupIdNotFound, IllegalGeneration: a generation of a group that does not exist.
        UnknownMemberId, FencedInstanceId: not a member, or not any more; a commit without a member
            is for groups without members.
        RebalanceInProgress: the members have joined and wait for their assignment.
    """
    if group is None:
        _check_unknown_group(request)
        return
    anonymous = request.generation < 0 and not request.member_id and request.instance_id is None
    if group.state is GroupState.EMPTY and request.generation < 0:
        return
    if anonymous:
        raise UnknownMemberId(f'group "{group.group_id}" has members; commit as one of them')
    member = group.member(request.member_id, request.instance_id)
    if request.generation != group.generation:
        raise IllegalGeneration(f'group "{group.group_id}" is at generation {group.generation}')
    if group.state is GroupState.COMPLETING_REBALANCE:
        raise RebalanceInProgress(f'group "{group.group_id}" is rebalancing')
    if group.state in _KEEPS_SESSION:
        member.touch(step.now.monotonic_ms)


def commit(request: CommitRequest, step: Step) -> OffsetsReply:
    """Write a record for each offset whose metadata is not too long; return the error codes."""
    now_ms = step.now.wall_ms
    expires_at_ms = -1 if request.retention_ms is None else now_ms + request.retention_ms
    error_codes = {}
    for topic_partition, given in request.offsets.items():
        if len(given.metadata.encode()) > step.settings.offset_metadata_bytes_max:
            error_codes[topic_partition] = OFFSET_METADATA_TOO_LARGE
            continue
        error_codes[topic_partition] = NONE
        value = OffsetRecord(
            given.offset, given.leader_epoch, given.metadata, now_ms, expires_at_ms
        )
        step.outcome.records.append(OffsetChange(request.group_id, topic_partition, value))
    return OffsetsReply(error_codes)


def expired_offsets(
    group: Group, offsets: Mapping[TopicPartition, OffsetRecord], now_ms: int, retention_ms: int
) -> list[TopicPartition]:
    """Return the offsets that nobody needs any more at `now_ms`.

    | the group                              | an offset expires `retention_ms` after    |
    |----------------------------------------|-------------------------------------------|
    | never had members                      | its commit                                |
    | is empty                               | the last member left                      |
    | is stable, of the consumer protocol    | its commit, if nobody reads the topic     |
    | is anything else                       | never                                     |

    An offset that was committed with a retention of its own goes by that.
    """
    since = _retained_since(group, offsets)
    return [
        topic_partition
        for topic_partition, value in offsets.items()
        if topic_partition in since and _due(value, since[topic_partition], now_ms, retention_ms)
    ]


def _due(value: OffsetRecord, since_ms: int, now_ms: int, retention_ms: int) -> bool:
    if value.expires_at_ms != -1:
        return now_ms >= value.expires_at_ms
    return now_ms - since_ms >= retention_ms


def _retained_since(
    group: Group, offsets: Mapping[TopicPartition, OffsetRecord]
) -> dict[TopicPartition, int]:
    committed = {key: value.committed_at_ms for key, value in offsets.items()}
    if group.protocol_type is None:
        return committed
    if group.state is GroupState.EMPTY:
        if group.state_changed_at_ms == -1:
            return committed
        return dict.fromkeys(offsets, group.state_changed_at_ms)
    topics = group.subscribed_topics() if group.state is GroupState.STABLE else None
    if topics is None:
        return {}
    return {key: at_ms for key, at_ms in committed.items() if key.topic not in topics}


def _check_unknown_group(request: CommitRequest) -> None:
    if request.generation < 0:
        return
    message = f'there is no group "{request.group_id}"'
    if request.group_must_exist:
        raise GroupIdNotFound(message)
    raise IllegalGeneration(message)
