"""All groups of a broker, behind one interface.

Each request is `(request, now) -> Outcome`. What the caller owes in return, in this order: append
`outcome.records` and `stage` it; send `outcome.replies`; when the records are durable, `replay`
each and then call `settle`, whose replies may leave; when they can not be made durable, call
`abandon`. When `next_deadline_ms` has passed, call `expire` for that group.

At a start: `replay` every record and `end_transaction` for every marker of `__consumer_offsets` in
the order of the log, then `restore` to its end. Until then every request is refused with
COORDINATOR_LOAD_IN_PROGRESS.

Records of groups of the new protocol change the state when they are on their way to the log, by
`stage`; all others when they are durable, by `replay`. What a step fails at, or the log refuses,
changes nothing.

Source: Kafka `GroupCoordinatorShard`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from duolog.coordinator.any_group import AnyGroup
from duolog.coordinator.consumer_groups.coordinator import ConsumerGroups
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.messages import DescribedConsumerGroup, MemberHeartbeat
from duolog.coordinator.consumer_groups.records import ConsumerGroupRecord
from duolog.coordinator.errors import (
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    InvalidGroupId,
    InvalidSessionTimeout,
    UnknownMemberId,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.join import join
from duolog.coordinator.leave import heartbeat, leave
from duolog.coordinator.messages import (
    CommitRequest,
    DeletedReply,
    DescribedGroup,
    HeartbeatRequest,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    ListedGroup,
    Moment,
    OffsetsTransaction,
    Outcome,
    ReplyTo,
    SyncRequest,
)
from duolog.coordinator.offset_store import OffsetStore
from duolog.coordinator.offsets import (
    TopicIds,
    check_commit,
    commit,
    delete_group,
    delete_offsets,
    expire_offsets,
    forget_offsets,
)
from duolog.coordinator.rebalance import cancel_syncs, expire, prepare, release
from duolog.coordinator.records import (
    TEXT_BYTES_MAX,
    CoordinatorRecord,
    GroupChange,
    GroupRecord,
    OffsetChange,
    OffsetRecord,
)
from duolog.coordinator.settings import GroupSettings
from duolog.coordinator.step import Step
from duolog.coordinator.sync import sync
from duolog.core.ids import TopicPartition


class GroupCoordinator:
    """Groups and their committed offsets."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self._settings = settings or GroupSettings()
        self._groups: dict[str, AnyGroup] = {}
        self.consumer = ConsumerGroups(self._groups, self._settings.consumer)
        self._offsets = OffsetStore()
        # Records that were handed out and neither replayed nor abandoned, by group.
        self._in_flight: Counter[str] = Counter()
        self._loading = True

    # Membership

    def join(self, request: JoinRequest, to: ReplyTo, now: Moment) -> Outcome:
        """JoinGroup; see `duolog.coordinator.join`.

        Raises:
            GroupError: the member can not join.
        """
        self._ensure_ready(request.group_id)
        low, high = self._settings.session_timeout_min_ms, self._settings.session_timeout_max_ms
        if not low <= request.session_timeout_ms <= high:
            raise InvalidSessionTimeout(
                f"session timeout of {request.session_timeout_ms} ms is not in {low} to {high} ms"
            )
        if request.group_id not in self._groups and request.member_id:
            raise UnknownMemberId(f'there is no group "{request.group_id}"')
        found = self._groups.get(request.group_id)
        if isinstance(found, ConsumerGroup) and found.members:
            outcome = self.consumer.join(request, to, now)
            return self._sent_or_held(request.group_id, outcome, now)
        step = Step(self._settings, now)
        group = found if isinstance(found, Group) else Group(request.group_id)
        if isinstance(found, ConsumerGroup):
            # An empty one of the new protocol becomes a classic one.
            if request.member_id:
                raise UnknownMemberId(f'group "{request.group_id}" is empty')
            step.outcome.records += found.tombstones()
        join(group, request, to, step)
        self._groups[request.group_id] = group
        outcome = self._sent(step)
        self._maybe_forget(group)
        return outcome

    def consumer_heartbeat(self, request: MemberHeartbeat, to: ReplyTo, now: Moment) -> Outcome:
        """ConsumerGroupHeartbeat; see `duolog.coordinator.consumer_groups`.

        Raises:
            GroupError: the member must join again, or can not.
        """
        self._ensure_loaded()
        outcome = self.consumer.heartbeat(request, to, now)
        return self._sent_or_held(request.group_id, outcome, now)

    def sync(self, request: SyncRequest, to: ReplyTo, now: Moment) -> Outcome:
        """SyncGroup; see `duolog.coordinator.sync`.

        Raises:
            GroupError: the member must find its coordinator again.
        """
        if self._is_modern(request.group_id):
            outcome = self.consumer.sync(request, to, now)
            return self._sent_or_held(request.group_id, outcome, now)
        step = Step(self._settings, now)
        sync(self._member_group(request.group_id), request, to, step)
        return self._sent(step)

    def heartbeat(self, request: HeartbeatRequest, now: Moment) -> None:
        """Heartbeat; returns if all is well.

        Raises:
            GroupError: the member must join again, or find its coordinator again.
        """
        if self._is_modern(request.group_id):
            self.consumer.classic_heartbeat(request, now)
        else:
            heartbeat(self._member_group(request.group_id), request, Step(self._settings, now))

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], now: Moment
    ) -> tuple[tuple[LeftMember, ...], Outcome]:
        """LeaveGroup; returns what became of each member.

        Raises:
            GroupError: there is no such group.
        """
        if self._is_modern(group_id):
            left, outcome = self.consumer.leave(group_id, leaving, now)
            return left, self._sent(Step(self._settings, now, outcome))
        group = self._member_group(group_id)
        step = Step(self._settings, now)
        left = leave(group, leaving, step)
        outcome = self._sent(step)
        self._maybe_forget(group)
        return left, outcome

    # Offsets

    def commit(self, request: CommitRequest, to: ReplyTo, now: Moment) -> Outcome:
        """OffsetCommit and TxnOffsetCommit; the reply waits for the records.

        Raises:
            GroupError: no commit to this group is allowed now, or not by this member.
        """
        _check_length(request.group_id)
        self._ensure_loaded()
        step = Step(self._settings, now)
        check_commit(self._groups.get(request.group_id), request, step)
        step.outcome.deferred.append(Letter(to, commit(request, step)))
        return self._sent(step)

    def offsets(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> Mapping[TopicPartition, OffsetRecord]:
        """Return the offsets of a group that count, none if it has none.

        Raises:
            GroupError: groups are still being loaded, or the member may not ask.
        """
        self._ensure_loaded()
        group = self._groups.get(group_id)
        if group is not None:
            group.check_fetch(member_id, member_epoch)
        return self._offsets.of(group_id)

    def unstable_offsets(self, group_id: str) -> frozenset[TopicPartition]:
        """Return the partitions whose offset an open transaction may replace."""
        return self._offsets.pending(group_id)

    def delete_offsets(
        self, group_id: str, asked: Iterable[TopicPartition], to: ReplyTo, now: Moment
    ) -> Outcome:
        """OffsetDelete; the reply waits for the tombstones.

        Raises:
            GroupError: there is no such group, or the subscriptions of its members are unknown.
        """
        if not group_id:
            raise InvalidGroupId("the group id is empty")
        group = self._known_group(group_id)
        group.check_offset_delete()
        step = Step(self._settings, now)
        reply = delete_offsets(group, asked, self._offsets, step)
        step.outcome.deferred.append(Letter(to, reply))
        return self._sent(step)

    def offset_keys(self, group_id: str) -> list[TopicPartition]:
        """Return every partition that a group has an offset of, durable or in a transaction."""
        durable = self._offsets.of(group_id)
        return [*durable, *(key for key in self._offsets.pending(group_id) if key not in durable)]

    def forget_offsets(
        self, group_id: str, keys: Iterable[TopicPartition], topic_ids: TopicIds, now: Moment
    ) -> Outcome:
        """Write tombstones for the offsets of a group that were of topics which are gone."""
        step = Step(self._settings, now)
        forget_offsets(group_id, keys, topic_ids, self._offsets, step)
        return self._sent(step)

    def expire_offsets(self, group_id: str, now: Moment) -> Outcome:
        """Write tombstones for expired offsets, and for a group that is empty."""
        step = Step(self._settings, now)
        group = self._groups.get(group_id)
        # A commit in flight would be lost by a tombstone that is written after it.
        if group is not None and not self._in_flight[group_id]:
            expire_offsets(group, self._offsets, step)
        return self._sent(step)

    # Administration

    def describe(self, group_id: str) -> DescribedGroup | None:
        """Return a classic group; None if there is no such group.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self._ensure_loaded()
        group = self._groups.get(group_id)
        return group.described() if isinstance(group, Group) else None

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        """Return a group of the new protocol.

        Raises:
            GroupError: there is none of this id, or groups are still being loaded.
        """
        self._ensure_ready(group_id)
        return self.consumer.describe(group_id)

    def list_groups(self) -> Iterator[ListedGroup]:
        """Yield every group; others may come and go meanwhile.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self._ensure_loaded()
        found = (self._groups.get(group_id) for group_id in self.group_ids())
        return (group.listed() for group in found if group is not None)

    def group_ids(self) -> list[str]:
        """Return the id of every group, for work that is done group by group."""
        return list(self._groups)

    def check_delete(self, group_id: str) -> None:
        """Raise what `delete` would raise."""
        self._known_group(group_id).check_delete()

    def delete(self, group_id: str, to: ReplyTo, now: Moment) -> Outcome:
        """Delete a group and its offsets; the reply waits for the tombstones.

        Raises:
            GroupError: there is no such group, or it has members.
        """
        group = self._known_group(group_id)
        step = Step(self._settings, now)
        delete_group(group, self._offsets, step)
        step.outcome.deferred.append(Letter(to, DeletedReply()))
        return self._sent(step)

    # Time

    def next_deadline_ms(self, group_id: str) -> int | None:
        """Return the monotonic time at which to call `expire`; None for not at all."""
        group = self._groups.get(group_id)
        return None if group is None else group.next_deadline_ms()

    def expire(self, group_id: str, now: Moment) -> Outcome:
        """Do what is due for one group: sessions, joins and syncs that took too long."""
        step = Step(self._settings, now)
        group = self._groups.get(group_id)
        if isinstance(group, Group):
            expire(group, step)
        elif isinstance(group, ConsumerGroup):
            step = Step(self._settings, now, self.consumer.expire(group, now))
        outcome = self._sent(step)
        self._maybe_forget(group)
        return outcome

    def change_protocol(self, group_id: str, now: Moment) -> Outcome:
        """Convert a group to a classic group when no member uses the new protocol any more."""
        step = Step(self._settings, now)
        self.consumer.downgrade(group_id, step)
        return self._sent(step)

    # The log

    @property
    def loading(self) -> bool:
        return self._loading

    def stage(self, outcome: Outcome) -> None:
        """Apply those records of an outcome that count when they are on their way to the log."""
        self.consumer.stage(outcome)

    def replay(
        self,
        record: CoordinatorRecord,
        now: Moment,
        transaction: OffsetsTransaction | None = None,
    ) -> None:
        """Apply a record that the log has accepted."""
        if not self._loading:
            self._landed(record)
        if isinstance(record, OffsetChange):
            self._replay_offset(record, transaction)
        elif isinstance(record, GroupChange):
            self._replay_group(record, now)
        elif self._loading and isinstance(record, ConsumerGroupRecord):
            self.consumer.replay(record)

    def end_transaction(self, transaction: OffsetsTransaction, *, committed: bool) -> None:
        """Apply a marker that the log has accepted: offsets of the transaction count, or go."""
        for group_id in self._offsets.end_transaction(transaction, committed=committed):
            self._maybe_forget(self._groups.get(group_id))

    def restore(self, now: Moment) -> Iterator[str]:
        """End the loading, group by group; yield each group's id when it is as it was."""
        assert self._loading
        for group_id, group in list(self._groups.items()):
            group.restore(now)
            self._forget_if_nothing(group)
            yield group_id
        self._loading = False

    def settle(self, outcome: Outcome, now: Moment) -> list[Letter]:
        """Return the replies that may leave now that the records were replayed."""
        step = Step(self._settings, now)
        step.outcome.replies += outcome.deferred
        for group_id in _changed_groups(outcome):
            group = self._groups.get(group_id)
            if isinstance(group, Group):
                release(group, step)
        for group_id in {record.group_id for record in outcome.records}:
            step.outcome.replies += self.consumer.held.released(group_id)
        return step.outcome.replies

    def abandon(self, outcome: Outcome, error_code: int, now: Moment, done: int = 0) -> Outcome:
        """Refuse all who waited for records: not durable, or not replayed but for the first `done`."""
        for record in outcome.records[done:]:
            self._landed(record)
        step = Step(self._settings, now)
        held = self.consumer.abandoned(outcome.records, now)
        for letter in (*outcome.deferred, *held):
            step.outcome.reply(letter.to, letter.reply.refused(error_code))
        for group_id in _changed_groups(outcome):
            group = self._groups.get(group_id)
            if isinstance(group, Group) and group.state is GroupState.COMPLETING_REBALANCE:
                cancel_syncs(group, step, error_code)
                prepare(group, step, "the assignment could not be stored")
        return self._sent(step)

    def durable_state(self) -> tuple[dict[str, GroupRecord], object]:
        """Return what the log holds: a replay of it from the start gives the same."""
        groups = {
            group_id: group.persisted
            for group_id, group in self._groups.items()
            if isinstance(group, Group) and group.persisted is not None
        }
        return groups, self._offsets.durable_state()

    def _replay_offset(self, record: OffsetChange, transaction: OffsetsTransaction | None) -> None:
        self._offsets.replay(record, transaction)
        if record.value is not None:
            # A simple consumer's group is known by its offsets alone.
            self._groups.setdefault(record.group_id, Group(record.group_id))
        else:
            self._maybe_forget(self._groups.get(record.group_id))

    def _replay_group(self, record: GroupChange, now: Moment) -> None:
        group = self._groups.get(record.group_id)
        if record.value is None:
            if isinstance(group, Group):
                group.persisted = None
                self._maybe_forget(group)
            return
        if isinstance(group, ConsumerGroup) and not self._loading:
            return  # It took the place of the classic group while this record was on its way.
        if not isinstance(group, Group):
            group = self._groups[record.group_id] = Group(record.group_id)
        if self._loading:
            group.persisted = record.value
        else:
            group.accept(record.value, now.wall_ms)

    def _maybe_forget(self, group: AnyGroup | None) -> None:
        """Drop a group that holds nothing; while loading, who knows what the log holds of it?"""
        if group is not None and not self._loading:
            self._forget_if_nothing(group)

    def _forget_if_nothing(self, group: AnyGroup) -> None:
        if (
            group.forgettable
            and group.group_id not in self._offsets
            and not self._in_flight[group.group_id]
        ):
            del self._groups[group.group_id]

    def _sent_or_held(self, group_id: str, outcome: Outcome, now: Moment) -> Outcome:
        """Delay the reply of a request that wrote nothing but reports records that are not durable yet."""
        if not outcome.records and self.consumer.held.hold(group_id, outcome.deferred):
            return Outcome(outcome.replies)
        return self._sent(Step(self._settings, now, outcome))

    def _sent(self, step: Step) -> Outcome:
        for record in step.outcome.records:
            self._in_flight[record.group_id] += 1
            if isinstance(record, OffsetChange):
                self._offsets.sent(record)
            elif isinstance(record, ConsumerGroupRecord):
                self.consumer.held.sent(record.group_id)
        return step.outcome

    def _landed(self, record: CoordinatorRecord) -> None:
        if isinstance(record, OffsetChange):
            self._offsets.landed(record)
        elif isinstance(record, ConsumerGroupRecord):
            self.consumer.held.landed(record.group_id)
        self._in_flight[record.group_id] -= 1
        assert self._in_flight[record.group_id] >= 0, record
        if not self._in_flight[record.group_id]:
            del self._in_flight[record.group_id]

    def _is_modern(self, group_id: str) -> bool:
        self._ensure_ready(group_id)
        return isinstance(self._groups.get(group_id), ConsumerGroup)

    def _member_group(self, group_id: str) -> Group:
        self._ensure_ready(group_id)
        group = self._groups.get(group_id)
        if not isinstance(group, Group):
            raise UnknownMemberId(f'there is no classic group "{group_id}"')
        return group

    def _known_group(self, group_id: str) -> AnyGroup:
        self._ensure_loaded()
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f'there is no group "{group_id}"')
        return group

    def _ensure_ready(self, group_id: str) -> None:
        if not group_id:
            raise InvalidGroupId("the group id is empty")
        _check_length(group_id)
        self._ensure_loaded()

    def _ensure_loaded(self) -> None:
        if self._loading:
            raise CoordinatorLoadInProgress("groups are still being loaded")


def _check_length(group_id: str) -> None:
    if len(group_id.encode()) > TEXT_BYTES_MAX:
        raise InvalidGroupId(f"the group id is longer than {TEXT_BYTES_MAX} bytes")


def _changed_groups(outcome: Outcome) -> list[str]:
    return [record.group_id for record in outcome.records if isinstance(record, GroupChange)]
