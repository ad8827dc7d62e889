"""Members of the classic protocol in a group of the new protocol, during a migration.

A member joins with the partitions it owns, and receives its epoch as the generation. It is never
the leader, and SyncGroup returns the broker's assignment. Heartbeats make it rejoin when the group
epoch has increased, when it must revoke partitions, or when partitions it waits for are free.

Source: Kafka `GroupMetadataManager.classicGroupJoinToConsumerGroup` and its like.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from duolog.coordinator.consumer_groups.consumer_bytes import (
    Subscription,
    read_subscription,
    write_assignment,
)
from duolog.coordinator.consumer_groups.draft import ConsumerStep, Draft
from duolog.coordinator.consumer_groups.group import ConsumerGroup, Soft
from duolog.coordinator.consumer_groups.heartbeat import (
    ensure_room,
    fence,
    follow,
    known_member,
    known_static,
    take_over,
)
from duolog.coordinator.consumer_groups.member import ConsumerMember
from duolog.coordinator.consumer_groups.records import (
    Assignment,
    ClassicMetadata,
    MemberMetadata,
    MemberState,
)
from duolog.coordinator.consumer_groups.topics import TopicView
from duolog.coordinator.consumer_protocol import PROTOCOL_TYPE
from duolog.coordinator.errors import (
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    GroupError,
    IllegalGeneration,
    InconsistentGroupProtocol,
    UnknownMemberId,
)
from duolog.coordinator.messages import (
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    ReplyTo,
    SyncReply,
    SyncRequest,
)

if TYPE_CHECKING:
    from uuid import UUID


def join(draft: Draft, request: JoinRequest, to: ReplyTo) -> None:
    """Handle JoinGroup: add the member, and reply with its epoch when that is durable.

    Raises:
        GroupError: it can not join.
    """
    outcome = draft.step.outcome
    member_id = request.member_id or request.fresh_id
    ensure_room(draft, member_id)
    _check_protocols(draft.group, request)
    if not request.member_id and request.instance_id is None and request.member_id_required:
        outcome.reply(to, JoinReply(error_code=MEMBER_ID_REQUIRED, member_id=member_id))
        return
    subscription = read_subscription(request.protocols[0].metadata)
    member = _find_member(draft, request, member_id)
    metadata = _told(member.metadata, request, subscription)
    owned = to_ids(subscription.owned, draft.step.topics)
    current = follow(draft, member, metadata, owned)
    step, now_ms = draft.step, draft.step.now.monotonic_ms
    step.then(Soft.live, member_id, now_ms + request.session_timeout_ms)
    step.then(Soft.expect_sync, member_id, now_ms + request.rebalance_timeout_ms)
    reply = JoinReply(
        generation=current.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=request.protocols[0].name,
        member_id=member_id,
    )
    outcome.deferred.append(Letter(to, reply))


def sync(group: ConsumerGroup, request: SyncRequest, to: ReplyTo, step: ConsumerStep) -> None:
    """Send a member its assignment, or ask it to join again.

    Raises:
        GroupError: it must find its coordinator again.
    """
    member = _classic_member(group, request.member_id, request.instance_id)
    classic = _checked(member, request.generation)
    name = classic.protocols[0].name
    if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (
        None,
        name,
    ):
        raise InconsistentGroupProtocol(f"Member {member.member_id} was assigned protocol {name}.")
    unrevoked = member.current.state is MemberState.UNREVOKED_PARTITIONS
    if group.epoch > member.current.epoch and not unrevoked:
        _expect_join(member, step)
        step.outcome.reply(to, SyncReply(error_code=REBALANCE_IN_PROGRESS))
        return
    version = read_subscription(classic.protocols[0].metadata).version
    reply = SyncReply(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(version, to_names(member.current.assigned, step.topics)),
    )
    step.then(Soft.end_sync, member.member_id)
    step.then(Soft.live, member.member_id, step.now.monotonic_ms + classic.session_timeout_ms)
    step.outcome.deferred.append(Letter(to, reply))


def stay(group: ConsumerGroup, request: HeartbeatRequest, step: ConsumerStep) -> bool:
    """Restart the session; return whether the member must join again.

    Raises:
        GroupError: it must find its coordinator again.
    """
    member = _classic_member(group, request.member_id, request.instance_id)
    classic = _checked(member, request.generation)
    step.then(Soft.live, member.member_id, step.now.monotonic_ms + classic.session_timeout_ms)
    must_join = _must_join(group, member)
    if must_join:
        _expect_join(member, step)
    return must_join


def leave_group(draft: Draft, leaving: Iterable[LeavingMember]) -> tuple[LeftMember, ...]:
    """Remove members from the group."""
    left = []
    for who in leaving:
        code, member_id = NONE, who.member_id
        try:
            if who.instance_id is not None and not member_id:
                # An administrator names a static member by its instance id alone.
                member_id = draft.group.static_ids.get(who.instance_id, "")
            fence(draft, _classic_member(draft.group, member_id, who.instance_id), "it left")
        except GroupError as error:
            code = error.code
        left.append(LeftMember(who.member_id, who.instance_id, code))
    return tuple(left)


def to_ids(partitions: Mapping[str, frozenset[int]], topics: TopicView) -> Assignment:
    """Return partitions by the ids of their topics; topics that do not exist are left out."""
    found: dict[UUID, frozenset[int]] = {}
    for name, indexes in partitions.items():
        info = topics.find(name)
        if info is not None and indexes:
            found[info.topic_id] = indexes
    return found


def to_names(assignment: Assignment, topics: TopicView) -> dict[str, frozenset[int]]:
    """Return partitions by the names of their topics; deleted topics are left out."""
    named = {topics.name_of(topic_id): indexes for topic_id, indexes in assignment.items()}
    return {name: indexes for name, indexes in named.items() if name is not None}


def _check_protocols(group: ConsumerGroup, request: JoinRequest) -> None:
    names = {protocol.name for protocol in request.protocols}
    for member in group.members.values():
        if member.metadata.classic is not None and member.member_id != request.member_id:
            names &= {protocol.name for protocol in member.metadata.classic.protocols}
    if request.protocol_type != PROTOCOL_TYPE or not names:
        raise InconsistentGroupProtocol(
            f"Member {request.member_id}'s protocols are not supported."
        )


def _find_member(draft: Draft, request: JoinRequest, member_id: str) -> ConsumerMember:
    group = draft.group
    if request.instance_id is None:
        return group.members.get(member_id, ConsumerMember(member_id))
    if request.member_id:
        return known_static(group, request.instance_id, member_id)
    old = group.static_member(request.instance_id)
    return ConsumerMember(member_id) if old is None else take_over(draft, old, member_id)


def _told(old: MemberMetadata, request: JoinRequest, subscription: Subscription) -> MemberMetadata:
    return replace(
        old,
        instance_id=old.instance_id if request.instance_id is None else request.instance_id,
        rack_id=old.rack_id if subscription.rack_id is None else subscription.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=tuple(sorted(set(subscription.topics))),
        regex=None,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        classic=ClassicMetadata(request.session_timeout_ms, request.protocols),
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember:
    if instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static(group, instance_id, member_id)
    if member.metadata.classic is None:
        raise UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    return member


def _checked(member: ConsumerMember, generation: int) -> ClassicMetadata:
    if generation != member.current.epoch:
        raise IllegalGeneration(f"Member {member.member_id} is at epoch {member.current.epoch}.")
    assert member.metadata.classic is not None
    return member.metadata.classic


def _must_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    current = member.current
    if current.epoch < group.epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    target = group.targets.get(member.member_id, {})
    return not any(
        group.taken(topic_id, index)
        for topic_id, indexes in target.items()
        for index in indexes - current.assigned.get(topic_id, frozenset())
    )


def _expect_join(member: ConsumerMember, step: ConsumerStep) -> None:
    until_ms = step.now.monotonic_ms + member.metadata.rebalance_timeout_ms
    step.then(Soft.expect_join, member.member_id, until_ms)
