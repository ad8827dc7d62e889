"""LeaveGroup and Heartbeat of classic groups."""

from collections.abc import Iterable

from duolog.coordinator.errors import (
    NONE,
    UNKNOWN_MEMBER_ID,
    GroupError,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.messages import HeartbeatRequest, LeavingMember, LeftMember
from duolog.coordinator.rebalance import rebalance_or_complete, remove
from duolog.coordinator.step import Step


def leave(group: Group, leaving: Iterable[LeavingMember], step: Step) -> tuple[LeftMember, ...]:
    """Remove members from the group, with one rebalance for all of them."""
    left = tuple(
        LeftMember(member.member_id, member.instance_id, _leave_one(group, member, step))
        for member in leaving
    )
    if any(member.error_code == NONE for member in left) and group.state is not GroupState.EMPTY:
        rebalance_or_complete(group, step, "members left")
    return left


def heartbeat(group: Group, request: HeartbeatRequest, step: Step) -> None:
    """Handle a heartbeat: restart the session of the member.

    Raises:
        RebalanceInProgress: the session is restarted, but the member must join again.
        UnknownMemberId, FencedInstanceId, IllegalGeneration: it must find its coordinator again.
    """
    member = group.member(request.member_id, request.instance_id)
    if request.generation != group.generation:
        raise IllegalGeneration(f'group "{group.group_id}" is at generation {group.generation}')
    if group.state is GroupState.EMPTY:
        raise UnknownMemberId(f'group "{group.group_id}" is empty')
    member.touch(step.now.monotonic_ms)
    if group.state is GroupState.PREPARING_REBALANCE:
        raise RebalanceInProgress(f'group "{group.group_id}" is rebalancing')


def _leave_one(group: Group, leaving: LeavingMember, step: Step) -> int:
    if leaving.member_id in group.pending:
        group.remove(leaving.member_id)
        return NONE
    member_id = leaving.member_id
    if not member_id:
        # An administrator names a static member by its instance id alone.
        member_id = group.static_ids.get(leaving.instance_id or "", "")
    try:
        member = group.member(member_id, leaving.instance_id) if member_id else None
    except GroupError as error:
        return error.code
    if member is None:
        return UNKNOWN_MEMBER_ID
    remove(group, member, step)
    return NONE
