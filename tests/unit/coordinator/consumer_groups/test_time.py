"""Groups handle timeouts of members, and restarts of the broker."""

import pytest

from duolog.coordinator.errors import UnknownMemberId
from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness


def test_a_member_that_is_silent_for_a_session_is_removed(consumers: ConsumerGroupHarness) -> None:
    a, b = consumers.joined("a"), consumers.joined("b")
    consumers.settle(a, b)

    consumers.tick(30_000)
    a.beat()
    assert consumers.group.next_deadline_ms() == 45_000
    consumers.tick(15_000)

    assert list(consumers.group.members) == ["a"]
    a.beat()
    assert a.has == {"t": [0, 1, 2, 3]}
    with pytest.raises(UnknownMemberId):
        b.beat()


def test_a_member_that_revokes_partitions_too_late_is_removed(
    consumers: ConsumerGroupHarness,
) -> None:
    a, b = consumers.joined("a"), consumers.joined("b")
    held = a.owned
    a.beat()
    for _ in range(3):
        consumers.tick(19_000)
        consumers.ask(member_id="a", member_epoch=1, owned=held)
        b.beat()
    assert b.has == {}

    consumers.tick(5_000)
    b.beat()

    assert b.has == {"t": [0, 1, 2, 3]}
    with pytest.raises(UnknownMemberId):
        consumers.ask(member_id="a", member_epoch=1, owned=held)


def test_a_member_that_revokes_partitions_in_time_stays(consumers: ConsumerGroupHarness) -> None:
    a, b = consumers.joined("a"), consumers.joined("b")
    consumers.settle(a, b)

    consumers.tick(40_000)
    a.beat()
    b.beat()
    consumers.tick(40_000)

    assert sorted(consumers.group.members) == ["a", "b"]


def test_a_restart_keeps_members_epochs_and_owners(consumers: ConsumerGroupHarness) -> None:
    a, b = consumers.joined("a"), consumers.joined("b", instance_id="i")
    consumers.settle(a, b)
    before = consumers.group

    consumers.restart()

    after = consumers.group
    assert (after.members, after.owners, after.targets) == (
        before.members,
        before.owners,
        before.targets,
    )
    assert (after.epoch, after.target_epoch, after.static_ids) == (2, 2, {"i": "b"})
    written = len(consumers.log)
    a.beat()
    b.beat()
    assert len(consumers.log) == written


def test_sessions_and_revocations_restart_after_a_restart(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    consumers.joined("b")
    a.beat()
    consumers.advance(44_000)

    consumers.restart()

    assert consumers.group.next_deadline_ms() == 44_000 + 45_000
    assert consumers.group.soft.revocations == {"a": (1, 44_000 + 60_000)}


def test_topics_that_changed_while_the_broker_was_away_are_noticed(
    consumers: ConsumerGroupHarness,
) -> None:
    a = consumers.joined("a")
    consumers.topics.grow("t", 5)

    consumers.restart()
    consumers.settle(a)

    assert a.has == {"t": [0, 1, 2, 3, 4]}


def test_a_deleted_group_leaves_nothing(consumers: ConsumerGroupHarness) -> None:
    consumers.joined("a", regex="t.*").leave()

    for record in consumers.group.tombstones():
        key, value = record.encode_key(), record.encode_value()
        consumers.log.append((key, value))
    consumers.restart()

    assert consumers.groups == {}
    newest = dict(consumers.log)
    assert set(newest.values()) == {None}
