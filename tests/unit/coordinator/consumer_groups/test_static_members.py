"""Members with a group instance id: away for a moment, back under another member id."""

import pytest

from duolog.coordinator.consumer_groups.errors import FencedMemberEpoch, UnreleasedInstanceId
from duolog.coordinator.errors import FencedInstanceId, UnknownMemberId
from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness


def test_a_static_member_that_comes_back_has_what_it_had(consumers: ConsumerGroupHarness) -> None:
    a, b = consumers.joined("a", instance_id="i"), consumers.joined("b", instance_id="j")
    consumers.settle(a, b)

    reply = b.leave(epoch=-2)
    assert reply.member_epoch == -2
    a.beat()
    assert a.has == {"t": [0, 1]}
    back = consumers.joined("b2", instance_id="j")

    assert (back.epoch, back.has) == (2, {"t": [2, 3]})
    assert sorted(consumers.group.members) == ["a", "b2"]
    assert consumers.group.epoch == 2


def test_a_static_member_that_does_not_come_back_is_removed(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a", instance_id="i"), consumers.joined("b", instance_id="j")
    consumers.settle(a, b)
    b.leave(epoch=-2)

    consumers.advance(30_000)
    a.beat()
    consumers.tick(15_000)
    a.beat()

    assert a.has == {"t": [0, 1, 2, 3]}


def test_an_instance_that_is_in_use_is_not_given_away(consumers: ConsumerGroupHarness) -> None:
    consumers.joined("a", instance_id="i")

    with pytest.raises(UnreleasedInstanceId):
        consumers.joined("b", instance_id="i")


def test_the_old_member_of_an_instance_is_fenced(consumers: ConsumerGroupHarness) -> None:
    a = consumers.joined("a", instance_id="i")
    a.leave(epoch=-2)
    with pytest.raises(FencedMemberEpoch):
        a.beat()
    consumers.joined("b", instance_id="i")

    with pytest.raises(FencedInstanceId):
        a.beat()
    with pytest.raises(FencedInstanceId):
        a.leave()


def test_an_unknown_instance_id_is_refused(consumers: ConsumerGroupHarness) -> None:
    consumers.joined("a")

    with pytest.raises(UnknownMemberId):
        consumers.ask(member_id="b", member_epoch=1, instance_id="i")
    with pytest.raises(UnknownMemberId):
        consumers.member("b", instance_id="i").leave(epoch=-2)


def test_a_static_member_that_leaves_for_good_gives_up_its_work(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a", instance_id="i"), consumers.joined("b", instance_id="j")
    consumers.settle(a, b)

    b.leave()
    a.beat()

    assert a.has == {"t": [0, 1, 2, 3]}
    assert consumers.group.static_ids == {"i": "a"}


def test_a_returning_member_may_change_its_subscription(consumers: ConsumerGroupHarness) -> None:
    consumers.topics.create("u", 1)
    consumers.joined("a", instance_id="i").leave(epoch=-2)

    back = consumers.joined("b", instance_id="i", topics=("u",))
    consumers.settle(back)

    assert back.has == {"u": [0]}
    assert consumers.group.owners.keys() == {(*back.owned, 0)}
