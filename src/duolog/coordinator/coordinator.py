"""All groups of a broker, behind one door.

Each request is `(request, now) -> Outcome`. What the caller owes in return, in this order: append
`outcome.records`; send `outcome.replies`; when the records are durable, `replay` each and then call
`settle`, whose replies may leave; when they can not be made durable, call `abandon`. When
`next_deadline_ms` has passed, call `expire` for that group.

At a start: `replay` every record of `__consumer_offsets` in the order of the log, then `loaded`.
Until then every request is refused with COORDINATOR_LOAD_IN_PROGRESS.

Source: Kafka `GroupCoordinatorShard`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from duolog.coordinator.errors import (
    CoordinatorLoadInProgress,
    InvalidGroupId,
    InvalidSessionTimeout,
    UnknownMemberId,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.join import join
from duolog.coordinator.leave import heartbeat, leave
from duolog.coordinator.messages import (
    CommitRequest,
    DescribedGroup,
    DescribedMember,
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
from duolog.coordinator.offsets import Offsets, check_commit, commit, expired_offsets
from duolog.coordinator.rebalance import Step, cancel_syncs, expire, prepare, release
from duolog.coordinator.records import (
    TEXT_BYTES_MAX,
    CoordinatorRecord,
    GroupChange,
    GroupRecord,
    OffsetChange,
    OffsetRecord,
)
from duolog.coordinator.settings import GroupSettings
from duolog.coordinator.sync import sync
from duolog.core.ids import TopicPartition

_NO_OFFSETS: Offsets = {}


class GroupCoordinator:
    """Groups and their committed offsets."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self._settings = settings or GroupSettings()
        self._groups: dict[str, Group] = {}
        self._offsets: dict[str, Offsets] = {}
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
        group = self._groups.setdefault(request.group_id, Group(request.group_id))
        step = Step(self._settings, now)
        try:
            join(group, request, to, step)
        finally:
            self._maybe_forget(group)
        return self._sent(step)

    def sync(self, request: SyncRequest, to: ReplyTo, now: Moment) -> Outcome:
        """SyncGroup; see `duolog.coordinator.sync`.

        Raises:
            GroupError: the member must find its place anew.
        """
        step = Step(self._settings, now)
        sync(self._member_group(request.group_id), request, to, step)
        return self._sent(step)

    def heartbeat(self, request: HeartbeatRequest, now: Moment) -> None:
        """Heartbeat; returns if all is well.

        Raises:
            GroupError: the member must join again, or find its place anew.
        """
        heartbeat(self._member_group(request.group_id), request, Step(self._settings, now))

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], now: Moment
    ) -> tuple[tuple[LeftMember, ...], Outcome]:
        """LeaveGroup; returns what became of each member.

        Raises:
            GroupError: there is no such group.
        """
        group = self._member_group(group_id)
        step = Step(self._settings, now)
        left = leave(group, leaving, step)
        self._maybe_forget(group)
        return left, self._sent(step)

    # Offsets

    def commit(self, request: CommitRequest, to: ReplyTo, now: Moment) -> Outcome:
        """OffsetCommit; the reply waits for the records.

        Raises:
            GroupError: the member, or nobody, may commit to this group now.
        """
        _check_length(request.group_id)
        self._ensure_loaded()
        step = Step(self._settings, now)
        check_commit(self._groups.get(request.group_id), request, step)
        step.outcome.deferred.append(Letter(to, commit(request, step)))
        return self._sent(step)

    def offsets(self, group_id: str) -> Mapping[TopicPartition, OffsetRecord]:
        """Return the durable offsets of a group, none if it has none.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self._ensure_loaded()
        return MappingProxyType(self._offsets.get(group_id, _NO_OFFSETS))

    def committed_topics(self) -> frozenset[str]:
        """Return the topics of which offsets are kept."""
        return frozenset(
            topic_partition.topic
            for offsets in self._offsets.values()
            for topic_partition in offsets
        )

    def remove_topic(self, topic: str, now: Moment) -> Outcome:
        """Forget the offsets of a topic that was deleted; a new topic of its name starts anew."""
        step = Step(self._settings, now)
        step.outcome.records += (
            OffsetChange(group_id, topic_partition, None)
            for group_id, offsets in self._offsets.items()
            for topic_partition in offsets
            if topic_partition.topic == topic
        )
        return self._sent(step)

    def expire_offsets(self, now: Moment) -> Outcome:
        """Write tombstones for offsets that nobody needs, and for groups that hold nothing."""
        step = Step(self._settings, now)
        for group in list(self._groups.values()):
            # A commit in flight would be lost behind a tombstone that knows nothing of it.
            if not self._in_flight[group.group_id]:
                self._expire_group(group, step)
        return self._sent(step)

    # Administration

    def describe(self, group_id: str) -> DescribedGroup | None:
        """Return the group; None if there is no such group.

        Raises:
            GroupError: the group id is empty, or groups are still being loaded.
        """
        self._ensure_ready(group_id)
        group = self._groups.get(group_id)
        return None if group is None else _described(group)

    def list_groups(self) -> Iterator[DescribedGroup]:
        """Yield every group, without members.

        Raises:
            CoordinatorLoadInProgress: try again.
        """
        self._ensure_loaded()
        for group in self._groups.values():
            yield DescribedGroup(group.group_id, group.state.value, group.protocol_type or "", "")

    # Time

    def next_deadline_ms(self, group_id: str) -> int | None:
        """Return the monotonic time at which to call `expire`; None for not at all."""
        group = self._groups.get(group_id)
        return None if group is None else group.next_deadline_ms()

    def expire(self, group_id: str, now: Moment) -> Outcome:
        """Do what is due for one group: sessions, joins and syncs that took too long."""
        step = Step(self._settings, now)
        group = self._groups.get(group_id)
        if group is not None:
            expire(group, step)
            self._maybe_forget(group)
        return self._sent(step)

    # The log

    @property
    def loading(self) -> bool:
        return self._loading

    def replay(self, record: CoordinatorRecord, now: Moment) -> None:
        """Apply a record that the log has accepted. The only place where durable state changes."""
        if not self._loading:
            self._landed(record)
        if isinstance(record, OffsetChange):
            self._replay_offset(record)
        else:
            self._replay_group(record, now)

    def loaded(self, now: Moment) -> list[str]:
        """End the loading; return the groups that have members, whose sessions begin now."""
        assert self._loading
        self._loading = False
        for group in list(self._groups.values()):
            group.restore(now.monotonic_ms)
            self._maybe_forget(group)
        return [group.group_id for group in self._groups.values() if group.members]

    def settle(self, outcome: Outcome, now: Moment) -> list[Letter]:
        """Return the replies that may leave now that the records were replayed."""
        step = Step(self._settings, now)
        step.outcome.replies += outcome.deferred
        for group_id in _changed_groups(outcome):
            group = self._groups.get(group_id)
            if group is not None:
                release(group, step)
        return step.outcome.replies

    def abandon(self, outcome: Outcome, error_code: int, now: Moment) -> Outcome:
        """Refuse everything that waited for the records: they could not be made durable."""
        for record in outcome.records:
            self._landed(record)
        step = Step(self._settings, now)
        for letter in outcome.deferred:
            step.outcome.reply(letter.to, letter.reply.refused(error_code))
        for group_id in _changed_groups(outcome):
            group = self._groups.get(group_id)
            if group is not None and group.state is GroupState.COMPLETING_REBALANCE:
                cancel_syncs(group, step, error_code)
                prepare(group, step, "the assignment could not be stored")
        return self._sent(step)

    def durable_state(self) -> tuple[dict[str, GroupRecord], dict[str, Offsets]]:
        """Return what the log holds: a replay of it from the start gives the same."""
        groups = {
            group_id: group.persisted
            for group_id, group in self._groups.items()
            if group.persisted is not None
        }
        return groups, {key: dict(offsets) for key, offsets in self._offsets.items()}

    def _replay_offset(self, record: OffsetChange) -> None:
        offsets = self._offsets.setdefault(record.group_id, {})
        if record.value is not None:
            offsets[record.topic_partition] = record.value
            # A simple consumer's group is known by its offsets alone.
            self._groups.setdefault(record.group_id, Group(record.group_id))
            return
        offsets.pop(record.topic_partition, None)
        if not offsets:
            del self._offsets[record.group_id]
        self._maybe_forget(self._groups.get(record.group_id))

    def _replay_group(self, record: GroupChange, now: Moment) -> None:
        if record.value is None:
            group = self._groups.get(record.group_id)
            if group is not None:
                group.persisted = None
                self._maybe_forget(group)
            return
        group = self._groups.setdefault(record.group_id, Group(record.group_id))
        if self._loading:
            group.persisted = record.value
        else:
            group.accept(record.value, now.wall_ms)

    def _expire_group(self, group: Group, step: Step) -> None:
        offsets = self._offsets.get(group.group_id, _NO_OFFSETS)
        retention_ms = self._settings.offsets_retention_ms
        expired = expired_offsets(group, offsets, step.now.wall_ms, retention_ms)
        step.outcome.records += (OffsetChange(group.group_id, key, None) for key in expired)
        idle = group.state is GroupState.EMPTY and not group.pending
        if idle and len(expired) == len(offsets) and group.persisted is not None:
            step.outcome.records.append(GroupChange(group.group_id, None))

    def _maybe_forget(self, group: Group | None) -> None:
        """Drop a group that holds nothing and of which the log holds nothing."""
        if (
            group is not None
            and group.state is GroupState.EMPTY
            and not group.members
            and not group.pending
            and group.persisted is None
            and group.group_id not in self._offsets
            and not self._in_flight[group.group_id]
            and not self._loading
        ):
            del self._groups[group.group_id]
            del self._in_flight[group.group_id]

    def _sent(self, step: Step) -> Outcome:
        for record in step.outcome.records:
            self._in_flight[record.group_id] += 1
        return step.outcome

    def _landed(self, record: CoordinatorRecord) -> None:
        self._in_flight[record.group_id] -= 1
        assert self._in_flight[record.group_id] >= 0, record
        if not self._in_flight[record.group_id]:
            del self._in_flight[record.group_id]

    def _member_group(self, group_id: str) -> Group:
        self._ensure_ready(group_id)
        group = self._groups.get(group_id)
        if group is None:
            raise UnknownMemberId(f'there is no group "{group_id}"')
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


def _described(group: Group) -> DescribedGroup:
    # Metadata and assignments mean something only when the group agrees on them.
    stable = group.state is GroupState.STABLE
    name = (group.protocol_name or "") if stable else ""
    members = tuple(
        DescribedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.metadata(name) if stable else b"",
            member.assignment if stable else b"",
        )
        for member in group.members.values()
    )
    return DescribedGroup(
        group.group_id, group.state.value, group.protocol_type or "", name, members
    )
