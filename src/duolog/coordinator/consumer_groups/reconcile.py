"""One member's next step towards its target: revoke first, assign when partitions are free.

    Stable ──new target──▶ does it have partitions that are not in the target?
                             │ yes: UnrevokedPartitions, at its old epoch, until it reports
                             │      that it has revoked them; then its epoch + 1
                             │ no ─▶ the target's epoch, with all partitions that no other
                             │       member owns:
                             │         all of the target: Stable
                             └         only some:         UnreleasedPartitions, until it has all

Invariant: a partition is assigned only when no member is assigned it or must give it up, so it
never has two owners.

Source: Kafka `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from duolog.coordinator.consumer_groups.errors import FencedMemberEpoch
from duolog.coordinator.consumer_groups.records import Assignment, CurrentAssignment, MemberState


class Goal(NamedTuple):
    """The target of a member, and the partitions that block it.

    Attributes:
        epoch: the epoch that the target belongs to.
        owned: the partitions that the member reports as owned; None if it did not report them.
        taken: returns whether a member is assigned a partition or must still revoke it.
    """

    epoch: int
    target: Assignment
    owned: Assignment | None
    taken: Callable[[UUID, int], bool]


def reconcile(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Return the member's state after this step; `current` itself if it can not move.

    Raises:
        FencedMemberEpoch: a newer broker left the member in a state that is not known here.
    """
    match current.state:
        case MemberState.STABLE if current.epoch == goal.epoch:
            return current
        case MemberState.STABLE | MemberState.UNRELEASED_PARTITIONS:
            return _advance(current, current.epoch, goal)
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_owns(current.revoking, goal.owned):
                return current
            return _advance(current, current.epoch + 1, goal)
        case MemberState.UNKNOWN:
            if goal.owned is None or goal.owned:
                raise FencedMemberEpoch("the member is in an unknown state and must join again")
            return _advance(current, goal.epoch, goal)


def subset(owned: Assignment | None, assigned: Assignment) -> bool:
    """Return whether a member reports its partitions and all of them are assigned to it."""
    return owned is not None and all(
        partitions <= assigned.get(topic_id, frozenset()) for topic_id, partitions in owned.items()
    )


def _still_owns(revoking: Assignment, owned: Assignment | None) -> bool:
    if owned is None:
        return True
    return any(
        partitions & revoking.get(topic_id, frozenset()) for topic_id, partitions in owned.items()
    )


def _advance(current: CurrentAssignment, epoch: int, goal: Goal) -> CurrentAssignment:
    """Take the next step from `epoch`, with the partitions that `current` is assigned."""
    target = goal.target
    kept: dict[UUID, frozenset[int]] = {}
    revoking: dict[UUID, frozenset[int]] = {}
    fresh: dict[UUID, frozenset[int]] = {}
    unreleased = False
    for topic_id in target.keys() | current.assigned.keys():
        wanted = target.get(topic_id, frozenset())
        assigned = current.assigned.get(topic_id, frozenset())
        given_up = current.revoking.get(topic_id, frozenset())
        missing = wanted - assigned
        # What this member has just given up is free for itself.
        free = frozenset(p for p in missing if p in given_up or not goal.taken(topic_id, p))
        unreleased = unreleased or free != missing
        _put(kept, topic_id, assigned & wanted)
        _put(revoking, topic_id, assigned - wanted)
        _put(fresh, topic_id, free)
    if revoking and _still_owns(revoking, goal.owned):
        state = MemberState.UNREVOKED_PARTITIONS
        return CurrentAssignment(epoch, current.epoch, state, kept, revoking)
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    merged = {
        topic_id: kept.get(topic_id, frozenset()) | fresh.get(topic_id, frozenset())
        for topic_id in kept.keys() | fresh.keys()
    }
    return CurrentAssignment(goal.epoch, current.epoch, state, merged)


def _put(found: dict[UUID, frozenset[int]], topic_id: UUID, partitions: frozenset[int]) -> None:
    if partitions:
        found[topic_id] = partitions
