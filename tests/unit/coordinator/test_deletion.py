"""DeleteGroups and OffsetDelete delete what is allowed, and the deletion is durable."""

from struct import pack

import pytest

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.errors import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    NonEmptyGroup,
)
from duolog.coordinator.messages import CommittedOffset, LeavingMember, MemberProtocol
from duolog.core.ids import TopicPartition
from unit.coordinator.harness import CoordinatorHarness

P = 7
T0 = TopicPartition("t", 0)
U0 = TopicPartition("u", 0)


def subscription(*topics: str) -> bytes:
    parts = [pack(">hi", 1, len(topics))]
    parts += [pack(">h", len(topic)) + topic.encode() for topic in topics]
    return b"".join([*parts, b"\xff\xff\xff\xff"])


def reader_of(harness: CoordinatorHarness, *topics: str, **changes: str) -> str:
    """Make a stable group of one member that reads `topics`; return its id."""
    protocols = (MemberProtocol("range", subscription(*topics)),)
    member_id: str = harness.stable(protocols=protocols, **changes).member_id
    return member_id


def test_a_deleted_group_is_gone_with_its_offsets_also_after_a_restart(
    harness: CoordinatorHarness,
) -> None:
    member_id = reader_of(harness, "t")
    harness.commit(member_id=member_id, generation=1)
    harness.leave(LeavingMember(member_id))

    assert harness.delete().error_code == 0

    for _ in range(2):
        assert (harness.state(), harness.offset()) == ("Dead", None)
        assert list(harness.coordinator.list_groups()) == []
        harness.restart()


def test_a_group_with_members_is_not_deleted(harness: CoordinatorHarness) -> None:
    reader_of(harness, "t")

    with pytest.raises(NonEmptyGroup):
        harness.delete()

    assert harness.state() == "Stable"


def test_an_unknown_group_cannot_be_deleted(harness: CoordinatorHarness) -> None:
    with pytest.raises(GroupIdNotFound):
        harness.delete()
    with pytest.raises(GroupIdNotFound):
        harness.delete_offsets(T0)


def test_a_group_is_not_deleted_while_groups_are_loaded(harness: CoordinatorHarness) -> None:
    harness.coordinator = GroupCoordinator()

    with pytest.raises(CoordinatorLoadInProgress):
        harness.delete()
    with pytest.raises(CoordinatorLoadInProgress):
        harness.delete_offsets(T0)


def test_the_group_of_the_empty_id_can_be_deleted(harness: CoordinatorHarness) -> None:
    harness.commit(group_id="")

    assert harness.delete("").error_code == 0

    assert list(harness.coordinator.list_groups()) == []


def test_a_deletion_removes_records_of_an_open_transaction(harness: CoordinatorHarness) -> None:
    harness.commit_in_transaction(P, 5)

    harness.delete()
    harness.end_transaction(P, commit=True)
    harness.restart()

    assert (harness.state(), harness.offset()) == ("Dead", None)


def test_a_deletion_removes_records_being_written(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.durable = False
    harness.commit("late", offsets={U0: CommittedOffset(2)})

    harness.delete()
    harness.flush()

    assert list(harness.coordinator.list_groups()) == []
    harness.restart()
    assert list(harness.coordinator.list_groups()) == []


def test_a_join_during_deletion_creates_a_new_group(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.durable = False
    harness.delete()
    member = harness.join("a")
    harness.sync("a", member.member_id, member.generation, {member.member_id: b"all"})

    harness.durable = True
    harness.flush()

    assert (harness.state(), harness.offset()) == ("Stable", None)
    harness.restart()
    assert harness.state() == "Stable"


def test_a_deletion_that_could_not_be_stored_is_refused(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.durable = False

    harness.delete()
    harness.fail(16)

    assert harness.inbox["delete"].error_code == 16
    assert harness.offset() == 1


def test_offsets_of_a_topic_that_a_member_reads_stay(harness: CoordinatorHarness) -> None:
    member_id = reader_of(harness, "t")
    both = {T0: CommittedOffset(1), U0: CommittedOffset(1)}
    harness.commit(member_id=member_id, generation=1, offsets=both)

    codes = harness.delete_offsets(T0, U0, TopicPartition("u", 1))

    assert codes == {T0: GROUP_SUBSCRIBED_TO_TOPIC, U0: 0, TopicPartition("u", 1): 0}
    assert list(harness.coordinator.offsets.fetch("g")) == [T0]
    harness.restart()
    assert list(harness.coordinator.offsets.fetch("g")) == [T0]


def test_a_restart_remembers_what_members_read(harness: CoordinatorHarness) -> None:
    member_id = reader_of(harness, "t")
    harness.commit(member_id=member_id, generation=1)

    harness.restart()

    assert harness.delete_offsets(T0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC}


def test_subscriptions_are_known_during_a_rebalance(harness: CoordinatorHarness) -> None:
    reader_of(harness, "t")
    harness.join("b", protocols=(MemberProtocol("range", subscription("u")),))

    assert harness.state() == "PreparingRebalance"
    assert harness.delete_offsets(T0, U0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC, U0: 0}


def test_a_consumer_that_does_not_say_what_it_reads_may_read_anything(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(protocols=(MemberProtocol("range", b"?"),))

    assert harness.delete_offsets(T0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC}


def test_offsets_of_members_that_are_no_consumers_cannot_be_deleted(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(protocol_type="connect")

    with pytest.raises(NonEmptyGroup):
        harness.delete_offsets(T0)


def test_all_offsets_of_an_empty_group_can_be_deleted(harness: CoordinatorHarness) -> None:
    member_id = reader_of(harness, "t")
    harness.commit(member_id=member_id, generation=1)
    harness.leave(LeavingMember(member_id))

    assert harness.delete_offsets(T0) == {T0: 0}

    assert harness.offset() is None
    assert harness.state() == "Empty"


def test_a_pending_offset_is_deleted_before_it_counts(harness: CoordinatorHarness) -> None:
    harness.commit_in_transaction(P, 5)

    assert harness.delete_offsets(T0) == {T0: 0}
    harness.end_transaction(P, commit=True)

    assert harness.offset() is None
