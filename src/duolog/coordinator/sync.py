"""SyncGroup: the leader sends all assignments, and each member receives its own."""

from duolog.coordinator.errors import (
    REBALANCE_IN_PROGRESS,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.messages import ReplyTo, SyncReply, SyncRequest
from duolog.coordinator.rebalance import sync_reply
from duolog.coordinator.step import Step


def sync(group: Group, request: SyncRequest, to: ReplyTo, step: Step) -> None:
    """Answer with the assignment, or wait until the leader's is durable.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, InconsistentGroupProtocol,
        RebalanceInProgress: the member must find its coordinator again.
    """
    member = group.member(request.member_id, request.instance_id)
    _check(group, request)
    group.pending_sync.discard(member.member_id)
    if not group.pending_sync:
        group.sync_deadline_ms = None
    if group.state is GroupState.STABLE:
        step.outcome.reply(to, sync_reply(group, member))
        return
    step.outcome.reply(member.syncing, SyncReply(error_code=REBALANCE_IN_PROGRESS))
    member.syncing = to
    # A leader that asks again waits for what it brought first: the log holds one assignment.
    if member.member_id == group.leader_id and group.assigning != group.generation:
        group.assigning = group.generation
        step.outcome.records.append(group.change(request.assignments))


def _check(group: Group, request: SyncRequest) -> None:
    if request.generation != group.generation:
        raise IllegalGeneration(f'group "{group.group_id}" is at generation {group.generation}')
    given = (request.protocol_type, request.protocol_name)
    current = (group.protocol_type, group.protocol_name)
    for mine, theirs in zip(current, given, strict=True):
        if None not in (mine, theirs) and mine != theirs:
            raise InconsistentGroupProtocol(f'group "{group.group_id}" uses {mine}, not {theirs}')
    if group.state is GroupState.PREPARING_REBALANCE:
        raise RebalanceInProgress(f'group "{group.group_id}" is rebalancing')
