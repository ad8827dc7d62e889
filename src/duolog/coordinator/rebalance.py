"""Move a group from one generation to the next.

    prepare ──▶ members join ──▶ complete_join ──▶ members sync ──▶ the log accepts ──▶ release

`expire` handles timeouts: it ends sessions, drops ids that were never used, and ends the wait for
members that do not join or sync.

Source: Kafka `GroupMetadataManager` (`prepareRebalance`, `completeClassicGroupJoin`,
`tryCompleteInitialRebalanceElseSchedule`, `expirePendingSync`).
"""

import logging

from duolog.coordinator.errors import REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.member import Member
from duolog.coordinator.messages import JoinReply, SyncReply
from duolog.coordinator.step import Step

logger = logging.getLogger(__name__)

_ASSIGNED = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def rebalance_or_complete(group: Group, step: Step, reason: str) -> None:
    """Start a rebalance, or complete the one in preparation if no member is missing."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        prepare(group, step, reason)
    else:
        maybe_complete_join(group, step)


def prepare(group: Group, step: Step, reason: str) -> None:
    """Ask every member to join again."""
    logger.info(
        "preparing a rebalance",
        extra={"group_id": group.group_id, "generation": group.generation, "reason": reason},
    )
    cancel_syncs(group, step, REBALANCE_IN_PROGRESS)
    first = group.state is GroupState.EMPTY
    group.enter(GroupState.PREPARING_REBALANCE, step.now.wall_ms)
    group.first_rebalance = first
    if first:
        _put_off_first_join(group, step)
    elif group.all_joined:
        complete_join(group, step)
    else:
        group.join_deadline_ms = step.now.monotonic_ms + group.rebalance_timeout_ms


def maybe_complete_join(group: Group, step: Step) -> None:
    """End the join phase if no member is missing; a first rebalance waits for its own delay."""
    preparing = group.state is GroupState.PREPARING_REBALANCE
    if preparing and not group.first_rebalance and group.all_joined:
        complete_join(group, step)


def complete_join(group: Group, step: Step) -> None:
    """End the join phase: start a generation with the members that have joined."""
    group.join_deadline_ms = None
    for member in [m for m in group.members.values() if not m.joining and m.instance_id is None]:
        remove(group, member, step)
    if not group.members:
        _become_empty(group, step)
    elif _elect_leader(group):
        _begin_generation(group, step)
    else:
        # Only static members are left and none has joined: their sessions decide.
        group.join_deadline_ms = step.now.monotonic_ms + group.rebalance_timeout_ms


def remove(group: Group, member: Member, step: Step) -> None:
    """Remove a member from the group and answer its pending requests."""
    unknown = UNKNOWN_MEMBER_ID
    step.outcome.reply(member.joining, JoinReply(error_code=unknown))
    step.outcome.reply(member.syncing, SyncReply(error_code=unknown))
    group.remove(member.member_id)


def remove_and_rebalance(group: Group, member: Member, step: Step, reason: str) -> None:
    """Remove a member, then start a rebalance or continue the one in preparation."""
    remove(group, member, step)
    if group.state in _ASSIGNED:
        prepare(group, step, reason)
    else:
        _complete_without_missing(group, step)


def cancel_syncs(group: Group, step: Step, error_code: int) -> None:
    """Answer every pending SyncGroup request of this generation with an error."""
    group.pending_sync.clear()
    group.sync_deadline_ms = None
    if group.state is not GroupState.COMPLETING_REBALANCE:
        return
    for member in group.members.values():
        member.assignment = b""
        if member.syncing is not None:
            step.outcome.reply(member.syncing, SyncReply(error_code=error_code))
            member.syncing = None
            member.touch(step.now.monotonic_ms)


def release(group: Group, step: Step) -> None:
    """Answer every pending SyncGroup request after the assignment is in the log."""
    if group.state is not GroupState.STABLE:
        return
    for member in group.members.values():
        if member.syncing is not None:
            step.outcome.reply(member.syncing, sync_reply(group, member))
            member.syncing = None
            member.touch(step.now.monotonic_ms)


def sync_reply(group: Group, member: Member) -> SyncReply:
    return SyncReply(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def join_reply(group: Group, member: Member) -> JoinReply:
    """Return the JoinGroup response of `member` for the current generation."""
    leads = member.member_id == group.leader_id
    return JoinReply(
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id or "",
        member_id=member.member_id,
        members=group.joined_members() if leads else (),
    )


def expire(group: Group, step: Step) -> None:
    """Handle all timeouts that have passed."""
    now_ms = step.now.monotonic_ms
    for member_id in [m for m, deadline_ms in group.pending.items() if deadline_ms <= now_ms]:
        group.remove(member_id)
        _complete_without_missing(group, step)
    for member in list(group.members.values()):
        _expire_session(group, member, step)
    if group.join_deadline_ms is not None and group.join_deadline_ms <= now_ms:
        _expire_join(group, step)
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
        _expire_sync(group, step)


def _put_off_first_join(group: Group, step: Step) -> None:
    delay_ms = step.settings.initial_rebalance_delay_ms
    group.member_added = False
    group.first_rebalance_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    if delay_ms == 0:
        complete_join(group, step)
    else:
        group.join_deadline_ms = step.now.monotonic_ms + delay_ms


def _complete_without_missing(group: Group, step: Step) -> None:
    # Unlike a join, a removal also ends a first rebalance early.
    if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
        complete_join(group, step)


def _expire_session(group: Group, member: Member, step: Step) -> None:
    # An earlier removal may have answered, removed or restarted this member's session.
    if group.members.get(member.member_id) is not member:
        return
    deadline_ms = member.session_deadline_ms
    if deadline_ms is not None and deadline_ms <= step.now.monotonic_ms:
        logger.info(
            "session ended", extra={"group_id": group.group_id, "member_id": member.member_id}
        )
        remove_and_rebalance(group, member, step, f"session of {member.member_id} ended")


def _expire_join(group: Group, step: Step) -> None:
    delay_ms = step.settings.initial_rebalance_delay_ms
    remaining_ms = group.first_rebalance_remaining_ms
    if group.first_rebalance and group.member_added and remaining_ms > 0:
        group.member_added = False
        group.join_deadline_ms = step.now.monotonic_ms + min(delay_ms, remaining_ms)
        group.first_rebalance_remaining_ms = max(remaining_ms - delay_ms, 0)
    else:
        complete_join(group, step)


def _expire_sync(group: Group, step: Step) -> None:
    group.sync_deadline_ms = None
    missing = [group.members[member_id] for member_id in sorted(group.pending_sync)]
    if group.state in _ASSIGNED and missing:
        for member in missing:
            remove(group, member, step)
        prepare(group, step, "members did not sync in time")


def _elect_leader(group: Group) -> bool:
    """Make a member that has joined the leader; return False if there is none."""
    assert group.leader_id in group.members
    if group.members[group.leader_id].joining is not None:
        return True
    joined = [m.member_id for m in group.members.values() if m.joining is not None]
    if joined:
        group.leader_id = joined[0]
    return bool(joined)


def _become_empty(group: Group, step: Step) -> None:
    group.generation += 1
    group.protocol_name = None
    group.first_rebalance = False
    group.pending_sync.clear()
    group.topics = group.subscribed_topics()
    group.enter(GroupState.EMPTY, step.now.wall_ms)
    step.outcome.records.append(group.change())


def _begin_generation(group: Group, step: Step) -> None:
    group.generation += 1
    group.protocol_name = group.select_protocol()
    group.first_rebalance = False
    group.topics = group.subscribed_topics()
    group.enter(GroupState.COMPLETING_REBALANCE, step.now.wall_ms)
    for member in group.members.values():
        if member.joining is not None:
            step.outcome.reply(member.joining, join_reply(group, member))
            member.joining = None
        member.touch(step.now.monotonic_ms)
        member.fresh = False
    group.pending_sync = set(group.members)
    group.sync_deadline_ms = step.now.monotonic_ms + group.rebalance_timeout_ms
    logger.info(
        "began a generation",
        extra={
            "group_id": group.group_id,
            "generation": group.generation,
            "members": len(group.members),
        },
    )
