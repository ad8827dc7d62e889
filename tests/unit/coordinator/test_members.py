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
from unit.coordinator.harness import CoordinatorHarness


def test_a_member_that_sends_heartbeats_stays(harness: CoordinatorHarness) -> None:
    first = harness.stable()

    for _ in range(5):
        harness.tick(9_000)
        harness.heartbeat(first.member_id, 1)

    assert harness.state() == "Stable"


def test_a_member_that_is_silent_for_its_session_timeout_is_removed(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()

    harness.tick(9_999)
    assert harness.state() == "Stable"
    harness.tick(1)

    assert harness.state() == "Empty"
    with pytest.raises(UnknownMemberId):
        harness.heartbeat(first.member_id, 1)


def test_the_next_deadline_is_the_earliest_end_of_a_session(harness: CoordinatorHarness) -> None:
    harness.stable_pair()

    assert harness.coordinator.next_deadline_ms("g") == 10_000
    assert harness.coordinator.next_deadline_ms("other") is None


def test_heartbeats_of_a_group_that_rebalances_ask_to_join(harness: CoordinatorHarness) -> None:
    first = harness.stable()
    harness.join("b")

    with pytest.raises(RebalanceInProgress):
        harness.heartbeat(first.member_id, 1)


def test_heartbeats_of_another_generation_are_refused(harness: CoordinatorHarness) -> None:
    first = harness.stable()

    with pytest.raises(IllegalGeneration):
        harness.heartbeat(first.member_id, 2)


def test_heartbeats_to_an_unknown_group_are_of_an_unknown_member(
    harness: CoordinatorHarness,
) -> None:
    with pytest.raises(UnknownMemberId):
        harness.heartbeat("m", 1)


def test_a_member_that_waits_in_a_rebalance_needs_no_heartbeats(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    harness.join("b", session_timeout_ms=6_000)
    for _ in range(3):
        harness.tick(6_000)
        with pytest.raises(RebalanceInProgress):
            harness.heartbeat(first.member_id, 1)

    assert harness.join("a", first.member_id).generation == 2
    assert harness.inbox["b"].error_code == NONE


def test_leaving_starts_a_rebalance_for_the_others(harness: CoordinatorHarness) -> None:
    a, b, generation = harness.stable_pair()

    left = harness.leave(LeavingMember(a))

    assert [member.error_code for member in left] == [NONE]
    with pytest.raises(RebalanceInProgress):
        harness.heartbeat(b, generation)
    reply = harness.join("b", b)
    assert reply.leader_id == b


def test_a_group_is_empty_after_its_last_member_leaves(harness: CoordinatorHarness) -> None:
    first = harness.stable()

    harness.leave(LeavingMember(first.member_id))

    assert harness.state() == "Empty"
    change, _ = harness.log[-1]
    assert isinstance(change, GroupChange)
    assert change.value is not None
    assert (change.value.generation, change.value.members) == (2, ())


def test_a_leaving_member_ends_a_rebalance_that_waits_for_it(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    harness.join("b")

    harness.leave(LeavingMember(first.member_id))

    assert harness.inbox["b"].generation == 2


def test_each_leaving_member_gets_its_own_answer(harness: CoordinatorHarness) -> None:
    first = harness.stable(instance_id="i")

    left = harness.leave(
        LeavingMember("nobody"),
        LeavingMember("", "unknown"),
        LeavingMember("wrong", "i"),
        LeavingMember("", "i"),
    )

    codes = [member.error_code for member in left]
    assert codes == [UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID, FencedInstanceId.CODE, NONE]
    with pytest.raises(UnknownMemberId):
        harness.heartbeat(first.member_id, 1)


def test_an_assigned_member_id_can_leave(harness: CoordinatorHarness) -> None:
    reported = harness.join("a", member_id_required=True)

    left = harness.leave(LeavingMember(reported.member_id))

    assert left[0].error_code == NONE
    assert harness.state() == "Dead"


def test_leaving_an_unknown_group_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(UnknownMemberId):
        harness.leave(LeavingMember("m"))


def test_members_and_assignments_survive_a_restart(harness: CoordinatorHarness) -> None:
    a, b, generation = harness.stable_pair()
    before = harness.coordinator.describe("g")

    harness.restart()

    assert harness.coordinator.describe("g") == before
    harness.heartbeat(a, generation)
    assert harness.sync("b", b, generation).assignment == b"half-b"


def test_sessions_restart_with_the_broker(harness: CoordinatorHarness) -> None:
    a, _, generation = harness.stable_pair()
    harness.advance(60_000)

    harness.restart()
    harness.tick(9_999)
    harness.heartbeat(a, generation)
    harness.tick(1)

    # The other one was silent for a whole session.
    assert harness.state() == "PreparingRebalance"


def test_a_static_member_is_known_after_a_restart(harness: CoordinatorHarness) -> None:
    first = harness.stable(instance_id="i")

    harness.restart()
    back = harness.join("back", instance_id="i")

    assert back.generation == first.generation
    assert harness.sync("back", back.member_id, back.generation).assignment == b"all"


def test_a_generation_that_was_never_assigned_is_forgotten_by_a_restart(
    harness: CoordinatorHarness,
) -> None:
    a, b, generation = harness.stable_pair()
    harness.join("a", a)
    harness.join("b", b)

    harness.restart()

    harness.heartbeat(a, generation)
    with pytest.raises(IllegalGeneration):
        harness.heartbeat(a, generation + 1)


def test_every_request_is_refused_while_groups_are_loaded(harness: CoordinatorHarness) -> None:
    harness.coordinator = GroupCoordinator()

    for request in (
        lambda: harness.join("a"),
        lambda: harness.sync("a", "m", 1),
        lambda: harness.heartbeat("m", 1),
        lambda: harness.leave(LeavingMember("m")),
        harness.commit,
        lambda: harness.coordinator.offsets.fetch("g"),
        lambda: harness.coordinator.describe("g"),
        lambda: list(harness.coordinator.list_groups()),
    ):
        with pytest.raises(CoordinatorLoadInProgress):
            request()


def test_metadata_is_described_of_a_stable_group_only(harness: CoordinatorHarness) -> None:
    first = harness.stable()
    stable = harness.coordinator.describe("g")
    harness.join("b")
    rebalancing = harness.coordinator.describe("g")
    assert stable is not None
    assert rebalancing is not None

    assert stable.protocol_name == "range"
    assert stable.members[0].metadata == b"meta"
    assert stable.members[0].assignment == b"all"
    assert stable.members[0].client_host == "/127.0.0.1"
    assert rebalancing.protocol_name == ""
    assert rebalancing.members[0].member_id == first.member_id
    assert (rebalancing.members[0].metadata, rebalancing.members[0].assignment) == (b"", b"all")


def test_a_heartbeat_with_the_wrong_instance_is_of_an_unknown_member(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable()
    request = HeartbeatRequest(
        group_id="g", generation=1, member_id=first.member_id, instance_id="i"
    )

    with pytest.raises(UnknownMemberId):
        harness.coordinator.heartbeat(request, harness.now)


def test_the_new_id_of_a_static_member_that_came_back_survives_a_restart(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(instance_id="i")
    back = harness.join("back", instance_id="i")

    harness.restart()

    harness.heartbeat(back.member_id, back.generation, "i")


def test_a_group_whose_only_member_never_synced_is_empty_and_of_its_protocol(
    harness: CoordinatorHarness,
) -> None:
    """Found by comparison with Kafka: the group was deleted before its first record was written."""
    harness.join("a", rebalance_timeout_ms=1_000)
    harness.durable = False
    harness.tick(1_000)
    harness.durable = True
    harness.flush()

    found = harness.coordinator.describe("g")

    assert found is not None
    assert (found.state, found.protocol_type) == ("Empty", "consumer")


def test_a_static_member_that_is_waited_for_in_vain_shows_what_it_had(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(instance_id="i", rebalance_timeout_ms=1_000)
    harness.join("b", rebalance_timeout_ms=1_000)
    harness.tick(1_000)

    found = harness.coordinator.describe("g")

    assert found is not None
    assert found.state == "CompletingRebalance"
    assert [member.assignment for member in found.members] == [b"all", b""]
