"""Members that join, share, hand over and leave, by heartbeats alone."""

from dataclasses import replace
from typing import Any

import pytest

from duolog.coordinator.consumer_groups.errors import (
    FencedMemberEpoch,
    GroupMaxSizeReached,
    UnsupportedAssignor,
)
from duolog.coordinator.consumer_groups.records import MemberState
from duolog.coordinator.errors import (
    GroupError,
    GroupIdNotFound,
    InvalidRequest,
    UnknownMemberId,
)
from duolog.coordinator.messages import CommitRequest, CommittedOffset, Producer
from duolog.coordinator.settings import ConsumerGroupSettings
from duolog.core.ids import TopicPartition
from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness


def state(harness: ConsumerGroupHarness) -> str:
    return harness.front.describe("g").state


def test_the_first_member_is_assigned_everything_at_epoch_1(
    consumers: ConsumerGroupHarness,
) -> None:
    member = consumers.member("a")

    reply = member.beat()

    assert (reply.member_id, reply.member_epoch) == ("a", 1)
    assert reply.heartbeat_interval_ms == 5_000
    assert member.has == {"t": [0, 1, 2, 3]}
    assert state(consumers) == "Stable"


def test_an_assignment_is_sent_when_it_changed_or_after_a_full_request(
    consumers: ConsumerGroupHarness,
) -> None:
    member = consumers.joined("a")

    quiet = consumers.ask(member_id="a", member_epoch=1)
    full = consumers.ask(
        member_id="a", member_epoch=1, topics=("t",), rebalance_timeout_ms=60_000, owned={}
    )

    assert quiet.assignment is None
    assert full.assignment == member.owned


def test_a_heartbeat_that_changes_nothing_writes_nothing(consumers: ConsumerGroupHarness) -> None:
    member = consumers.joined("a")
    written = len(consumers.log)

    member.beat()

    assert len(consumers.log) == written


def test_a_partition_is_taken_only_after_it_was_given_up(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a")

    b = consumers.joined("b")
    assert b.has == {}
    assert state(consumers) == "Reconciling"
    before = a.owned
    consumers.ask(member_id="a", member_epoch=a.epoch, owned=before)
    revoking = consumers.group.members["a"].current
    assert revoking.state is MemberState.UNREVOKED_PARTITIONS
    assert (revoking.epoch, consumers.topics.plain(revoking.assigned)) == (1, {"t": [0, 1]})
    b.beat()
    assert b.has == {}

    a.owned = revoking.assigned
    a.beat()
    b.beat()

    assert (a.epoch, a.has) == (2, {"t": [0, 1]})
    assert (b.epoch, b.has) == (2, {"t": [2, 3]})
    assert state(consumers) == "Stable"


def test_a_member_asked_to_revoke_stays_at_its_epoch(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a")
    consumers.joined("b")

    reply = a.beat()

    assert reply.member_epoch == 1
    assert consumers.topics.plain(reply.assignment) == {"t": [0, 1]}


def test_partitions_of_a_leaving_member_go_to_the_others(consumers: ConsumerGroupHarness) -> None:
    a, b = consumers.joined("a"), consumers.joined("b")
    consumers.settle(a, b)

    reply = b.leave()

    assert (reply.member_epoch, reply.assignment) == (-1, None)
    assert state(consumers) == "Assigning"
    a.beat()
    assert a.has == {"t": [0, 1, 2, 3]}
    assert state(consumers) == "Stable"


def test_a_group_without_members_is_empty_and_can_be_reused(
    consumers: ConsumerGroupHarness,
) -> None:
    consumers.joined("a").leave()
    assert state(consumers) == "Empty"

    again = consumers.joined("b")

    assert again.has == {"t": [0, 1, 2, 3]}
    assert again.epoch == 3


def test_a_member_at_an_epoch_of_the_future_is_fenced(consumers: ConsumerGroupHarness) -> None:
    consumers.joined("a")

    with pytest.raises(FencedMemberEpoch, match="greater"):
        consumers.ask(member_id="a", member_epoch=9)


def test_the_epoch_before_is_accepted_when_the_answer_may_have_been_lost(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    b = consumers.joined("b")
    consumers.settle(a, b)

    reply = consumers.ask(member_id="a", member_epoch=1, owned=a.owned)

    assert reply.member_epoch == 2


def test_the_epoch_before_is_fenced_unless_all_that_is_owned_is_said(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a"), consumers.joined("b")
    consumers.settle(a, b)

    for owned in (None, b.owned):
        with pytest.raises(FencedMemberEpoch, match="smaller"):
            consumers.ask(member_id="a", member_epoch=1, owned=owned)


def test_a_member_that_lost_its_first_answer_may_join_again(
    consumers: ConsumerGroupHarness,
) -> None:
    consumers.joined("a")

    again = consumers.joined("a")

    assert (again.epoch, again.has) == (1, {"t": [0, 1, 2, 3]})


def test_an_unknown_member_is_refused(consumers: ConsumerGroupHarness) -> None:
    with pytest.raises(GroupIdNotFound):
        consumers.ask(member_id="a", member_epoch=1)
    consumers.joined("a")
    with pytest.raises(UnknownMemberId):
        consumers.ask(member_id="b", member_epoch=1)
    with pytest.raises(UnknownMemberId):
        consumers.member("b").leave()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"group_id": ""}, InvalidRequest),
        ({"group_id": "x" * 40_000}, InvalidRequest),
        ({"member_id": ""}, InvalidRequest),
        ({"instance_id": " "}, InvalidRequest),
        ({"rack_id": ""}, InvalidRequest),
        ({"rebalance_timeout_ms": -1}, InvalidRequest),
        ({"owned": None}, InvalidRequest),
        ({"topics": None}, InvalidRequest),
        ({"member_epoch": -3}, InvalidRequest),
        ({"member_epoch": -2}, InvalidRequest),
        ({"assignor": "sticky"}, UnsupportedAssignor),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    consumers: ConsumerGroupHarness, wrong: dict[str, Any], error: type[GroupError]
) -> None:
    right = {
        "member_id": "a",
        "member_epoch": 0,
        "topics": ("t",),
        "owned": {},
        "rebalance_timeout_ms": 1,
    }

    with pytest.raises(error):
        consumers.ask(**(right | wrong))

    assert consumers.log == []


def test_a_member_of_version_0_gets_its_id_from_the_broker(consumers: ConsumerGroupHarness) -> None:
    member = consumers.member("")

    reply = member.beat(member_id_required=False, fresh_id="fresh")

    assert reply.member_id == "fresh"
    assert list(consumers.group.members) == ["fresh"]


def test_a_full_group_takes_no_more_members_but_keeps_those_it_has() -> None:
    harness = ConsumerGroupHarness(ConsumerGroupSettings(members_max=1))
    a = harness.joined("a")

    with pytest.raises(GroupMaxSizeReached):
        harness.joined("b")

    assert a.beat().error_code == 0


def test_a_changed_subscription_moves_the_group(consumers: ConsumerGroupHarness) -> None:
    consumers.topics.create("u", 2)
    a, b = consumers.joined("a"), consumers.joined("b")
    consumers.settle(a, b)

    a.beat(topics=("u",))
    consumers.settle(a, b)

    assert a.has == {"u": [0, 1]}
    assert b.has == {"t": [0, 1, 2, 3]}


def test_the_same_subscription_in_another_order_moves_nothing(
    consumers: ConsumerGroupHarness,
) -> None:
    consumers.topics.create("u", 2)
    a = consumers.joined("a", topics=("t", "u"))

    reply = a.beat(topics=("u", "t", "u"))

    assert reply.member_epoch == 1


def test_topics_that_come_grow_and_go_move_the_group(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a", topics=("t", "later"))
    assert a.has == {"t": [0, 1, 2, 3]}

    consumers.topics.create("later", 1)
    consumers.settle(a)
    assert a.has == {"later": [0], "t": [0, 1, 2, 3]}

    consumers.topics.grow("later", 2)
    consumers.settle(a)
    assert a.has == {"later": [0, 1], "t": [0, 1, 2, 3]}

    consumers.topics.delete("t")
    consumers.settle(a)
    assert a.has == {"later": [0, 1]}
    assert a.epoch == 4


def test_an_unread_topic_changes_no_assignment(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a")

    consumers.topics.create("other", 1)

    assert a.beat().member_epoch == 1


def test_a_recreated_topic_is_another_topic(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a")
    old = a.owned

    consumers.topics.delete("t")
    consumers.topics.create("t", 4)
    consumers.settle(a)

    assert a.has == {"t": [0, 1, 2, 3]}
    assert not old.keys() & a.owned.keys()


def test_the_assignor_that_most_members_want_is_used(consumers: ConsumerGroupHarness) -> None:
    consumers.joined("a", assignor="range")
    consumers.joined("b")
    assert consumers.front.describe("g").assignor == "range"

    consumers.joined("c", assignor="uniform")
    consumers.joined("d", assignor="uniform")

    assert consumers.front.describe("g").assignor == "uniform"


def test_a_description_has_current_and_target_assignments(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    consumers.joined("b")

    described = consumers.front.describe("g")
    first, second = described.members

    assert (described.epoch, described.target_epoch, described.state) == (2, 2, "Reconciling")
    assert (first.member_id, first.epoch, first.client_id) == ("a", 1, "c")
    assert first.assigned == a.owned
    assert consumers.topics.plain(first.target) == {"t": [0, 1]}
    assert (second.epoch, second.assigned) == (2, {})
    assert consumers.topics.plain(second.target) == {"t": [2, 3]}
    with pytest.raises(GroupIdNotFound):
        consumers.front.describe("other")


def commit_as(consumers: ConsumerGroupHarness, **fields: Any) -> int:
    """Return the code that the group answers to a commit; 0 if it lets it through."""
    offsets = {TopicPartition("t", 0): CommittedOffset(1)}
    request = replace(CommitRequest(group_id="g", offsets=offsets, version=9), **fields)
    try:
        consumers.group.check_commit(request, None)
    except GroupError as error:
        return error.code
    return 0


def test_a_transaction_may_commit_without_a_member_and_else_at_its_epoch_only(
    consumers: ConsumerGroupHarness,
) -> None:
    consumers.joined("a")

    codes = [
        commit_as(consumers, producer=Producer(1, 0), version=5),
        commit_as(consumers, producer=Producer(1, 0), version=5, member_id="a", generation=1),
        commit_as(consumers, producer=Producer(1, 0), version=5, member_id="a", generation=0),
        commit_as(consumers, producer=Producer(1, 0), version=5, member_id="x", generation=1),
        commit_as(consumers, member_id="a", generation=0),
        commit_as(consumers),
    ]

    assert codes == [0, 0, 22, 25, 113, 25]
