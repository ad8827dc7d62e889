from collections.abc import Callable
from struct import pack

import pytest

from duolog.coordinator.errors import (
    NONE,
    NOT_COORDINATOR,
    OFFSET_METADATA_TOO_LARGE,
    GroupIdNotFound,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.messages import CommittedOffset, LeavingMember, MemberProtocol
from duolog.coordinator.records import NO_TOPIC_ID
from duolog.coordinator.settings import GroupSettings
from duolog.core.ids import TopicPartition
from unit.coordinator.desk import NEW, OLD, Desk

T0 = TopicPartition("t", 0)
DAY_MS = 24 * 3_600_000


def test_an_offset_comes_back_as_it_was_committed(desk: Desk) -> None:
    desk.commit(offsets={T0: CommittedOffset(5, 3, "über")})

    (value,) = desk.coordinator.offsets.fetch("g").values()

    assert (value.offset, value.leader_epoch, value.metadata) == (5, 3, "über")


def test_an_offset_is_shown_and_acknowledged_only_when_it_is_durable(desk: Desk) -> None:
    desk.durable = False

    assert desk.commit() is None
    assert not desk.coordinator.offsets.fetch("g")
    desk.flush()

    assert desk.inbox["commit"].error_codes == {T0: NONE}
    assert desk.coordinator.offsets.fetch("g")[T0].offset == 1


def test_an_offset_that_cannot_be_stored_is_refused_and_not_shown(desk: Desk) -> None:
    desk.durable = False
    desk.commit()

    desk.fail(NOT_COORDINATOR)

    assert desk.inbox["commit"].error_codes == {T0: NOT_COORDINATOR}
    assert not desk.coordinator.offsets.fetch("g")


def test_metadata_that_is_too_long_is_refused_for_its_partition_only(desk: Desk) -> None:
    t1 = TopicPartition("t", 1)

    reply = desk.commit(
        offsets={T0: CommittedOffset(1, -1, "x" * 4097), t1: CommittedOffset(2, -1, "x" * 4096)}
    )

    assert reply.error_codes == {T0: OFFSET_METADATA_TOO_LARGE, t1: NONE}
    assert list(desk.coordinator.offsets.fetch("g")) == [t1]


def test_a_member_commits_to_its_generation_only(desk: Desk) -> None:
    first = desk.stable()

    assert desk.commit(member_id=first.member_id, generation=1) is not None
    with pytest.raises(IllegalGeneration):
        desk.commit(member_id=first.member_id, generation=0)
    with pytest.raises(UnknownMemberId):
        desk.commit(member_id="nobody", generation=1)


def test_a_commit_without_a_member_is_for_groups_without_members(desk: Desk) -> None:
    first = desk.stable()
    with pytest.raises(UnknownMemberId):
        desk.commit()

    desk.leave(LeavingMember(first.member_id))

    assert desk.commit() is not None


def test_a_generation_of_an_unknown_group_is_refused(desk: Desk) -> None:
    with pytest.raises(IllegalGeneration):
        desk.commit(generation=1, member_id="m")
    with pytest.raises(GroupIdNotFound):
        desk.commit(generation=1, member_id="m", version=9)


def test_members_commit_while_others_join_and_not_while_they_are_assigned(desk: Desk) -> None:
    first = desk.stable()
    desk.join("b")
    assert desk.commit(member_id=first.member_id, generation=1) is not None

    desk.join("a", first.member_id)

    with pytest.raises(RebalanceInProgress):
        desk.commit(member_id=first.member_id, generation=2)


def test_a_commit_is_a_sign_of_life(desk: Desk) -> None:
    first = desk.stable()

    for _ in range(4):
        desk.tick(9_000)
        desk.commit(member_id=first.member_id, generation=1)

    assert desk.state() == "Stable"


def test_offsets_survive_a_restart(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.commit(offset=2)

    desk.restart()

    assert desk.coordinator.offsets.fetch("g")[T0].offset == 2
    assert [group.group_id for group in desk.coordinator.list_groups()] == ["g"]


def expire(desk: Desk, ms: int) -> list[TopicPartition]:
    desk.advance(ms)
    desk.expire_offsets()
    return list(desk.coordinator.offsets.fetch("g"))


def test_offsets_of_a_simple_consumer_expire_after_their_commit(desk: Desk) -> None:
    desk.commit()

    assert expire(desk, 7 * DAY_MS - 1) == [T0]
    assert expire(desk, 1) == []
    assert desk.state() == "Dead"


def test_offsets_of_an_empty_group_expire_after_the_last_member_left(desk: Desk) -> None:
    first = desk.stable()
    desk.commit(member_id=first.member_id, generation=1)
    desk.advance(9_000)
    desk.leave(LeavingMember(first.member_id))

    assert expire(desk, 7 * DAY_MS - 1) == [T0]
    assert expire(desk, 1) == []
    assert desk.state() == "Dead"
    desk.restart()
    assert desk.state() == "Dead"


def subscription(*topics: str) -> bytes:
    parts = [pack(">hi", 1, len(topics))]
    parts += [pack(">h", len(topic)) + topic.encode() for topic in topics]
    return b"".join([*parts, b"\xff\xff\xff\xff"])


def test_offsets_of_a_stable_group_expire_for_topics_that_nobody_reads(desk: Desk) -> None:
    protocols = (MemberProtocol("range", subscription("t")),)
    first = desk.stable(protocols=protocols, session_timeout_ms=1_800_000)
    old = TopicPartition("old", 0)
    offsets = {T0: CommittedOffset(1), old: CommittedOffset(1)}
    desk.commit(member_id=first.member_id, generation=1, offsets=offsets)

    assert expire(desk, 7 * DAY_MS) == [T0]


def test_offsets_stay_while_the_subscription_is_not_known(desk: Desk) -> None:
    first = desk.stable()
    desk.commit(member_id=first.member_id, generation=1)

    assert expire(desk, 8 * DAY_MS) == [T0]


def test_an_offset_with_a_retention_of_its_own_goes_by_that(desk: Desk) -> None:
    desk.commit(retention_ms=1_000)

    assert expire(desk, 999) == [T0]
    assert expire(desk, 1) == []


def test_offsets_do_not_expire_while_a_commit_is_in_flight(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.advance(7 * DAY_MS)
    desk.durable = False
    desk.commit(offset=2)

    expire(desk, 0)
    desk.flush()

    assert desk.coordinator.offsets.fetch("g")[T0].offset == 2


def test_the_offsets_of_a_deleted_topic_are_forgotten(desk: Desk) -> None:
    u0 = TopicPartition("u", 0)
    desk.commit(offsets={T0: CommittedOffset(1), u0: CommittedOffset(1)})

    desk.forget_offsets(u=NO_TOPIC_ID)

    assert list(desk.coordinator.offsets.fetch("g")) == [u0]
    desk.restart()
    assert list(desk.coordinator.offsets.fetch("g")) == [u0]


def test_an_offset_of_an_earlier_topic_of_the_name_is_forgotten_and_a_later_one_is_not(
    desk: Desk,
) -> None:
    desk.commit(offset=1, topic_id=OLD)
    desk.forget_offsets(t=NEW)
    assert desk.offset() is None

    desk.commit(offset=2, topic_id=NEW)
    desk.forget_offsets(t=NEW)

    assert desk.offset() == 2
    desk.restart()
    assert desk.offset() == 2


def test_no_tombstone_overtakes_an_offset_that_is_on_its_way(desk: Desk) -> None:
    desk.commit(offset=1, topic_id=OLD)
    desk.durable = False
    desk.commit(offset=2, topic_id=NEW)

    desk.forget_offsets(t=NEW)
    desk.flush()

    assert desk.offset() == 2
    desk.restart()
    assert desk.offset() == 2


def test_the_metadata_limit_is_a_setting(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(GroupSettings(offset_metadata_bytes_max=1))

    reply = desk.commit(offsets={T0: CommittedOffset(1, -1, "üü")})

    assert reply.error_codes == {T0: OFFSET_METADATA_TOO_LARGE}
