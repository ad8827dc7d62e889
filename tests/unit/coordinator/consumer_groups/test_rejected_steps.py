"""A step that fails, or whose records the log refuses, leaves the group as it was: its timers, too."""

from dataclasses import replace

import pytest

from duolog.coordinator.consumer_groups.errors import (
    FencedMemberEpoch,
    InvalidRegularExpression,
)
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.messages import MemberHeartbeat
from duolog.coordinator.consumer_groups.records import CurrentChange, MemberState
from duolog.coordinator.errors import InconsistentGroupProtocol
from duolog.coordinator.messages import MemberProtocol, Outcome
from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness, Member
from unit.coordinator.harness import CoordinatorHarness


def refuse(harness: ConsumerGroupHarness, outcome: Outcome) -> None:
    """Do what a broker does whose log does not take the records."""
    assert outcome.records
    for record in outcome.records:
        harness.front.held.sent(record.group_id)
        harness.front.held.landed(record.group_id)
    harness.front.abandoned(outcome.records, harness.now)


def heartbeat(harness: ConsumerGroupHarness, member: Member, **changes: object) -> Outcome:
    fields = {"member_id": member.member_id, "member_epoch": member.epoch, "owned": member.owned}
    request = MemberHeartbeat(group_id="g", client_id="c", **(fields | changes))  # type: ignore[arg-type]
    return harness.front.heartbeat(request, "member", harness.now)


def test_a_static_member_goes_with_its_session_when_its_successor_was_rejected(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a"), consumers.joined("b", instance_id="i")
    consumers.settle(a, b)
    b.leave(epoch=-2)
    with pytest.raises(InvalidRegularExpression):
        consumers.joined("b2", instance_id="i", regex="(")

    consumers.advance(30_000)
    a.beat()
    consumers.tick(15_000)
    a.beat()

    assert a.has == {"t": [0, 1, 2, 3]}


def test_a_static_member_goes_with_its_session_when_the_log_refused_its_successor(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a"), consumers.joined("b", instance_id="i")
    consumers.settle(a, b)
    b.leave(epoch=-2)
    successor = consumers.member("b2", instance_id="i")
    joins = {"instance_id": "i", "topics": ("t",), "rebalance_timeout_ms": 60_000}
    refuse(consumers, heartbeat(consumers, successor, **joins))

    consumers.advance(30_000)
    a.beat()
    consumers.tick(15_000)
    a.beat()

    assert a.has == {"t": [0, 1, 2, 3]}


def test_a_topic_that_grew_is_noticed_after_a_step_that_was_rejected(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    newer = replace(consumers.group.members["a"].current, state=MemberState.UNKNOWN)
    consumers.front.replay(CurrentChange("g", "a", newer))
    consumers.topics.grow("t", 5)
    with pytest.raises(FencedMemberEpoch):
        a.beat()

    again = consumers.joined("a")

    assert again.has == {"t": [0, 1, 2, 3, 4]}


def test_topics_of_an_expression_are_looked_for_again_after_a_step_that_was_refused(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a", topics=(), regex="t.*")
    consumers.topics.create("t2", 1)
    consumers.advance(10_000)
    refuse(consumers, heartbeat(consumers, a))

    a.beat()

    assert a.has == {"t": [0, 1, 2, 3], "t2": [0]}


def test_a_member_that_must_revoke_is_removed_even_after_a_refused_step(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    consumers.joined("b")
    refuse(consumers, heartbeat(consumers, a))
    assert consumers.group.soft.revocations == {}
    a.beat()
    assert consumers.group.soft.revocations.keys() == {"a"}
    refuse(consumers, heartbeat(consumers, a, owned={}))

    for _ in range(3):
        consumers.advance(20_000)
        heartbeats_of_both(consumers)
    consumers.tick(1)

    assert "a" not in consumers.group.members


def heartbeats_of_both(consumers: ConsumerGroupHarness) -> None:
    """Send heartbeats for both members; `a` does not revoke what it must."""
    for member_id in ("a", "b"):
        consumers.group.soft.live(member_id, consumers.now.monotonic_ms + 45_000)


def test_due_work_is_retried_if_the_log_refused_it(
    consumers: ConsumerGroupHarness,
) -> None:
    consumers.joined("a")
    consumers.advance(45_000)
    refuse(consumers, consumers.front.expire(consumers.group, consumers.now))
    assert consumers.group.next_deadline_ms() == 45_500

    consumers.tick(500)

    assert consumers.group.members == {}


def test_rejected_joins_leave_no_group(consumers: ConsumerGroupHarness) -> None:
    with pytest.raises(InvalidRegularExpression):
        consumers.joined("a", regex="(")

    assert consumers.groups == {}


def test_an_empty_group_stays_of_its_protocol_when_a_classic_join_is_rejected() -> None:
    harness = CoordinatorHarness()
    request = MemberHeartbeat(
        group_id="g",
        member_id="a",
        member_epoch=0,
        topics=("t",),
        owned={},
        rebalance_timeout_ms=60_000,
    )
    harness.take(harness.coordinator.consumer_heartbeat(request, "a", harness.now))
    left = MemberHeartbeat(group_id="g", member_id="a", member_epoch=-1)
    harness.take(harness.coordinator.consumer_heartbeat(left, "a", harness.now))

    with pytest.raises(InconsistentGroupProtocol):
        harness.join("b", protocols=())

    assert harness.coordinator.describe_consumer("g").state == "Empty"
    assert harness.join("b", protocols=(MemberProtocol("range", b""),)).error_code == 0


def test_soft_state_is_put_off_only_where_it_is_due() -> None:
    soft = ConsumerGroup("g").soft
    soft.live("a", 10)
    soft.live("b", 11)
    soft.expect_revocation("a", 3, 10)

    soft.put_off(10, 510)

    assert (soft.sessions, soft.revocations) == ({"a": 510, "b": 11}, {"a": (3, 510)})
