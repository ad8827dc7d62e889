"""A group of the classic protocol: its members, its generation and the state of a rebalance.

    Empty ──join──▶ PreparingRebalance ──all joined──▶ CompletingRebalance ──assigned──▶ Stable
      ▲                │        ▲                            │                             │
      └──no members────┘        └──────────── join, leave, session expired ────────────────┘

Invariants: a leader is a member; `static_ids` names members only; members wait in JoinGroup only in
PreparingRebalance and in SyncGroup only in CompletingRebalance.

`persisted` is the state of the group in the log; all else is lost in a restart.

Source: Kafka `ClassicGroup`.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from duolog.coordinator.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from duolog.coordinator.errors import (
    FencedInstanceId,
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.member import Member
from duolog.coordinator.messages import (
    CommitRequest,
    DescribedGroup,
    DescribedMember,
    JoinedMember,
    ListedGroup,
    Moment,
)
from duolog.coordinator.records import CoordinatorRecord, GroupChange, GroupRecord, OffsetRecord
from duolog.coordinator.step import Step


class GroupState(Enum):
    """The state of a group, under the names that administrators see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(slots=True)
class Group:
    """The state of one group; `rebalance`, `join`, `sync` and `leave` change it.

    Args:
        pending: ids that were given to members and not used yet, with the time they expire.
        pending_sync: members that have not sent SyncGroup in this generation.
        first_rebalance: the rebalance in preparation started with an empty group.
        first_rebalance_remaining_ms: the time by which the first rebalance may still be delayed.
        member_added: a member joined since the first rebalance was last delayed.
        topics: what the members of this generation read; None if that is not known.
        assigning: the generation whose assignment was sent to the log last.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    state_changed_at_ms: int = -1
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    pending_sync: set[str] = field(default_factory=set)
    join_deadline_ms: int | None = None
    sync_deadline_ms: int | None = None
    first_rebalance: bool = False
    first_rebalance_remaining_ms: int = 0
    member_added: bool = False
    topics: frozenset[str] | None = None
    assigning: int = -1
    persisted: GroupRecord | None = None

    # Members

    def member(self, member_id: str, instance_id: str | None) -> Member:
        """Return the member, with the identity that it claims checked.

        Raises:
            UnknownMemberId: there is no such member.
            FencedInstanceId: another member has the instance id now.
        """
        if instance_id is not None:
            current_id = self.static_ids.get(instance_id)
            if current_id is not None and current_id != member_id:
                raise FencedInstanceId(
                    f'member "{member_id}" of group "{self.group_id}" lost instance "{instance_id}"'
                )
            if current_id is None:
                raise self._unknown(member_id)
        if member_id not in self.members:
            raise self._unknown(member_id)
        return self.members[member_id]

    def add(self, member: Member) -> None:
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forget a member or a pending member; another member leads if it was the leader."""
        member = self.members.pop(member_id, None)
        if member and member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending.pop(member_id, None)
        self.pending_sync.discard(member_id)

    def replace(self, old: Member, new: Member) -> None:
        """Put `new` where the static member `old` was, with its assignment and its leadership."""
        new.assignment = old.assignment
        new.fresh = old.fresh
        self.members = {
            (new.member_id if member_id == old.member_id else member_id): (
                new if member is old else member
            )
            for member_id, member in self.members.items()
        }
        assert new.instance_id is not None
        self.static_ids[new.instance_id] = new.member_id
        if self.leader_id == old.member_id:
            self.leader_id = new.member_id
        if old.member_id in self.pending_sync:
            self.pending_sync.remove(old.member_id)
            self.pending_sync.add(new.member_id)

    # Questions

    @property
    def all_joined(self) -> bool:
        return not self.pending and all(
            member.joining is not None for member in self.members.values()
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def supports(self, protocol_type: str, names: frozenset[str]) -> bool:
        """Return whether a member that offers these protocols can be in the group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and bool(names & self._common_protocols())

    def select_protocol(self) -> str:
        """Return the protocol with the most votes among those that every member offers."""
        candidates = self._common_protocols()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """Return the members' metadata for the leader, for the current protocol."""
        name = self.protocol_name or ""
        return tuple(
            JoinedMember(m.member_id, m.instance_id, m.metadata(name))
            for m in self.members.values()
        )

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that members of a consumer group read; None if that is not known."""
        if self.protocol_type != PROTOCOL_TYPE:
            return None
        if not self.members:
            return frozenset()
        topics: set[str] = set()
        for member in self.members.values():
            of_member = subscribed_topics(member.metadata(self.protocol_name or ""))
            if of_member is None:
                return None
            topics |= of_member
        return frozenset(topics)

    def next_deadline_ms(self) -> int | None:
        """Return the monotonic time of the next timeout of the group."""
        deadlines = [
            deadline
            for member in self.members.values()
            if (deadline := member.session_deadline_ms) is not None
        ]
        deadlines += self.pending.values()
        deadlines += (d for d in (self.join_deadline_ms, self.sync_deadline_ms) if d is not None)
        return min(deadlines, default=None)

    # What every group answers, see `AnyGroup`

    @property
    def empty(self) -> bool:
        return self.state is GroupState.EMPTY and not self.pending

    @property
    def forgettable(self) -> bool:
        return self.empty and self.persisted is None

    def described(self) -> DescribedGroup:
        """Return the group as an administrator sees it."""
        # Metadata means something only when the group agrees on a protocol.
        stable = self.state is GroupState.STABLE
        name = (self.protocol_name or "") if stable else ""
        members = tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(name) if stable else b"",
                member.assignment,
            )
            for member in self.members.values()
        )
        return DescribedGroup(
            self.group_id, self.state.value, self.protocol_type or "", name, members
        )

    def listed(self) -> ListedGroup:
        return ListedGroup(
            self.group_id, self.protocol_type or "", self.state.value, group_type="classic"
        )

    def check_commit(self, request: CommitRequest, step: Step) -> None:
        """Check that the member may commit offsets, and restart its session.

        Raises:
            UnknownMemberId, FencedInstanceId, IllegalGeneration: not a member, or not any more; a
                commit without a member is for groups without members, or in a transaction of a
                producer from before KIP-447.
            RebalanceInProgress: the members have joined and wait for their assignment.
        """
        if request.generation < 0 and self.state is GroupState.EMPTY:
            return
        anonymous = not request.member_id and request.instance_id is None
        if request.generation < 0 and anonymous:
            if request.transactional:
                return
            raise UnknownMemberId(f'group "{self.group_id}" has members; commit as one of them')
        member = self.member(request.member_id, request.instance_id)
        if request.generation != self.generation:
            raise IllegalGeneration(f'group "{self.group_id}" is at generation {self.generation}')
        if request.transactional:
            return
        if self.state is GroupState.COMPLETING_REBALANCE:
            raise RebalanceInProgress(f'group "{self.group_id}" is rebalancing')
        member.touch(step.now.monotonic_ms)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Allow every client to fetch: a classic group does not check the member."""

    def check_offset_delete(self) -> None:
        if self.state is not GroupState.EMPTY and self.protocol_type != PROTOCOL_TYPE:
            raise NonEmptyGroup(f'group "{self.group_id}" has members')

    def check_delete(self) -> None:
        if self.state is not GroupState.EMPTY:
            raise NonEmptyGroup(f'group "{self.group_id}" has members')

    def subscribes_to(self, topic: str) -> bool:
        """Return whether a member reads the topic; a consumer that does not say may read any."""
        if self.topics is None:
            return self.protocol_type == PROTOCOL_TYPE
        return topic in self.topics

    def retained_since_ms(self, offset: OffsetRecord) -> int | None:
        if self.state is GroupState.EMPTY and self.protocol_type is not None:
            known = self.state_changed_at_ms != -1
            return self.state_changed_at_ms if known else offset.committed_at_ms
        stable = self.state is GroupState.STABLE and self.topics is not None
        if stable or self.protocol_type is None:
            return offset.committed_at_ms
        return None

    def tombstones(self) -> list[CoordinatorRecord]:
        return [GroupChange(self.group_id, None)]

    # States and records

    def enter(self, state: GroupState, now_wall_ms: int) -> None:
        self.state = state
        self.state_changed_at_ms = now_wall_ms

    def change(self, assignments: dict[str, bytes] | None = None) -> GroupChange:
        """Return the record of this generation, with `assignments` or those that members have."""
        name = self.protocol_name or ""
        members = tuple(
            member.to_record(
                name,
                member.assignment
                if assignments is None
                else assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        )
        record = GroupRecord(
            self.protocol_type or "",
            self.generation,
            self.protocol_name,
            self.leader_id,
            self.state_changed_at_ms,
            members,
        )
        return GroupChange(self.group_id, record)

    def accept(self, record: GroupRecord, now_wall_ms: int) -> None:
        """Apply a record that the log has accepted.

        It is used as the leader's assignment only if the group still waits for it: a rebalance that
        has started in the meantime makes it obsolete.
        """
        self.persisted = record
        if self.state is GroupState.COMPLETING_REBALANCE and record.generation == self.generation:
            for member in record.members:
                self.members[member.member_id].assignment = member.assignment
            self.enter(GroupState.STABLE, now_wall_ms)

    def restore(self, now: Moment) -> None:
        """Restore the state of `persisted` after a restart; each session starts again."""
        record = self.persisted
        if record is None:
            return
        self.state = GroupState.STABLE if record.members else GroupState.EMPTY
        self.state_changed_at_ms = record.state_changed_at_ms
        self.generation = record.generation
        self.protocol_type = record.protocol_type or None
        self.protocol_name = record.protocol_name
        for member in record.members:
            self.add(Member.from_record(member, record.protocol_name or "", now.monotonic_ms))
        if record.leader_id in self.members:
            self.leader_id = record.leader_id
        self.topics = self.subscribed_topics()

    def _common_protocols(self) -> frozenset[str]:
        offered = Counter(
            name for member in self.members.values() for name in member.protocol_names
        )
        return frozenset(name for name, count in offered.items() if count == len(self.members))

    def _unknown(self, member_id: str) -> UnknownMemberId:
        return UnknownMemberId(f'group "{self.group_id}" has no member "{member_id}"')
