"""Coordinator for the groups of the new consumer protocol (KIP-848).

The contract is that of `GroupCoordinator`, which owns an instance and shares its groups with it: a
group id belongs to a group of one protocol. Unlike there, a record is replayed when it is staged.

Source: Kafka `GroupCoordinatorShard`, `GroupMetadataManager`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from duolog.coordinator.any_group import AnyGroup
from duolog.coordinator.consumer_groups.classic import join, leave_group, stay, sync
from duolog.coordinator.consumer_groups.draft import ConsumerStep, Draft
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.heartbeat import (
    JOIN_EPOCH,
    check_request,
    expire,
    heartbeat,
    leave,
    stay_alive,
)
from duolog.coordinator.consumer_groups.held import HeldLetters
from duolog.coordinator.consumer_groups.messages import (
    DescribedConsumer,
    DescribedConsumerGroup,
    MemberHeartbeat,
)
from duolog.coordinator.consumer_groups.migration import (
    downgradable,
    downgrade,
    upgradable,
    upgrade,
)
from duolog.coordinator.consumer_groups.records import ConsumerGroupRecord, EpochChange
from duolog.coordinator.consumer_groups.regex import MatchesAtOnce, TopicMatcher
from duolog.coordinator.consumer_groups.topics import NoTopics, TopicView
from duolog.coordinator.errors import GroupIdNotFound, RebalanceInProgress
from duolog.coordinator.group import Group
from duolog.coordinator.messages import (
    HeartbeatRequest,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    Moment,
    Outcome,
    ReplyTo,
    SyncRequest,
)
from duolog.coordinator.records import CoordinatorRecord
from duolog.coordinator.settings import ConsumerGroupSettings
from duolog.coordinator.step import Step as GroupStep

RETRY_PAUSE_MS: Final = 500
"""Same value as in Kafka's `CoordinatorTimer`."""


class ConsumerGroups:
    """The groups of the new protocol among all groups.

    Attributes:
        topics: the broker's topics, as they are now.
        matcher: matches subscriptions by expression against these topics.
        settings_of: the settings of a group, which may have some of its own.
        held: letters that wait for earlier records of their group.
    """

    def __init__(
        self, groups: dict[str, AnyGroup], settings: ConsumerGroupSettings | None = None
    ) -> None:
        self.topics: TopicView = NoTopics()
        self.matcher: TopicMatcher = MatchesAtOnce(lambda: self.topics)
        self.settings = settings or ConsumerGroupSettings()
        self.settings_of: Callable[[str], ConsumerGroupSettings] = lambda _: self.settings
        self._groups = groups
        self.held = HeldLetters()

    # Requests

    def heartbeat(self, request: MemberHeartbeat, to: ReplyTo, now: Moment) -> Outcome:
        """ConsumerGroupHeartbeat; see `heartbeat`.

        Raises:
            GroupError: the member must join again, or can not.
        """
        check_request(request, self.settings.assignors)
        if not request.member_id:
            request = replace(request, member_id=request.fresh_id)
        step = self._step(request.group_id, now)
        if request.member_epoch < JOIN_EPOCH:
            reply = leave(self._find(request.group_id), request, step)
        elif request.member_epoch == JOIN_EPOCH:
            reply = heartbeat(self._find_or_begin(request.group_id, step), request)
        else:
            reply = heartbeat(Draft(self._find(request.group_id), step), request)
        step.outcome.deferred.append(Letter(to, reply))
        return self._counts(request.group_id, step)

    def extend_session(self, request: MemberHeartbeat, now: Moment) -> None:
        """Extend the session of a member whose heartbeat waits, unless it will be refused."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            step = self._step(request.group_id, now)
            stay_alive(group, request, step)
            self._counts(request.group_id, step)

    def describe(self, group_id: str) -> DescribedConsumerGroup:
        """Return the group.

        Raises:
            GroupIdNotFound: there is no such group of this protocol.
        """
        group = self._find(group_id)
        members = tuple(_described(group, member_id) for member_id in group.members)
        return DescribedConsumerGroup(
            group_id,
            group.state.value,
            group.epoch,
            group.target_epoch,
            group.assignor(self.settings.assignors),
            members,
        )

    # Members of the classic protocol

    def join(self, request: JoinRequest, to: ReplyTo, now: Moment) -> Outcome:
        """JoinGroup of a group that has members; see `classic`.

        Raises:
            GroupError: the member can not join.
        """
        step = self._step(request.group_id, now)
        join(Draft(self._find(request.group_id), step), request, to)
        return self._counts(request.group_id, step)

    def sync(self, request: SyncRequest, to: ReplyTo, now: Moment) -> Outcome:
        """SyncGroup; see `classic`.

        Raises:
            GroupError: the member must find its coordinator again.
        """
        step = self._step(request.group_id, now)
        sync(self._find(request.group_id), request, to, step)
        return self._counts(request.group_id, step)

    def classic_heartbeat(self, request: HeartbeatRequest, now: Moment) -> None:
        """Heartbeat; see `classic`.

        Raises:
            RebalanceInProgress: the member lives, and must join again.
            GroupError: it must find its coordinator again.
        """
        step = self._step(request.group_id, now)
        must_join = stay(self._find(request.group_id), request, step)
        self._counts(request.group_id, step)
        if must_join:
            raise RebalanceInProgress(f"Member {request.member_id} must join again.")

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], now: Moment
    ) -> tuple[tuple[LeftMember, ...], Outcome]:
        """LeaveGroup; returns the result for each member."""
        step = self._step(group_id, now)
        left = leave_group(Draft(self._find(group_id), step), leaving)
        return left, self._counts(group_id, step)

    def downgrade(self, group_id: str, classic: GroupStep) -> None:
        """Convert a group to a classic group when no member uses the new protocol any more."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup) and downgradable(group, classic):
            classic.outcome.records += group.tombstones()
            self._groups[group_id] = downgrade(group, self.topics, classic)

    # Time

    def expire(self, group: ConsumerGroup, now: Moment) -> Outcome:
        """Handle the timeouts of sessions and of revocations."""
        step = self._step(group.group_id, now)
        expire(group, step)
        return self._counts(group.group_id, step)

    # The log

    def replay(self, record: ConsumerGroupRecord) -> None:
        """Apply a record that is on its way to the log, or that a start found there."""
        group = self._groups.get(record.group_id)
        if isinstance(record, EpochChange) and record.epoch is None:
            # After a conversion, the classic group of this id is there already.
            if isinstance(group, ConsumerGroup):
                del self._groups[record.group_id]
            return
        if not isinstance(group, ConsumerGroup):
            if record.encode_value() is None:
                return
            # An empty classic group is replaced; its tombstone is among these records.
            group = self._begin(record.group_id)
            self._groups[record.group_id] = group
        group.replay(record)

    def stage(self, outcome: Outcome) -> None:
        """Apply an outcome whose records are staged."""
        for record in outcome.records:
            if isinstance(record, ConsumerGroupRecord):
                self.replay(record)
        outcome.when_staged()

    def abandoned(self, records: Iterable[CoordinatorRecord], now: Moment) -> list[Letter]:
        """Return the held replies of groups whose records were not stored.

        Timeouts that have passed are retried after a pause.
        """
        letters = []
        for group_id in {r.group_id for r in records if isinstance(r, ConsumerGroupRecord)}:
            letters += self.held.refused(group_id)
            group = self._groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                group.soft.put_off(now.monotonic_ms, now.monotonic_ms + RETRY_PAUSE_MS)
        return letters

    def _counts(self, group_id: str, step: ConsumerStep) -> Outcome:
        """Return what follows from a step that did not fail."""

        def change_soft() -> None:
            group = self._groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                for change in step.soft_changes:
                    change(group.soft)

        if step.outcome.records:
            step.outcome.when_staged = change_soft
        else:
            change_soft()
        return step.outcome

    def _step(self, group_id: str, now: Moment) -> ConsumerStep:
        return ConsumerStep(self.settings_of(group_id), self.topics, self.matcher, now)

    def _find(self, group_id: str) -> ConsumerGroup:
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")
        return group

    def _find_or_begin(self, group_id: str, step: ConsumerStep) -> Draft:
        """Return a group to join; a classic one becomes a group of the new protocol."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return Draft(group, step)
        draft = Draft(self._begin(group_id), step)
        if isinstance(group, Group):
            if group.members and not upgradable(group, step.settings):
                self._find(group_id)
            upgrade(group, draft)
        return draft

    def _begin(self, group_id: str) -> ConsumerGroup:
        return ConsumerGroup(group_id, settings=self.settings_of(group_id))


def _described(group: ConsumerGroup, member_id: str) -> DescribedConsumer:
    member = group.members[member_id]
    metadata = member.metadata
    return DescribedConsumer(
        member_id,
        metadata.instance_id,
        metadata.rack_id,
        member.current.epoch,
        metadata.client_id,
        metadata.client_host,
        metadata.topics,
        metadata.regex or "",
        member.current.assigned,
        group.targets.get(member_id, {}),
        metadata.classic is not None,
    )
