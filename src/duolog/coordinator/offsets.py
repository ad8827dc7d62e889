"""Requests that change offsets: records to write, results per partition, and expiry.

Source: Kafka `OffsetMetadataManager`.
"""

from collections.abc import Callable, Iterable
from uuid import UUID

from duolog.coordinator.any_group import AnyGroup
from duolog.coordinator.errors import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    NONE,
    OFFSET_METADATA_TOO_LARGE,
    GroupIdNotFound,
    IllegalGeneration,
)
from duolog.coordinator.messages import CommitRequest, OffsetsReply
from duolog.coordinator.offset_store import OffsetStore
from duolog.coordinator.records import TEXT_BYTES_MAX, OffsetChange, OffsetRecord
from duolog.coordinator.step import Step
from duolog.core.ids import TopicPartition

TopicIds = Callable[[str], frozenset[UUID]]
"""Returns the topic ids under which an offset for a topic name is valid; none without a topic."""

_GROUP_MUST_EXIST_VERSION = 9


def check_commit(group: AnyGroup | None, request: CommitRequest, step: Step) -> None:
    """Check that the member may commit offsets, and restart its session.

    Raises:
        GroupIdNotFound, IllegalGeneration: a generation of a group that does not exist.
        GroupError: the group refuses it.
    """
    if group is not None:
        group.check_commit(request, step)
    elif request.generation >= 0:
        message = f'there is no group "{request.group_id}"'
        if request.version >= _GROUP_MUST_EXIST_VERSION and not request.transactional:
            raise GroupIdNotFound(message)
        raise IllegalGeneration(message)


def commit(request: CommitRequest, step: Step) -> OffsetsReply:
    """Write a record for each offset whose metadata is not too long; return the error codes."""
    now_ms = step.now.wall_ms
    expires_at_ms = -1 if request.retention_ms is None else now_ms + request.retention_ms
    error_codes = {}
    for topic_partition, given in request.offsets.items():
        if _too_long(given.metadata, step.settings.offset_metadata_bytes_max):
            error_codes[topic_partition] = OFFSET_METADATA_TOO_LARGE
            continue
        error_codes[topic_partition] = NONE
        value = OffsetRecord(
            given.offset,
            given.leader_epoch,
            given.metadata,
            now_ms,
            expires_at_ms,
            given.topic_id,
        )
        step.outcome.records.append(OffsetChange(request.group_id, topic_partition, value))
    step.outcome.producer = request.producer
    return OffsetsReply(error_codes)


def delete_offsets(
    group: AnyGroup, asked: Iterable[TopicPartition], store: OffsetStore, step: Step
) -> OffsetsReply:
    """Write a tombstone for each stored offset whose topic no member of the group reads."""
    group_id = group.group_id
    asked = list(asked)
    read = {topic for topic in {key.topic for key in asked} if group.subscribes_to(topic)}
    known = store.known(group_id)
    step.outcome.records += (
        OffsetChange(group_id, key, None) for key in asked if key in known and key.topic not in read
    )
    return OffsetsReply(
        {key: GROUP_SUBSCRIBED_TO_TOPIC if key.topic in read else NONE for key in asked}
    )


def delete_group(group: AnyGroup, store: OffsetStore, step: Step) -> None:
    """Write the tombstones of a group and of all its offsets.

    Raises:
        NonEmptyGroup: it has members.
    """
    group.check_delete()
    keys = sorted(store.known(group.group_id))
    step.outcome.records += (OffsetChange(group.group_id, key, None) for key in keys)
    step.outcome.records += group.tombstones()


def forget_offsets(
    group_id: str,
    keys: Iterable[TopicPartition],
    topic_ids: TopicIds,
    store: OffsetStore,
    step: Step,
) -> None:
    """Write a tombstone for each of `keys` that has offsets of topics that are gone, and no other.

    A tombstone removes all offsets of its key, including one that a transaction is about to commit.
    The topic of a commit in flight is checked again when the commit is in the log.
    """
    alive: dict[str, frozenset[UUID]] = {}
    for key in keys:
        if key.topic not in alive:
            alive[key.topic] = topic_ids(key.topic)
        ids = alive[key.topic]
        offsets = store.values(group_id, key)
        if offsets and not any(offset.topic_id in ids for offset in offsets):
            step.outcome.records.append(OffsetChange(group_id, key, None))


def expire_offsets(group: AnyGroup, store: OffsetStore, step: Step) -> None:
    """Write tombstones for expired offsets, and for the group if it is empty afterwards.

    | group                                  | its offsets expire one retention after    |
    |----------------------------------------|-------------------------------------------|
    | never had members                      | the commit                                |
    | empty                                  | the last member left (new protocol: the   |
    |                                        | commit)                                   |
    | stable with the consumer protocol type,| the commit, if no member subscribes to    |
    | or of the new protocol                 | the topic                                 |
    | any other                              | never                                     |

    An offset that was committed with its own retention uses that. An offset that an open
    transaction will replace does not expire.
    """
    group_id = group.group_id
    pending = store.pending(group_id)
    read: dict[str, bool] = {}
    all_expired = not store.in_transactions(group_id)
    for key, offset in store.of(group_id).items():
        if key.topic not in read:
            read[key.topic] = group.subscribes_to(key.topic)
        if not read[key.topic] and key not in pending and _due(group, offset, step):
            step.outcome.records.append(OffsetChange(group_id, key, None))
        else:
            all_expired = False
    if all_expired and group.empty and not group.forgettable:
        step.outcome.records += group.tombstones()


def _too_long(metadata: str, allowed: int) -> bool:
    # Kafka's setting speaks of bytes, and it counts characters.
    return len(metadata) > allowed or len(metadata.encode()) > TEXT_BYTES_MAX


def _due(group: AnyGroup, offset: OffsetRecord, step: Step) -> bool:
    since_ms = group.retained_since_ms(offset)
    if since_ms is None:
        return False
    if offset.expires_at_ms != -1:
        return step.now.wall_ms >= offset.expires_at_ms
    return step.now.wall_ms - since_ms >= step.settings.offsets_retention_ms
