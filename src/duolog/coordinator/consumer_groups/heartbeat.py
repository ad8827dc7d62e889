"""ConsumerGroupHeartbeat: members join, update, leave and reconcile with this one request.

    join or update ─▶ if subscriptions or topics have changed: increase the group epoch
                   ─▶ if the target is older than the group epoch: compute a new target
                   ─▶ move this member one step towards its target

Source: Kafka `GroupMetadataManager.consumerGroupHeartbeat`, `consumerGroupLeave`.
"""

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Final

from duolog.coordinator.consumer_groups.draft import ConsumerStep, Draft
from duolog.coordinator.consumer_groups.errors import (
    FencedMemberEpoch,
    GroupMaxSizeReached,
    UnreleasedInstanceId,
    UnsupportedAssignor,
)
from duolog.coordinator.consumer_groups.group import ConsumerGroup, Soft
from duolog.coordinator.consumer_groups.member import ConsumerMember
from duolog.coordinator.consumer_groups.messages import HeartbeatReply, MemberHeartbeat
from duolog.coordinator.consumer_groups.reconcile import Goal, reconcile, subset
from duolog.coordinator.consumer_groups.records import (
    Assignment,
    CurrentAssignment,
    CurrentChange,
    MemberChange,
    MemberMetadata,
    MemberState,
    TargetChange,
)
from duolog.coordinator.errors import FencedInstanceId, InvalidRequest, UnknownMemberId
from duolog.coordinator.records import TEXT_BYTES_MAX

logger = logging.getLogger(__name__)

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


def check_request(request: MemberHeartbeat, assignors: tuple[str, ...]) -> None:
    """Check that a request is valid.

    Raises:
        InvalidRequest, UnsupportedAssignor: with Kafka's reason.
    """
    epoch = request.member_epoch
    if request.member_id_required or epoch > 0 or epoch == LEAVE_EPOCH:
        _ensure_text(request.member_id, "MemberId can't be empty.")
    _ensure_text(request.group_id, "GroupId can't be empty.")
    _ensure_text(request.instance_id, "InstanceId can't be empty.")
    _ensure_text(request.rack_id, "RackId can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise InvalidRequest("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}."
        )
    if any(len((text or "").encode()) > TEXT_BYTES_MAX for text in _key_texts(request)):
        raise InvalidRequest(f"a text of the request is longer than {TEXT_BYTES_MAX} bytes")


def heartbeat(draft: Draft, request: MemberHeartbeat) -> HeartbeatReply:
    """Let a member join, or restart its session; return the response.

    Raises:
        GroupError: the member must join again, or can not.
    """
    step = draft.step
    ensure_room(draft, request.member_id)
    member = _find_member(draft, request)
    current = follow(draft, member, member.told(request), request.owned)
    _live(member, step)
    told = request.full or current.assigned != member.current.assigned
    return HeartbeatReply(
        member_id=member.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=step.settings.heartbeat_interval_ms,
        assignment=current.assigned if told else None,
    )


def stay_alive(group: ConsumerGroup, request: MemberHeartbeat, step: ConsumerStep) -> None:
    """Extend the session of a member whose heartbeat waits, if it is at the right epoch."""
    member = group.members.get(request.member_id)
    if member is None or member.metadata.classic is not None or request.member_epoch < JOIN_EPOCH:
        return
    with suppress(FencedMemberEpoch):  # The heartbeat is refused when its turn comes.
        _check_epoch(member, request)
        _live(member, step)


def _live(member: ConsumerMember, step: ConsumerStep) -> None:
    until_ms = step.now.monotonic_ms + step.settings.session_timeout_ms
    step.then(Soft.live, member.member_id, until_ms)


def follow(
    draft: Draft, member: ConsumerMember, metadata: MemberMetadata, owned: Assignment | None
) -> CurrentAssignment:
    """Apply the fields of a heartbeat and move the member one step; return its state."""
    group, topics = draft.group, draft.step.topics
    bump = group.epoch == 0
    if metadata != member.metadata or member.member_id not in group.members:
        draft.write(MemberChange(group.group_id, member.member_id, metadata))
        bump |= metadata.topics != member.metadata.topics
        bump |= draft.follow_regex(member.metadata.regex, metadata.regex)
    bump |= draft.resolve_regexes()
    if bump or group.soft.topics_version != topics.version:
        draft.refresh(bump=bump)
    if draft.group.epoch > draft.group.target_epoch:
        draft.retarget()
    return advance(draft, member.member_id, owned)


def advance(draft: Draft, member_id: str, owned: Assignment | None) -> CurrentAssignment:
    """Take a member's next step towards its target; return its new state."""
    group, step = draft.group, draft.step
    member = group.members[member_id]
    target = group.targets.get(member_id, {})
    current = reconcile(member.current, Goal(group.target_epoch, target, owned, group.taken))
    if current == member.current:
        return current
    draft.write(CurrentChange(group.group_id, member_id, current))
    if current.state is MemberState.UNREVOKED_PARTITIONS and member.metadata.classic is None:
        until_ms = step.now.monotonic_ms + member.metadata.rebalance_timeout_ms
        step.then(Soft.expect_revocation, member_id, current.epoch, until_ms)
    else:
        step.then(Soft.end_revocation, member_id)
    return current


def leave(group: ConsumerGroup, request: MemberHeartbeat, step: ConsumerStep) -> HeartbeatReply:
    """Remove a member, or note that a static member has left temporarily.

    Raises:
        UnknownMemberId, FencedInstanceId: it is not in the group.
    """
    if request.instance_id is None:
        member = known_member(group, request.member_id)
    else:
        member = known_static(group, request.instance_id, request.member_id)
    if request.instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
        away = replace(member.current, epoch=STATIC_LEAVE_EPOCH, revoking={})
        Draft(group, step).write(CurrentChange(group.group_id, member.member_id, away))
    else:
        fence(Draft(group, step), member, "it left")
    return HeartbeatReply(member_id=member.member_id, member_epoch=request.member_epoch)


def fence(draft: Draft, member: ConsumerMember, reason: str) -> None:
    """Remove a member; its partitions are reassigned at the next heartbeats of the others."""
    logger.info(
        "removed a member",
        extra={
            "group_id": draft.group.group_id,
            "member_id": member.member_id,
            "reason": reason,
        },
    )
    draft.remove(member)
    draft.refresh(bump=True)
    draft.step.then(Soft.forget, member.member_id)


def expire(group: ConsumerGroup, step: ConsumerStep) -> None:
    """Remove members whose session has ended, or that did not revoke partitions in time."""
    soft, now_ms = group.soft, step.now.monotonic_ms
    draft = Draft(group, step)
    for deadlines, reason in (
        (soft.sessions, "its session ended"),
        (soft.joins, "it did not join again in time"),
        (soft.syncs, "it did not fetch its assignment in time"),
    ):
        for member_id in [m for m, at_ms in deadlines.items() if at_ms <= now_ms]:
            if member_id in draft.group.members:
                fence(draft, draft.group.members[member_id], reason)
            step.then(Soft.forget, member_id)
    for member_id, (epoch, at_ms) in soft.revocations.items():
        member = draft.group.members.get(member_id)
        if at_ms > now_ms:
            continue
        step.then(Soft.end_revocation, member_id)
        if member is not None and member.current.epoch == epoch:
            fence(draft, member, "it did not give up its partitions in time")


def _check_join(request: MemberHeartbeat) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.topics is None and request.regex is None:
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def _ensure_text(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise InvalidRequest(message)


def _key_texts(request: MemberHeartbeat) -> tuple[str | None, ...]:
    return request.group_id, request.member_id, request.regex


def ensure_room(draft: Draft, member_id: str) -> None:
    """Check that the group has room for a new member.

    Raises:
        GroupMaxSizeReached: it is full.
    """
    limit, members = draft.step.settings.members_max, draft.group.members
    if len(members) >= limit and member_id not in members:
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {limit} members."
        )


def _find_member(draft: Draft, request: MemberHeartbeat) -> ConsumerMember:
    """Return the member that sends, new or known; a static one may take the place of another."""
    group = draft.group
    joins = request.member_epoch == JOIN_EPOCH
    if request.instance_id is None:
        new = ConsumerMember(request.member_id) if joins else None
        member = group.members.get(request.member_id, new)
        if member is None:
            raise _unknown(group, request.member_id)
        _check_epoch(member, request)
        return member
    if not joins:
        member = known_static(group, request.instance_id, request.member_id)
        _check_epoch(member, request)
        return member
    old = group.static_member(request.instance_id)
    if old is None:
        return group.members.get(request.member_id, ConsumerMember(request.member_id))
    if old.metadata.classic is None and old.current.epoch != STATIC_LEAVE_EPOCH:
        raise UnreleasedInstanceId(
            f"Static member {request.member_id} with instance id {request.instance_id} cannot "
            f"join the group because the instance id is owned by {old.member_id} member."
        )
    return take_over(draft, old, request.member_id)


def take_over(draft: Draft, old: ConsumerMember, member_id: str) -> ConsumerMember:
    """Give the place of a static member to the one that joins now, at epoch 0."""
    group_id = draft.group.group_id
    target = draft.group.targets.get(old.member_id, {})
    current = replace(old.current, epoch=0, previous_epoch=0)
    draft.write(
        *draft.group.removal(old.member_id),
        MemberChange(group_id, member_id, old.metadata),
        TargetChange(group_id, member_id, target),
        CurrentChange(group_id, member_id, current),
    )
    draft.step.then(Soft.forget, old.member_id)
    return draft.group.members[member_id]


def known_member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """Return a member. Raises UnknownMemberId if there is none."""
    if member_id not in group.members:
        raise _unknown(group, member_id)
    return group.members[member_id]


def known_static(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerMember:
    """Return a static member. Raises UnknownMemberId or FencedInstanceId."""
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}."
        )
    return member


def _check_epoch(member: ConsumerMember, request: MemberHeartbeat) -> None:
    epoch, current = request.member_epoch, member.current
    if epoch == current.epoch:
        return
    if epoch > current.epoch:
        raise FencedMemberEpoch(
            f"The consumer group member has a greater member epoch ({epoch}) than the one known "
            f"by the group coordinator ({current.epoch}). The member must abandon all its "
            "partitions and rejoin."
        )
    # The answer that brought the new epoch may have been lost.
    if epoch != current.previous_epoch or not subset(request.owned, current.assigned):
        raise FencedMemberEpoch(
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known "
            f"by the group coordinator ({current.epoch}). The member must abandon all its "
            "partitions and rejoin."
        )


def _unknown(group: ConsumerGroup, member_id: str) -> UnknownMemberId:
    return UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
