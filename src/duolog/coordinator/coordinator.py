"""The group coordinator of a broker: all groups and their committed offsets.

Each request is `(request, now) -> Outcome`. Afterwards, the caller must, in this order:

1. Append `outcome.records` and `stage` the outcome.
2. Send `outcome.replies`.
3. When the records are durable, `replay` each by the store, then call `settle` and send its
   replies. If they cannot be made durable, call `abandon`.

When `next_deadline_ms` has passed, call `expire` for that group.

`store` holds the groups; it is loaded from the log on start. `offsets` handles the requests about
committed offsets.

Records of groups of the new protocol change the state when they are staged, all others when they
are replayed after they are durable. A step that fails, or whose records the log rejects, changes
nothing.

Source: Kafka `GroupCoordinatorShard`.
"""

from collections.abc import Iterable, Iterator

from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.messages import DescribedConsumerGroup, MemberHeartbeat
from duolog.coordinator.errors import InvalidSessionTimeout, UnknownMemberId
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.group_offsets import GroupOffsets
from duolog.coordinator.group_store import GroupStore
from duolog.coordinator.join import join
from duolog.coordinator.leave import heartbeat, leave
from duolog.coordinator.messages import (
    DeletedReply,
    DescribedGroup,
    HeartbeatRequest,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    ListedGroup,
    Moment,
    Outcome,
    ReplyTo,
    SyncRequest,
)
from duolog.coordinator.offsets import delete_group
from duolog.coordinator.rebalance import cancel_syncs, expire, prepare, release
from duolog.coordinator.records import GroupChange
from duolog.coordinator.settings import GroupSettings
from duolog.coordinator.step import Step
from duolog.coordinator.sync import sync


class GroupCoordinator:
    """The groups of a broker.

    Attributes:
        store: the groups and their offsets, as the log holds them.
        offsets: the requests about committed offsets.
        consumer: the groups of the new protocol.
    """

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self._settings = settings or GroupSettings()
        self.store = GroupStore(self._settings)
        self.consumer = self.store.consumer
        self.offsets = GroupOffsets(self.store, self._settings)
        self._groups = self.store.by_id

    # Membership

    def join(self, request: JoinRequest, to: ReplyTo, now: Moment) -> Outcome:
        """JoinGroup; see `duolog.coordinator.join`.

        Raises:
            GroupError: the member can not join.
        """
        self.store.ensure_ready(request.group_id)
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
        outcome = self.store.sent(step)
        self.store.maybe_forget(group)
        return outcome

    def consumer_heartbeat(self, request: MemberHeartbeat, to: ReplyTo, now: Moment) -> Outcome:
        """ConsumerGroupHeartbeat; see `duolog.coordinator.consumer_groups`.

        Raises:
            GroupError: the member must join again, or can not.
        """
        self.store.ensure_loaded()
        outcome = self.consumer.heartbeat(request, to, now)
        return self._sent_or_held(request.group_id, outcome, now)

    def sync(self, request: SyncRequest, to: ReplyTo, now: Moment) -> Outcome:
        """SyncGroup; see `duolog.coordinator.sync`.

        Raises:
            GroupError: the member must find its coordinator again.
        """
        if self.store.is_modern(request.group_id):
            outcome = self.consumer.sync(request, to, now)
            return self._sent_or_held(request.group_id, outcome, now)
        step = Step(self._settings, now)
        sync(self.store.of_members(request.group_id), request, to, step)
        return self.store.sent(step)

    def heartbeat(self, request: HeartbeatRequest, now: Moment) -> None:
        """Heartbeat; returns if the member is still part of the generation.

        Raises:
            GroupError: the member must join again, or find its coordinator again.
        """
        if self.store.is_modern(request.group_id):
            self.consumer.classic_heartbeat(request, now)
        else:
            heartbeat(self.store.of_members(request.group_id), request, Step(self._settings, now))

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], now: Moment
    ) -> tuple[tuple[LeftMember, ...], Outcome]:
        """LeaveGroup; returns the result for each member.

        Raises:
            GroupError: there is no such group.
        """
        if self.store.is_modern(group_id):
            left, outcome = self.consumer.leave(group_id, leaving, now)
            return left, self.store.sent(Step(self._settings, now, outcome))
        group = self.store.of_members(group_id)
        step = Step(self._settings, now)
        left = leave(group, leaving, step)
        outcome = self.store.sent(step)
        self.store.maybe_forget(group)
        return left, outcome

    # Administration

    def describe(self, group_id: str) -> DescribedGroup | None:
        """Return a classic group; None if there is no such group.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self.store.ensure_loaded()
        group = self._groups.get(group_id)
        return group.described() if isinstance(group, Group) else None

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        """Return a group of the new protocol.

        Raises:
            GroupError: there is none of this id, or groups are still being loaded.
        """
        self.store.ensure_ready(group_id)
        return self.consumer.describe(group_id)

    def list_groups(self) -> Iterator[ListedGroup]:
        """Yield every group; others may come and go meanwhile.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self.store.ensure_loaded()
        found = (self._groups.get(group_id) for group_id in self.store.ids())
        return (group.listed() for group in found if group is not None)

    def check_delete(self, group_id: str) -> None:
        """Raise what `delete` would raise."""
        self.store.known(group_id).check_delete()

    def delete(self, group_id: str, to: ReplyTo, now: Moment) -> Outcome:
        """Delete a group and its offsets; the reply waits for the tombstones.

        Raises:
            GroupError: there is no such group, or it has members.
        """
        group = self.store.known(group_id)
        step = Step(self._settings, now)
        delete_group(group, self.store.offsets, step)
        step.outcome.deferred.append(Letter(to, DeletedReply()))
        return self.store.sent(step)

    # Time

    def next_deadline_ms(self, group_id: str) -> int | None:
        """Return the monotonic time at which to call `expire`; None if there is no timeout."""
        group = self._groups.get(group_id)
        return None if group is None else group.next_deadline_ms()

    def expire(self, group_id: str, now: Moment) -> Outcome:
        """Handle the timeouts of one group: of sessions, joins and syncs."""
        step = Step(self._settings, now)
        group = self._groups.get(group_id)
        if isinstance(group, Group):
            expire(group, step)
        elif isinstance(group, ConsumerGroup):
            step = Step(self._settings, now, self.consumer.expire(group, now))
        outcome = self.store.sent(step)
        self.store.maybe_forget(group)
        return outcome

    def change_protocol(self, group_id: str, now: Moment) -> Outcome:
        """Convert a group to a classic group when no member uses the new protocol any more."""
        step = Step(self._settings, now)
        self.consumer.downgrade(group_id, step)
        return self.store.sent(step)

    # The log

    def stage(self, outcome: Outcome) -> None:
        """Apply the records of an outcome that take effect when they are staged."""
        self.consumer.stage(outcome)

    def settle(self, outcome: Outcome, now: Moment) -> list[Letter]:
        """Return the replies that can be sent now that the records were replayed."""
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
        """Fail the requests that waited for `outcome`; only `done` of its records were replayed."""
        for record in outcome.records[done:]:
            self.store.landed(record)
        step = Step(self._settings, now)
        held = self.consumer.abandoned(outcome.records, now)
        for letter in (*outcome.deferred, *held):
            step.outcome.reply(letter.to, letter.reply.refused(error_code))
        for group_id in _changed_groups(outcome):
            group = self._groups.get(group_id)
            if isinstance(group, Group) and group.state is GroupState.COMPLETING_REBALANCE:
                cancel_syncs(group, step, error_code)
                prepare(group, step, "the assignment could not be stored")
        return self.store.sent(step)

    def _sent_or_held(self, group_id: str, outcome: Outcome, now: Moment) -> Outcome:
        """Delay a reply that writes no records but reports records that are not durable yet."""
        if not outcome.records and self.consumer.held.hold(group_id, outcome.deferred):
            return Outcome(outcome.replies)
        return self.store.sent(Step(self._settings, now, outcome))


def _changed_groups(outcome: Outcome) -> list[str]:
    return [record.group_id for record in outcome.records if isinstance(record, GroupChange)]
