"""A group of the new consumer protocol: its members, their target and current assignments.

    epoch         increases when members, subscriptions or topics change
    target_epoch  the epoch that `targets` were computed for; less than `epoch` until a heartbeat
    member epoch  less than `target_epoch` until the member has revoked the partitions it must

    Empty         no members
    Assigning     target_epoch < epoch
    Reconciling   a member does not have all of its target yet
    Stable        every member has all of its target

Invariant: a partition has one owner, which is assigned it or must still revoke it.

Only `replay` changes durable state; `Soft` is state that a restart loses.

Source: Kafka `ConsumerGroup`, `ModernGroup`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeVar
from uuid import UUID

from duolog.coordinator.consumer_groups.errors import StaleMemberEpoch, UnsupportedVersion
from duolog.coordinator.consumer_groups.member import ConsumerMember
from duolog.coordinator.consumer_groups.records import (
    Assignment,
    ConsumerGroupRecord,
    CurrentAssignment,
    CurrentChange,
    EpochChange,
    MemberChange,
    MemberMetadata,
    MemberState,
    RegexChange,
    ResolvedRegex,
    TargetChange,
    TargetEpochChange,
)
from duolog.coordinator.consumer_protocol import PROTOCOL_TYPE
from duolog.coordinator.errors import IllegalGeneration, NonEmptyGroup, UnknownMemberId
from duolog.coordinator.messages import CommitRequest, ListedGroup, Moment
from duolog.coordinator.records import CoordinatorRecord, OffsetRecord
from duolog.coordinator.settings import ConsumerGroupSettings

NEVER: Final = -(2**62)
GROUP_TYPE: Final = "consumer"
COMMIT_VERSION_MIN: Final = 9
"""The first OffsetCommit that names a member epoch."""

Value = TypeVar("Value")


class ConsumerGroupState(Enum):
    """The state of a group, under the names that administrators see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(slots=True)
class Soft:
    """The state of a group that is not persisted; times are monotonic.

    A step does not change it directly, but schedules its changes with `ConsumerStep.then`.

    Args:
        sessions: the time at which the session of each member expires.
        revocations: the epoch at which a member must revoke partitions, and its deadline.
        joins: the deadline of a member of the classic protocol to join again.
        syncs: the deadline of a member of the classic protocol to fetch its assignment.
        topics_version: the version of the topics that the group's hash was compared with.
        regex_version: the version of the topics that the expressions were matched against.
        regex_at_ms: the time of that match.
    """

    sessions: dict[str, int] = field(default_factory=dict)
    revocations: dict[str, tuple[int, int]] = field(default_factory=dict)
    joins: dict[str, int] = field(default_factory=dict)
    syncs: dict[str, int] = field(default_factory=dict)
    topics_version: int = -1
    regex_version: int = -1
    regex_at_ms: int = NEVER

    def live(self, member_id: str, until_ms: int) -> None:
        """Restart the session of a member."""
        self.sessions[member_id] = until_ms

    def expect_revocation(self, member_id: str, epoch: int, until_ms: int) -> None:
        self.revocations[member_id] = (epoch, until_ms)

    def end_revocation(self, member_id: str) -> None:
        self.revocations.pop(member_id, None)

    def expect_join(self, member_id: str, until_ms: int) -> None:
        self.joins.setdefault(member_id, until_ms)

    def expect_sync(self, member_id: str, until_ms: int) -> None:
        """Note that a member has joined."""
        self.joins.pop(member_id, None)
        self.syncs[member_id] = until_ms

    def end_sync(self, member_id: str) -> None:
        self.syncs.pop(member_id, None)

    def see_topics(self, version: int) -> None:
        self.topics_version = version

    def see_regexes(self, version: int, at_ms: int) -> None:
        self.regex_version, self.regex_at_ms = version, at_ms

    def put_off(self, now_ms: int, until_ms: int) -> None:
        """Postpone the timeouts that have passed."""
        for deadlines in (self.sessions, self.joins, self.syncs):
            for member_id, at_ms in deadlines.items():
                if at_ms <= now_ms:
                    deadlines[member_id] = until_ms
        for member_id, (epoch, at_ms) in self.revocations.items():
            if at_ms <= now_ms:
                self.revocations[member_id] = (epoch, until_ms)

    def forget(self, member_id: str) -> None:
        self.sessions.pop(member_id, None)
        self.revocations.pop(member_id, None)
        self.joins.pop(member_id, None)
        self.syncs.pop(member_id, None)


@dataclass(slots=True)
class ConsumerGroup:
    """The state of one group; `heartbeat` says what becomes of it."""

    group_id: str
    epoch: int = 0
    metadata_hash: int = 0
    target_epoch: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    owners: dict[tuple[UUID, int], str] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    settings: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
    soft: Soft = field(default_factory=Soft)
    _subscribed: frozenset[str] | None = None

    def copy(self) -> "ConsumerGroup":
        """Return a copy that can be changed independently, except for `soft`."""
        return replace(
            self,
            members=dict(self.members),
            static_ids=dict(self.static_ids),
            targets=dict(self.targets),
            owners=dict(self.owners),
            regexes=dict(self.regexes),
        )

    # Questions

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.reconciled(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def taken(self, topic_id: UUID, partition: int) -> bool:
        return (topic_id, partition) in self.owners

    @property
    def only_classic(self) -> bool:
        """True if the group has members and all of them use the classic protocol."""
        return bool(self.members) and all(m.metadata.classic for m in self.members.values())

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_ids.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def read_by(self, member: ConsumerMember) -> frozenset[str]:
        """Return the topics that a member reads, by name or by expression."""
        resolved = self.regexes.get(member.metadata.regex or "")
        named = frozenset(member.metadata.topics)
        return named if resolved is None else named | resolved.topics

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that any member reads."""
        if self._subscribed is None:
            names: set[str] = set()
            for metadata in {member.metadata.topics for member in self.members.values()}:
                names.update(metadata)
            for regex in self.used_regexes():
                if regex in self.regexes:
                    names |= self.regexes[regex].topics
            self._subscribed = frozenset(names)
        return self._subscribed

    def used_regexes(self) -> frozenset[str]:
        regexes = (member.metadata.regex for member in self.members.values())
        return frozenset(regex for regex in regexes if regex)

    def assignor(self, offered: tuple[str, ...]) -> str:
        """Return the assignor that most members want; the first of `offered` if none wants any."""
        wanted = (member.metadata.assignor for member in self.members.values())
        votes = Counter(name for name in wanted if name in offered)
        return max(offered, key=lambda name: (votes[name], -offered.index(name)))

    # What every group answers, see `AnyGroup`

    @property
    def empty(self) -> bool:
        return not self.members

    @property
    def forgettable(self) -> bool:
        return False

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, PROTOCOL_TYPE, self.state.value, GROUP_TYPE)

    def check_commit(self, request: CommitRequest, _step: object) -> None:
        """Check that the member may commit offsets; see `AnyGroup`."""
        if request.generation < 0 and not self.members:
            return
        anonymous = not request.member_id and request.instance_id is None
        if request.transactional and request.generation < 0 and anonymous:
            return
        member = self._member(request.member_id)
        modern = member.metadata.classic is None
        if modern and not request.transactional and request.version < COMMIT_VERSION_MIN:
            raise UnsupportedVersion(
                f"OffsetCommit version {COMMIT_VERSION_MIN} or above must be used by members "
                "using the modern group protocol"
            )
        self._check_epoch(member, request.generation, modern=modern and not request.transactional)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check that the member may fetch offsets; see `AnyGroup`."""
        if member_id is None and member_epoch < 0:
            return
        member = self._member(member_id or "")
        self._check_epoch(member, member_epoch, modern=member.metadata.classic is None)

    def check_offset_delete(self) -> None:
        """Always allow it: `subscribes_to` protects the offsets of subscribed topics."""

    def check_delete(self) -> None:
        """Check that the group may be deleted; see `AnyGroup`."""
        if self.members:
            raise NonEmptyGroup(f"Group {self.group_id} is in {self.state.value} state.")

    def subscribes_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    def retained_since_ms(self, offset: OffsetRecord) -> int | None:
        return offset.committed_at_ms

    def next_deadline_ms(self) -> int | None:
        """Return the monotonic time of the next timeout of the group."""
        soft = self.soft
        deadlines = [*soft.sessions.values(), *soft.joins.values(), *soft.syncs.values()]
        deadlines += (at_ms for _, at_ms in soft.revocations.values())
        return min(deadlines, default=None)

    # Records

    def replay(self, record: ConsumerGroupRecord) -> None:
        """Apply a record. The only place where durable state changes."""
        match record:
            case EpochChange(epoch=epoch):
                self.epoch = epoch or 0
                self.metadata_hash = record.metadata_hash
            case TargetEpochChange(epoch=epoch):
                self.target_epoch = epoch or 0
            case MemberChange(member_id=member_id, value=metadata):
                self._replay_member(member_id, metadata)
            case TargetChange(member_id=member_id, value=target):
                _set(self.targets, member_id, target)
            case CurrentChange(member_id=member_id, value=current):
                self._replay_current(member_id, current)
            case RegexChange(regex=regex, value=resolved):
                _set(self.regexes, regex, resolved)
                self._subscribed = None

    def removal(self, member_id: str) -> list[ConsumerGroupRecord]:
        """Return the tombstones of a member."""
        return [
            CurrentChange(self.group_id, member_id, None),
            TargetChange(self.group_id, member_id, None),
            MemberChange(self.group_id, member_id, None),
        ]

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the tombstones of the group."""
        records: list[CoordinatorRecord] = []
        for member_id in self.members:
            records += self.removal(member_id)
        records += (RegexChange(self.group_id, regex, None) for regex in self.regexes)
        return [
            *records,
            TargetEpochChange(self.group_id, None),
            EpochChange(self.group_id, None),
        ]

    def _member(self, member_id: str) -> ConsumerMember:
        if member_id not in self.members:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return self.members[member_id]

    def _check_epoch(self, member: ConsumerMember, epoch: int, *, modern: bool) -> None:
        expected = member.current.epoch
        if epoch == expected:
            return
        refused = StaleMemberEpoch if modern else IllegalGeneration
        raise refused(
            f"The received member epoch {epoch} does not match the expected member epoch "
            f"{expected}."
        )

    def _replay_member(self, member_id: str, metadata: MemberMetadata | None) -> None:
        self._subscribed = None
        old = self.members.get(member_id, ConsumerMember(member_id))
        instance_id = old.metadata.instance_id
        if instance_id is not None and self.static_ids.get(instance_id) == member_id:
            del self.static_ids[instance_id]
        if metadata is None:
            self._disown(member_id, old.current)
            self.members.pop(member_id, None)
            return
        self.members[member_id] = replace(old, metadata=metadata)
        if metadata.instance_id is not None:
            self.static_ids[metadata.instance_id] = member_id

    def _replay_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        # The log may be compacted, so a tombstone may have no record before it, or a member's
        # record may follow.
        old = self.members.get(member_id)
        if old is None and current is None:
            return
        old = old or ConsumerMember(member_id)
        self._disown(member_id, old.current)
        self.members[member_id] = replace(old, current=current or CurrentAssignment())
        if current is not None:
            for partition in _partitions(current):
                self.owners[partition] = member_id

    def _disown(self, member_id: str, current: CurrentAssignment) -> None:
        for partition in _partitions(current):
            if self.owners.get(partition) == member_id:
                del self.owners[partition]

    # A restart

    def restore(self, now: Moment) -> None:
        """Restart every session and every wait for a revocation."""
        now_ms, session_timeout_ms = now.monotonic_ms, self.settings.session_timeout_ms
        for member_id, member in self.members.items():
            classic = member.metadata.classic
            timeout_ms = session_timeout_ms if classic is None else classic.session_timeout_ms
            self.soft.sessions[member_id] = now_ms + timeout_ms
            if member.current.state is MemberState.UNREVOKED_PARTITIONS and classic is None:
                until_ms = now_ms + member.metadata.rebalance_timeout_ms
                self.soft.revocations[member_id] = (member.current.epoch, until_ms)


def _partitions(current: CurrentAssignment) -> Iterable[tuple[UUID, int]]:
    for assignment in (current.assigned, current.revoking):
        for topic_id, indexes in assignment.items():
            for index in indexes:
                yield topic_id, index


def _set(found: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        found.pop(key, None)
    else:
        found[key] = value
