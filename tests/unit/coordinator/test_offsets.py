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
from unit.coordinator.harness import NEW, OLD, CoordinatorHarness

T0 = TopicPartition("t", 0)
DAY_MS = 24 * 3_600_000


def test_an_offset_comes_back_as_it_was_committed(harness: CoordinatorHarness) -> None:
    harness.commit(offsets={T0: CommittedOffset(5, 3, "über")})

    (value,) = harness.coordinator.offsets.fetch("g").values()

    assert (value.offset, value.leader_epoch, value.metadata) == (5, 3, "über")


def test_an_offset_is_shown_and_acknowledged_only_when_it_is_durable(
    harness: CoordinatorHarness,
) -> None:
    harness.durable = False

    assert harness.commit() is None
    assert not harness.coordinator.offsets.fetch("g")
    harness.flush()

    assert harness.inbox["commit"].error_codes == {T0: NONE}
    assert harness.coordinator.offsets.fetch("g")[T0].offset == 1


def test_an_offset_that_cannot_be_stored_is_refused_and_not_shown(
    harness: CoordinatorHarness,
) -> None:
    harness.durable = False
    harness.commit()

    harness.fail(NOT_COORDINATOR)

    assert harness.inbox["commit"].error_codes == {T0: NOT_COORDINATOR}
    assert not harness.coordinator.offsets.fetch("g")


def test_metadata_that_is_too_long_is_refused_for_its_partition_only(
    harness: CoordinatorHarness,
) -> None:
    t1 = TopicPartition("t", 1)

    reply = harness.commit(
        offsets={T0: CommittedOffset(1, -1, "x" * 4097), t1: CommittedOffset(2, -1, "x" * 4096)}
    )

    assert reply.error_codes == {T0: OFFSET_METADATA_TOO_LARGE, t1: NONE}
    assert list(harness.coordinator.offsets.fetch("g")) == [t1]


def test_a_member_commits_to_its_generation_only(harness: CoordinatorHarness) -> None:
    first = harness.stable()

    assert harness.commit(member_id=first.member_id, generation=1) is not None
    with pytest.raises(IllegalGeneration):
        harness.commit(member_id=first.member_id, generation=0)
    with pytest.raises(UnknownMemberId):
        harness.commit(member_id="nobody", generation=1)


def test_a_commit_without_a_member_is_for_groups_without_members(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    with pytest.raises(UnknownMemberId):
        harness.commit()

    harness.leave(LeavingMember(first.member_id))

    assert harness.commit() is not None


def test_a_generation_of_an_unknown_group_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(IllegalGeneration):
        harness.commit(generation=1, member_id="m")
    with pytest.raises(GroupIdNotFound):
        harness.commit(generation=1, member_id="m", version=9)


def test_members_commit_while_others_join_and_not_while_they_are_assigned(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    harness.join("b")
    assert harness.commit(member_id=first.member_id, generation=1) is not None

    harness.join("a", first.member_id)

    with pytest.raises(RebalanceInProgress):
        harness.commit(member_id=first.member_id, generation=2)


def test_a_commit_counts_as_a_heartbeat(harness: CoordinatorHarness) -> None:
    first = harness.stable()

    for _ in range(4):
        harness.tick(9_000)
        harness.commit(member_id=first.member_id, generation=1)

    assert harness.state() == "Stable"


def test_offsets_survive_a_restart(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.commit(offset=2)

    harness.restart()

    assert harness.coordinator.offsets.fetch("g")[T0].offset == 2
    assert [group.group_id for group in harness.coordinator.list_groups()] == ["g"]


def expire(harness: CoordinatorHarness, ms: int) -> list[TopicPartition]:
    harness.advance(ms)
    harness.expire_offsets()
    return list(harness.coordinator.offsets.fetch("g"))


def test_offsets_of_a_simple_consumer_expire_after_their_commit(
    harness: CoordinatorHarness,
) -> None:
    harness.commit()

    assert expire(harness, 7 * DAY_MS - 1) == [T0]
    assert expire(harness, 1) == []
    assert harness.state() == "Dead"


def test_offsets_of_an_empty_group_expire_after_the_last_member_left(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    harness.commit(member_id=first.member_id, generation=1)
    harness.advance(9_000)
    harness.leave(LeavingMember(first.member_id))

    assert expire(harness, 7 * DAY_MS - 1) == [T0]
    assert expire(harness, 1) == []
    assert harness.state() == "Dead"
    harness.restart()
    assert harness.state() == "Dead"


def subscription(*topics: str) -> bytes:
    parts = [pack(">hi", 1, len(topics))]
    parts += [pack(">h", len(topic)) + topic.encode() for topic in topics]
    return b"".join([*parts, b"\xff\xff\xff\xff"])


def test_offsets_of_a_stable_group_expire_for_unsubscribed_topics(
    harness: CoordinatorHarness,
) -> None:
    protocols = (MemberProtocol("range", subscription("t")),)
    first = harness.stable(protocols=protocols, session_timeout_ms=1_800_000)
    old = TopicPartition("old", 0)
    offsets = {T0: CommittedOffset(1), old: CommittedOffset(1)}
    harness.commit(member_id=first.member_id, generation=1, offsets=offsets)

    assert expire(harness, 7 * DAY_MS) == [T0]


def test_offsets_stay_while_the_subscription_is_not_known(harness: CoordinatorHarness) -> None:
    first = harness.stable()
    harness.commit(member_id=first.member_id, generation=1)

    assert expire(harness, 8 * DAY_MS) == [T0]


def test_an_offset_with_a_retention_of_its_own_goes_by_that(harness: CoordinatorHarness) -> None:
    harness.commit(retention_ms=1_000)

    assert expire(harness, 999) == [T0]
    assert expire(harness, 1) == []


def test_offsets_do_not_expire_while_a_commit_is_in_flight(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.advance(7 * DAY_MS)
    harness.durable = False
    harness.commit(offset=2)

    expire(harness, 0)
    harness.flush()

    assert harness.coordinator.offsets.fetch("g")[T0].offset == 2


def test_the_offsets_of_a_deleted_topic_are_forgotten(harness: CoordinatorHarness) -> None:
    u0 = TopicPartition("u", 0)
    harness.commit(offsets={T0: CommittedOffset(1), u0: CommittedOffset(1)})

    harness.forget_offsets(u=NO_TOPIC_ID)

    assert list(harness.coordinator.offsets.fetch("g")) == [u0]
    harness.restart()
    assert list(harness.coordinator.offsets.fetch("g")) == [u0]


def test_an_offset_of_an_earlier_topic_of_the_name_is_forgotten_and_a_later_one_is_not(
    harness: CoordinatorHarness,
) -> None:
    harness.commit(offset=1, topic_id=OLD)
    harness.forget_offsets(t=NEW)
    assert harness.offset() is None

    harness.commit(offset=2, topic_id=NEW)
    harness.forget_offsets(t=NEW)

    assert harness.offset() == 2
    harness.restart()
    assert harness.offset() == 2


def test_no_tombstone_overtakes_an_offset_that_is_on_its_way(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1, topic_id=OLD)
    harness.durable = False
    harness.commit(offset=2, topic_id=NEW)

    harness.forget_offsets(t=NEW)
    harness.flush()

    assert harness.offset() == 2
    harness.restart()
    assert harness.offset() == 2


def test_the_metadata_limit_is_a_setting(make_harness: Callable[..., CoordinatorHarness]) -> None:
    harness = make_harness(GroupSettings(offset_metadata_bytes_max=1))

    reply = harness.commit(offsets={T0: CommittedOffset(1, -1, "üü")})

    assert reply.error_codes == {T0: OFFSET_METADATA_TOO_LARGE}
