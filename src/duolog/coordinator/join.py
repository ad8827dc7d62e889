"""JoinGroup: admits members to the next generation.

Source: Kafka `GroupMetadataManager.classicGroupJoinToClassicGroup` and what it calls; KIP-345
(static members), KIP-394 (member id required), KIP-814 (skip assignment).
"""

from dataclasses import replace

from duolog.coordinator.errors import (
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    InconsistentGroupProtocol,
    InvalidRequest,
    UnknownMemberId,
)
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.member import Member
from duolog.coordinator.messages import JoinReply, JoinRequest, Letter, ReplyTo, SyncReply
from duolog.coordinator.rebalance import (
    join_reply,
    maybe_complete_join,
    prepare,
    rebalance_or_complete,
    remove,
)
from duolog.coordinator.records import TEXT_BYTES_MAX
from duolog.coordinator.step import Step


def join(group: Group, request: JoinRequest, to: ReplyTo, step: Step) -> None:
    """Handle JoinGroup: reply at once, or after the other members have joined.

    Raises:
        InconsistentGroupProtocol: the member offers no protocol that all others offer.
        InvalidRequest: a name is too long to be kept.
        UnknownMemberId, FencedInstanceId: its member id or instance id is not valid.
    """
    _check_texts(request)
    if not _has_room(group, request.member_id, step):
        _turn_away(group, request.member_id, to, step)
        return
    names = frozenset(protocol.name for protocol in request.protocols)
    if not group.supports(request.protocol_type, names):
        raise InconsistentGroupProtocol(
            f'group "{group.group_id}" has no protocol in common with "{request.client_id}"'
        )
    if request.member_id:
        _join_known(group, request, to, step)
    elif request.instance_id is not None:
        _join_static(group, request, to, step)
    elif request.member_id_required:
        _hand_out_id(group, request, to, step)
    else:
        _add(group, request, f"{request.client_id}-{request.fresh_id}", to, step)


def _check_texts(request: JoinRequest) -> None:
    names = (protocol.name for protocol in request.protocols)
    texts = (request.client_id, request.instance_id or "", request.protocol_type, *names)
    # A member id is one of these and the fresh id.
    longest = TEXT_BYTES_MAX - len(request.fresh_id) - 1
    if any(len(text.encode()) > longest for text in texts):
        raise InvalidRequest(f"a text of the request is longer than {longest} bytes")


def _has_room(group: Group, member_id: str, step: Step) -> bool:
    if group.state is GroupState.EMPTY:
        return True
    known = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        # Those who have joined count, so that the last to rejoin are the ones left out.
        joined = sum(1 for member in group.members.values() if member.joining is not None)
        return (known is not None and known.joining is not None) or (
            joined < step.settings.members_max
        )
    return known is not None or len(group.members) < step.settings.members_max


def _turn_away(group: Group, member_id: str, to: ReplyTo, step: Step) -> None:
    step.outcome.reply(to, JoinReply(error_code=GROUP_MAX_SIZE_REACHED))
    if member_id in group.members:
        remove(group, group.members[member_id], step)
        maybe_complete_join(group, step)


def _hand_out_id(group: Group, request: JoinRequest, to: ReplyTo, step: Step) -> None:
    member_id = f"{request.client_id}-{request.fresh_id}"
    group.pending[member_id] = step.now.monotonic_ms + request.session_timeout_ms
    step.outcome.reply(to, JoinReply(error_code=MEMBER_ID_REQUIRED, member_id=member_id))


def _add(group: Group, request: JoinRequest, member_id: str, to: ReplyTo, step: Step) -> None:
    if group.state is GroupState.EMPTY:
        group.protocol_type = request.protocol_type
    if group.state is GroupState.PREPARING_REBALANCE and group.first_rebalance:
        group.member_added = True
    member = Member.from_request(request, member_id)
    member.joining = to
    member.deadline_ms = step.now.monotonic_ms + step.settings.new_member_join_timeout_ms
    group.add(member)
    rebalance_or_complete(group, step, f"member {member_id} joined")


def _join_known(group: Group, request: JoinRequest, to: ReplyTo, step: Step) -> None:
    if request.member_id in group.pending and request.instance_id is None:
        _add(group, request, request.member_id, to, step)
        return
    member = group.member(request.member_id, request.instance_id)
    unchanged = member.protocols == request.protocols
    leads = group.leader_id == member.member_id
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            _rejoin(group, member, request, to, step)
        # It joins as it is: it may have missed the answer, so it gets it again.
        case GroupState.COMPLETING_REBALANCE if unchanged:
            step.outcome.reply(to, join_reply(group, member))
        case GroupState.STABLE if unchanged and not leads:
            step.outcome.reply(to, join_reply(group, member))
        # A leader that joins again has seen something that changes the assignment.
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            _rejoin(group, member, request, to, step)
        case GroupState.EMPTY:
            raise UnknownMemberId(f'group "{group.group_id}" is empty')


def _rejoin(group: Group, member: Member, request: JoinRequest, to: ReplyTo, step: Step) -> None:
    _update(member, request)
    _park(member, to, step)
    rebalance_or_complete(group, step, f"member {member.member_id} joined again")


def _update(member: Member, request: JoinRequest) -> None:
    member.protocols = request.protocols
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    member.client_id = request.client_id
    member.client_host = request.client_host


def _park(member: Member, to: ReplyTo, step: Step) -> None:
    # The member asked twice, so its first connection is gone; the answer frees that one.
    earlier = JoinReply(error_code=REBALANCE_IN_PROGRESS, member_id=member.member_id)
    step.outcome.reply(member.joining, earlier)
    member.joining = to


def _join_static(group: Group, request: JoinRequest, to: ReplyTo, step: Step) -> None:
    assert request.instance_id is not None
    member_id = f"{request.instance_id}-{request.fresh_id}"
    old_id = group.static_ids.get(request.instance_id)
    if old_id is None:
        _add(group, request, member_id, to, step)
        return
    leader_before = group.leader_id
    new = _take_over(group, group.members[old_id], request, member_id, step)
    keeps_protocol = group.state is GroupState.STABLE and (
        group.select_protocol() == group.protocol_name
    )
    if keeps_protocol:
        reply = _unchanged_reply(group, new, request, leader_before)
        step.outcome.records.append(group.change())
        step.outcome.deferred.append(Letter(to, reply))
        return
    new.joining = to
    if group.state is GroupState.PREPARING_REBALANCE:
        maybe_complete_join(group, step)
    else:
        # The leader may have received the old id already: its assignment would miss the new one.
        prepare(group, step, f"static member {request.instance_id} joined again")


def _take_over(
    group: Group, old: Member, request: JoinRequest, member_id: str, step: Step
) -> Member:
    """Give the place of a static member to the one that joins now; the old one is fenced."""
    fenced = FENCED_INSTANCE_ID
    step.outcome.reply(old.joining, JoinReply(error_code=fenced, member_id=old.member_id))
    step.outcome.reply(old.syncing, SyncReply(error_code=fenced))
    new = Member.from_request(request, member_id)
    group.replace(old, new)
    new.touch(step.now.monotonic_ms)
    return new


def _unchanged_reply(
    group: Group, member: Member, request: JoinRequest, leader_before: str | None
) -> JoinReply:
    """Return the answer that lets a static member back in without a rebalance."""
    reply = join_reply(group, member)
    if request.skip_assignment_known:
        return replace(reply, skip_assignment=group.leader_id == member.member_id)
    # Under its old id the leader takes itself for a follower, and computes no assignment.
    return replace(reply, leader_id=leader_before or "", members=())
