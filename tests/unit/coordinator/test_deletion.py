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
from unit.coordinator.desk import Desk

P = 7
T0 = TopicPartition("t", 0)
U0 = TopicPartition("u", 0)


def subscription(*topics: str) -> bytes:
    parts = [pack(">hi", 1, len(topics))]
    parts += [pack(">h", len(topic)) + topic.encode() for topic in topics]
    return b"".join([*parts, b"\xff\xff\xff\xff"])


def reader_of(desk: Desk, *topics: str, **changes: str) -> str:
    """Make a stable group of one member that reads `topics`; return its id."""
    protocols = (MemberProtocol("range", subscription(*topics)),)
    member_id: str = desk.stable(protocols=protocols, **changes).member_id
    return member_id


def test_a_deleted_group_is_gone_with_its_offsets_also_after_a_restart(desk: Desk) -> None:
    member_id = reader_of(desk, "t")
    desk.commit(member_id=member_id, generation=1)
    desk.leave(LeavingMember(member_id))

    assert desk.delete().error_code == 0

    for _ in range(2):
        assert (desk.state(), desk.offset()) == ("Dead", None)
        assert list(desk.coordinator.list_groups()) == []
        desk.restart()


def test_a_group_with_members_is_not_deleted(desk: Desk) -> None:
    reader_of(desk, "t")

    with pytest.raises(NonEmptyGroup):
        desk.delete()

    assert desk.state() == "Stable"


def test_a_group_that_nobody_knows_cannot_be_deleted(desk: Desk) -> None:
    with pytest.raises(GroupIdNotFound):
        desk.delete()
    with pytest.raises(GroupIdNotFound):
        desk.delete_offsets(T0)


def test_a_group_is_not_deleted_while_groups_are_loaded(desk: Desk) -> None:
    desk.coordinator = GroupCoordinator()

    with pytest.raises(CoordinatorLoadInProgress):
        desk.delete()
    with pytest.raises(CoordinatorLoadInProgress):
        desk.delete_offsets(T0)


def test_the_group_of_the_empty_id_can_be_deleted(desk: Desk) -> None:
    desk.commit(group_id="")

    assert desk.delete("").error_code == 0

    assert list(desk.coordinator.list_groups()) == []


def test_a_deletion_takes_what_an_open_transaction_brought(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)

    desk.delete()
    desk.end_transaction(P, commit=True)
    desk.restart()

    assert (desk.state(), desk.offset()) == ("Dead", None)


def test_a_deletion_takes_what_is_on_its_way_to_the_disk(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.durable = False
    desk.commit("late", offsets={U0: CommittedOffset(2)})

    desk.delete()
    desk.flush()

    assert list(desk.coordinator.list_groups()) == []
    desk.restart()
    assert list(desk.coordinator.list_groups()) == []


def test_who_joins_while_a_group_is_deleted_finds_it_new(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.durable = False
    desk.delete()
    member = desk.join("a")
    desk.sync("a", member.member_id, member.generation, {member.member_id: b"all"})

    desk.durable = True
    desk.flush()

    assert (desk.state(), desk.offset()) == ("Stable", None)
    desk.restart()
    assert desk.state() == "Stable"


def test_a_deletion_that_could_not_be_stored_is_refused(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.durable = False

    desk.delete()
    desk.fail(16)

    assert desk.inbox["delete"].error_code == 16
    assert desk.offset() == 1


def test_offsets_of_a_topic_that_a_member_reads_stay(desk: Desk) -> None:
    member_id = reader_of(desk, "t")
    both = {T0: CommittedOffset(1), U0: CommittedOffset(1)}
    desk.commit(member_id=member_id, generation=1, offsets=both)

    codes = desk.delete_offsets(T0, U0, TopicPartition("u", 1))

    assert codes == {T0: GROUP_SUBSCRIBED_TO_TOPIC, U0: 0, TopicPartition("u", 1): 0}
    assert list(desk.coordinator.offsets.fetch("g")) == [T0]
    desk.restart()
    assert list(desk.coordinator.offsets.fetch("g")) == [T0]


def test_a_restart_remembers_what_members_read(desk: Desk) -> None:
    member_id = reader_of(desk, "t")
    desk.commit(member_id=member_id, generation=1)

    desk.restart()

    assert desk.delete_offsets(T0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC}


def test_what_members_read_is_known_while_they_rebalance(desk: Desk) -> None:
    reader_of(desk, "t")
    desk.join("b", protocols=(MemberProtocol("range", subscription("u")),))

    assert desk.state() == "PreparingRebalance"
    assert desk.delete_offsets(T0, U0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC, U0: 0}


def test_a_consumer_that_does_not_say_what_it_reads_may_read_anything(desk: Desk) -> None:
    desk.stable(protocols=(MemberProtocol("range", b"?"),))

    assert desk.delete_offsets(T0) == {T0: GROUP_SUBSCRIBED_TO_TOPIC}


def test_offsets_of_members_that_are_no_consumers_cannot_be_deleted(desk: Desk) -> None:
    desk.stable(protocol_type="connect")

    with pytest.raises(NonEmptyGroup):
        desk.delete_offsets(T0)


def test_all_offsets_of_an_empty_group_can_be_deleted(desk: Desk) -> None:
    member_id = reader_of(desk, "t")
    desk.commit(member_id=member_id, generation=1)
    desk.leave(LeavingMember(member_id))

    assert desk.delete_offsets(T0) == {T0: 0}

    assert desk.offset() is None
    assert desk.state() == "Empty"


def test_a_pending_offset_is_deleted_before_it_counts(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)

    assert desk.delete_offsets(T0) == {T0: 0}
    desk.end_transaction(P, commit=True)

    assert desk.offset() is None
