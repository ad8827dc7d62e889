"""Heartbeats, sessions, leaving members, and members recovered by a restart."""

import pytest

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.errors import (
    NONE,
    UNKNOWN_MEMBER_ID,
    CoordinatorLoadInProgress,
    FencedInstanceId,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.messages import HeartbeatRequest, LeavingMember
from duolog.coordinator.records import GroupChange
from unit.coordinator.desk import Desk


def test_a_member_that_sends_heartbeats_stays(desk: Desk) -> None:
    first = desk.stable()

    for _ in range(5):
        desk.tick(9_000)
        desk.heartbeat(first.member_id, 1)

    assert desk.state() == "Stable"


def test_a_member_that_is_silent_for_its_session_timeout_is_removed(desk: Desk) -> None:
    first = desk.stable()

    desk.tick(9_999)
    assert desk.state() == "Stable"
    desk.tick(1)

    assert desk.state() == "Empty"
    with pytest.raises(UnknownMemberId):
        desk.heartbeat(first.member_id, 1)


def test_the_next_deadline_is_the_earliest_end_of_a_session(desk: Desk) -> None:
    desk.stable_pair()

    assert desk.coordinator.next_deadline_ms("g") == 10_000
    assert desk.coordinator.next_deadline_ms("other") is None


def test_heartbeats_of_a_group_that_rebalances_ask_to_join(desk: Desk) -> None:
    first = desk.stable()
    desk.join("b")

    with pytest.raises(RebalanceInProgress):
        desk.heartbeat(first.member_id, 1)


def test_heartbeats_of_another_generation_are_refused(desk: Desk) -> None:
    first = desk.stable()

    with pytest.raises(IllegalGeneration):
        desk.heartbeat(first.member_id, 2)


def test_heartbeats_to_an_unknown_group_are_of_an_unknown_member(desk: Desk) -> None:
    with pytest.raises(UnknownMemberId):
        desk.heartbeat("m", 1)


def test_a_member_that_waits_in_a_rebalance_needs_no_heartbeats(desk: Desk) -> None:
    first = desk.stable()
    desk.join("b", session_timeout_ms=6_000)
    for _ in range(3):
        desk.tick(6_000)
        with pytest.raises(RebalanceInProgress):
            desk.heartbeat(first.member_id, 1)

    assert desk.join("a", first.member_id).generation == 2
    assert desk.inbox["b"].error_code == NONE


def test_leaving_starts_a_rebalance_for_the_others(desk: Desk) -> None:
    a, b, generation = desk.stable_pair()

    left = desk.leave(LeavingMember(a))

    assert [member.error_code for member in left] == [NONE]
    with pytest.raises(RebalanceInProgress):
        desk.heartbeat(b, generation)
    reply = desk.join("b", b)
    assert reply.leader_id == b


def test_the_last_member_leaves_an_empty_group_behind(desk: Desk) -> None:
    first = desk.stable()

    desk.leave(LeavingMember(first.member_id))

    assert desk.state() == "Empty"
    change, _ = desk.log[-1]
    assert isinstance(change, GroupChange)
    assert change.value is not None
    assert (change.value.generation, change.value.members) == (2, ())


def test_leaving_ends_a_rebalance_that_waits_for_the_one_who_leaves(desk: Desk) -> None:
    first = desk.stable()
    desk.join("b")

    desk.leave(LeavingMember(first.member_id))

    assert desk.inbox["b"].generation == 2


def test_each_leaving_member_gets_its_own_answer(desk: Desk) -> None:
    first = desk.stable(instance_id="i")

    left = desk.leave(
        LeavingMember("nobody"),
        LeavingMember("", "unknown"),
        LeavingMember("wrong", "i"),
        LeavingMember("", "i"),
    )

    codes = [member.error_code for member in left]
    assert codes == [UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID, FencedInstanceId.CODE, NONE]
    with pytest.raises(UnknownMemberId):
        desk.heartbeat(first.member_id, 1)


def test_an_id_that_was_told_can_leave(desk: Desk) -> None:
    told = desk.join("a", member_id_required=True)

    left = desk.leave(LeavingMember(told.member_id))

    assert left[0].error_code == NONE
    assert desk.state() == "Dead"


def test_leaving_an_unknown_group_is_refused(desk: Desk) -> None:
    with pytest.raises(UnknownMemberId):
        desk.leave(LeavingMember("m"))


def test_members_and_assignments_survive_a_restart(desk: Desk) -> None:
    a, b, generation = desk.stable_pair()
    before = desk.coordinator.describe("g")

    desk.restart()

    assert desk.coordinator.describe("g") == before
    desk.heartbeat(a, generation)
    assert desk.sync("b", b, generation).assignment == b"half-b"


def test_sessions_begin_anew_at_a_restart(desk: Desk) -> None:
    a, _, generation = desk.stable_pair()
    desk.advance(60_000)

    desk.restart()
    desk.tick(9_999)
    desk.heartbeat(a, generation)
    desk.tick(1)

    # The other one was silent for a whole session.
    assert desk.state() == "PreparingRebalance"


def test_a_static_member_is_known_after_a_restart(desk: Desk) -> None:
    first = desk.stable(instance_id="i")

    desk.restart()
    back = desk.join("back", instance_id="i")

    assert back.generation == first.generation
    assert desk.sync("back", back.member_id, back.generation).assignment == b"all"


def test_a_generation_that_was_never_assigned_is_forgotten_by_a_restart(desk: Desk) -> None:
    a, b, generation = desk.stable_pair()
    desk.join("a", a)
    desk.join("b", b)

    desk.restart()

    desk.heartbeat(a, generation)
    with pytest.raises(IllegalGeneration):
        desk.heartbeat(a, generation + 1)


def test_every_request_is_refused_while_groups_are_loaded(desk: Desk) -> None:
    desk.coordinator = GroupCoordinator()

    for request in (
        lambda: desk.join("a"),
        lambda: desk.sync("a", "m", 1),
        lambda: desk.heartbeat("m", 1),
        lambda: desk.leave(LeavingMember("m")),
        desk.commit,
        lambda: desk.coordinator.offsets.fetch("g"),
        lambda: desk.coordinator.describe("g"),
        lambda: list(desk.coordinator.list_groups()),
    ):
        with pytest.raises(CoordinatorLoadInProgress):
            request()


def test_metadata_is_described_of_a_stable_group_only(desk: Desk) -> None:
    first = desk.stable()
    stable = desk.coordinator.describe("g")
    desk.join("b")
    rebalancing = desk.coordinator.describe("g")
    assert stable is not None
    assert rebalancing is not None

    assert stable.protocol_name == "range"
    assert stable.members[0].metadata == b"meta"
    assert stable.members[0].assignment == b"all"
    assert stable.members[0].client_host == "/127.0.0.1"
    assert rebalancing.protocol_name == ""
    assert rebalancing.members[0].member_id == first.member_id
    assert (rebalancing.members[0].metadata, rebalancing.members[0].assignment) == (b"", b"all")


def test_a_heartbeat_with_the_wrong_instance_is_of_an_unknown_member(desk: Desk) -> None:
    first = desk.stable()
    request = HeartbeatRequest(
        group_id="g", generation=1, member_id=first.member_id, instance_id="i"
    )

    with pytest.raises(UnknownMemberId):
        desk.coordinator.heartbeat(request, desk.now)


def test_the_new_id_of_a_static_member_that_came_back_survives_a_restart(desk: Desk) -> None:
    desk.stable(instance_id="i")
    back = desk.join("back", instance_id="i")

    desk.restart()

    desk.heartbeat(back.member_id, back.generation, "i")


def test_a_group_whose_only_member_never_synced_is_empty_and_of_its_protocol(desk: Desk) -> None:
    """Found by comparison with Kafka: the group was deleted before its first record was written."""
    desk.join("a", rebalance_timeout_ms=1_000)
    desk.durable = False
    desk.tick(1_000)
    desk.durable = True
    desk.flush()

    found = desk.coordinator.describe("g")

    assert found is not None
    assert (found.state, found.protocol_type) == ("Empty", "consumer")


def test_a_static_member_that_is_waited_for_in_vain_shows_what_it_had(desk: Desk) -> None:
    desk.stable(instance_id="i", rebalance_timeout_ms=1_000)
    desk.join("b", rebalance_timeout_ms=1_000)
    desk.tick(1_000)

    found = desk.coordinator.describe("g")

    assert found is not None
    assert found.state == "CompletingRebalance"
    assert [member.assignment for member in found.members] == [b"all", b""]
