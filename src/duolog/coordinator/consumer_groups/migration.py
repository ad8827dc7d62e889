"""Groups that change their protocol while they have members (KIP-848, online migration).

    classic ──first heartbeat of a member of the new protocol──▶ new: members keep what they have,
                                                                 and their generation is the epoch
    new ──the last member of the new protocol left──▶ classic: a rebalance begins

A group without members changes at the first join of the other protocol, whatever the policy.

Source: Kafka `GroupMetadataManager.convertToConsumerGroup`, `convertToClassicGroup`.
"""

from duolog.coordinator.consumer_groups.classic import to_ids, to_names
from duolog.coordinator.consumer_groups.consumer_bytes import (
    read_assignment,
    read_subscription,
    write_assignment,
)
from duolog.coordinator.consumer_groups.draft import Draft
from duolog.coordinator.consumer_groups.group import ConsumerGroup, Soft
from duolog.coordinator.consumer_groups.records import (
    ClassicMetadata,
    CurrentAssignment,
    CurrentChange,
    EpochChange,
    MemberChange,
    MemberMetadata,
    MemberState,
    TargetChange,
    TargetEpochChange,
)
from duolog.coordinator.consumer_groups.topics import TopicView
from duolog.coordinator.consumer_protocol import PROTOCOL_TYPE
from duolog.coordinator.errors import REBALANCE_IN_PROGRESS, GroupError
from duolog.coordinator.group import Group, GroupState
from duolog.coordinator.member import Member
from duolog.coordinator.messages import JoinReply, SyncReply
from duolog.coordinator.rebalance import prepare
from duolog.coordinator.settings import ConsumerGroupSettings
from duolog.coordinator.step import Step


def upgradable(group: Group, settings: ConsumerGroupSettings) -> bool:
    """Return whether a classic group with members may change to the new protocol."""
    return (
        settings.migration_policy.upgrades
        and group.protocol_type == PROTOCOL_TYPE
        and len(group.members) <= settings.members_max
        and all(_readable(member) for member in group.members.values())
    )


def upgrade(group: Group, draft: Draft) -> None:
    """Convert a classic group to the new protocol; members that wait must join again."""
    group_id, epoch, step = group.group_id, group.generation, draft.step
    for member in group.members.values():
        rejoin = JoinReply(error_code=REBALANCE_IN_PROGRESS, member_id=member.member_id)
        step.outcome.reply(member.joining, rejoin)
        step.outcome.reply(member.syncing, SyncReply(error_code=REBALANCE_IN_PROGRESS))
    step.outcome.records += group.tombstones()
    if not group.members:
        return
    draft.write(EpochChange(group_id, epoch), TargetEpochChange(group_id, epoch))
    for member_id, member in group.members.items():
        assigned = to_ids(read_assignment(member.assignment), step.topics)
        current = CurrentAssignment(epoch, epoch, MemberState.STABLE, assigned)
        draft.write(
            MemberChange(group_id, member_id, _metadata(member)),
            TargetChange(group_id, member_id, assigned),
            CurrentChange(group_id, member_id, current),
        )
        until_ms = step.now.monotonic_ms + member.session_timeout_ms
        step.then(Soft.live, member_id, until_ms)


def downgradable(group: ConsumerGroup, step: Step) -> bool:
    """Return whether the group may change: no member uses the new protocol any more."""
    return (
        group.only_classic
        and group.settings.migration_policy.downgrades
        and len(group.members) <= step.settings.members_max
    )


def downgrade(group: ConsumerGroup, topics: TopicView, step: Step) -> Group:
    """Return a classic group of the same members, in a rebalance; write its record."""
    classic = Group(group.group_id)
    classic.protocol_type = PROTOCOL_TYPE
    # The members' own generation, so that they are asked to join again and not to start over.
    classic.generation = max(member.current.epoch for member in group.members.values())
    classic.enter(GroupState.STABLE, step.now.wall_ms)
    for member_id, member in group.members.items():
        metadata = member.metadata
        assert metadata.classic is not None
        version = read_subscription(metadata.classic.protocols[0].metadata).version
        target = to_names(group.targets.get(member_id, {}), topics)
        classic.add(
            Member(
                member_id=member_id,
                instance_id=metadata.instance_id,
                client_id=metadata.client_id,
                client_host=metadata.client_host,
                rebalance_timeout_ms=metadata.rebalance_timeout_ms,
                session_timeout_ms=metadata.classic.session_timeout_ms,
                protocols=metadata.classic.protocols,
                assignment=write_assignment(version, target),
                deadline_ms=step.now.monotonic_ms + metadata.classic.session_timeout_ms,
            )
        )
    classic.protocol_name = classic.select_protocol()
    step.outcome.records.append(classic.change())
    prepare(classic, step, "no member speaks the new protocol any more")
    return classic


def _readable(member: Member) -> bool:
    try:
        for protocol in member.protocols:
            read_subscription(protocol.metadata)
        read_assignment(member.assignment)
    except GroupError:
        return False
    return bool(member.protocols)


def _metadata(member: Member) -> MemberMetadata:
    subscription = read_subscription(member.protocols[0].metadata)
    return MemberMetadata(
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )
