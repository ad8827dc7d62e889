"""Requests about the committed offsets of groups: commit, fetch, delete, expire.

The contract is that of `GroupCoordinator`: the caller appends the records of an outcome, and sends
the deferred replies when they are durable.
"""

from collections.abc import Iterable, Mapping

from duolog.coordinator.errors import InvalidGroupId
from duolog.coordinator.group_store import GroupStore, check_length
from duolog.coordinator.messages import CommitRequest, Letter, Moment, Outcome, ReplyTo
from duolog.coordinator.offsets import (
    TopicIds,
    check_commit,
    commit,
    delete_offsets,
    expire_offsets,
    forget_offsets,
)
from duolog.coordinator.records import OffsetRecord
from duolog.coordinator.settings import GroupSettings
from duolog.coordinator.step import Step
from duolog.core.ids import TopicPartition


class GroupOffsets:
    """The committed offsets of all groups."""

    def __init__(self, store: GroupStore, settings: GroupSettings) -> None:
        self._store = store
        self._settings = settings

    def commit(self, request: CommitRequest, to: ReplyTo, now: Moment) -> Outcome:
        """OffsetCommit and TxnOffsetCommit; the reply waits for the records.

        Raises:
            GroupError: no commit to this group is allowed now, or not by this member.
        """
        check_length(request.group_id)
        self._store.ensure_loaded()
        step = Step(self._settings, now)
        check_commit(self._store.by_id.get(request.group_id), request, step)
        step.outcome.deferred.append(Letter(to, commit(request, step)))
        return self._store.sent(step)

    def fetch(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> Mapping[TopicPartition, OffsetRecord]:
        """Return the offsets of a group that count, none if it has none.

        Raises:
            GroupError: groups are still being loaded, or the member may not ask.
        """
        self._store.ensure_loaded()
        group = self._store.by_id.get(group_id)
        if group is not None:
            group.check_fetch(member_id, member_epoch)
        return self._store.offsets.of(group_id)

    def unstable(self, group_id: str) -> frozenset[TopicPartition]:
        """Return the partitions whose offset an open transaction may replace."""
        return self._store.offsets.pending(group_id)

    def keys(self, group_id: str) -> list[TopicPartition]:
        """Return every partition that a group has an offset of, durable or in a transaction."""
        durable, pending = self._store.offsets.of(group_id), self.unstable(group_id)
        return [*durable, *(key for key in pending if key not in durable)]

    def delete(
        self, group_id: str, asked: Iterable[TopicPartition], to: ReplyTo, now: Moment
    ) -> Outcome:
        """OffsetDelete; the reply waits for the tombstones.

        Raises:
            GroupError: there is no such group, or the subscriptions of its members are unknown.
        """
        if not group_id:
            raise InvalidGroupId("the group id is empty")
        group = self._store.known(group_id)
        group.check_offset_delete()
        step = Step(self._settings, now)
        reply = delete_offsets(group, asked, self._store.offsets, step)
        step.outcome.deferred.append(Letter(to, reply))
        return self._store.sent(step)

    def forget(
        self, group_id: str, keys: Iterable[TopicPartition], topic_ids: TopicIds, now: Moment
    ) -> Outcome:
        """Write tombstones for the offsets of a group that were of topics which are gone."""
        step = Step(self._settings, now)
        forget_offsets(group_id, keys, topic_ids, self._store.offsets, step)
        return self._store.sent(step)

    def expire(self, group_id: str, now: Moment) -> Outcome:
        """Write tombstones for expired offsets, and for a group that is empty."""
        step = Step(self._settings, now)
        group = self._store.by_id.get(group_id)
        # A commit in flight would be lost by a tombstone that is written after it.
        if group is not None and not self._store.in_flight(group_id):
            expire_offsets(group, self._store.offsets, step)
        return self._store.sent(step)
