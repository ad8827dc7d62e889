import pytest

from duolog.coordinator.errors import (
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMemberId,
)
from duolog.coordinator.messages import MemberProtocol
from unit.coordinator.harness import CoordinatorHarness


def test_followers_wait_for_the_leaders_assignment(harness: CoordinatorHarness) -> None:
    first = harness.join("a")
    harness.join("b")
    harness.join("a", first.member_id)
    b = harness.inbox["b"].member_id

    assert harness.sync("b", b, 2) is None
    leader = harness.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})

    assert leader.assignment == b"1"
    assert harness.inbox["b"].assignment == b"2"
    assert harness.state() == "Stable"


def test_members_get_an_assignment_only_when_it_is_durable(
    harness: CoordinatorHarness,
) -> None:
    harness.durable = False
    first = harness.join("a")

    assert harness.sync("a", first.member_id, 1, {first.member_id: b"1"}) is None
    assert harness.state() == "CompletingRebalance"
    harness.flush()

    assert harness.inbox["a"].assignment == b"1"
    assert harness.state() == "Stable"


def test_an_assignment_superseded_by_a_rebalance_is_not_sent(
    harness: CoordinatorHarness,
) -> None:
    first = harness.join("a")
    harness.durable = False
    harness.sync("a", first.member_id, 1, {first.member_id: b"1"})

    harness.join("b")
    assert harness.inbox["a"].error_code == REBALANCE_IN_PROGRESS
    harness.flush()

    assert harness.state() == "PreparingRebalance"
    assert harness.inbox["a"].error_code == REBALANCE_IN_PROGRESS


def test_an_assignment_of_the_previous_generation_is_not_sent(harness: CoordinatorHarness) -> None:
    """The assignment is written to the log while the next generation waits for its own."""
    first = harness.join("a")
    harness.durable = False
    harness.sync("a", first.member_id, 1, {first.member_id: b"all"})
    harness.join("b")
    harness.join("a", first.member_id)
    b = harness.inbox["b"].member_id
    assert harness.sync("b", b, 2) is None

    harness.flush()
    between = harness.state()
    harness.durable = True
    leader = harness.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})

    assert between == "CompletingRebalance"
    assert (leader.assignment, harness.inbox["b"].assignment) == (b"1", b"2")


def test_an_assignment_that_cannot_be_stored_starts_another_rebalance(
    harness: CoordinatorHarness,
) -> None:
    first = harness.join("a")
    harness.durable = False
    harness.sync("a", first.member_id, 1, {first.member_id: b"1"})

    harness.fail(NOT_COORDINATOR)

    assert harness.inbox["a"].error_code == NOT_COORDINATOR
    assert harness.state() == "PreparingRebalance"
    assert harness.join("a", first.member_id).generation == 2


def test_members_without_an_assignment_get_an_empty_one(harness: CoordinatorHarness) -> None:
    first = harness.join("a")

    assert harness.sync("a", first.member_id, 1).assignment == b""


def test_a_member_of_a_stable_group_gets_its_assignment_again(harness: CoordinatorHarness) -> None:
    _, b, generation = harness.stable_pair()

    assert harness.sync("b", b, generation).assignment == b"half-b"


def test_sync_of_another_generation_is_refused(harness: CoordinatorHarness) -> None:
    first = harness.join("a")

    with pytest.raises(IllegalGeneration):
        harness.sync("a", first.member_id, 2)


def test_sync_of_another_protocol_is_refused(harness: CoordinatorHarness) -> None:
    first = harness.join("a")

    with pytest.raises(InconsistentGroupProtocol):
        harness.sync("a", first.member_id, 1, protocol_name="sticky")
    with pytest.raises(InconsistentGroupProtocol):
        harness.sync("a", first.member_id, 1, protocol_type="connect")
    assert harness.sync("a", first.member_id, 1, protocol_name="range", protocol_type="consumer")


def test_sync_of_an_unknown_member_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(UnknownMemberId):
        harness.sync("a", "nobody", 1)


def test_sync_while_others_join_is_refused(harness: CoordinatorHarness) -> None:
    a, _, generation = harness.stable_pair()
    harness.join("c")

    with pytest.raises(RebalanceInProgress):
        harness.sync("a", a, generation)


def test_a_rebalance_makes_members_waiting_for_an_assignment_rejoin(
    harness: CoordinatorHarness,
) -> None:
    first = harness.join("a")
    harness.join("b")
    harness.join("a", first.member_id)
    harness.sync("b", harness.inbox["b"].member_id, 2)

    harness.join("a", first.member_id, protocols=(MemberProtocol("range", b"new"),))

    assert harness.inbox["b"].error_code == REBALANCE_IN_PROGRESS


def test_members_that_do_not_sync_in_time_are_left_out(harness: CoordinatorHarness) -> None:
    first = harness.join("a")
    harness.join("b")
    harness.join("a", first.member_id)
    b = harness.inbox["b"].member_id
    harness.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})
    for _ in range(6):
        harness.advance(9_999)
        harness.heartbeat(first.member_id, 2)
        harness.heartbeat(b, 2)

    harness.tick(6)

    assert harness.state() == "PreparingRebalance"
    with pytest.raises(UnknownMemberId):
        harness.heartbeat(b, 2)
    assert harness.join("a", first.member_id).generation == 3


def test_a_leader_that_syncs_twice_keeps_what_it_brought_first(harness: CoordinatorHarness) -> None:
    """Found by a random program: after a restart the group had the second assignment."""
    member = harness.join("a")
    harness.durable = False
    harness.sync("first", member.member_id, member.generation, {member.member_id: b"one"})
    harness.sync("second", member.member_id, member.generation, {member.member_id: b"two"})
    harness.flush()

    answer = harness.inbox["second"]
    harness.durable = True
    harness.restart()
    again = harness.sync("again", member.member_id, member.generation)

    assert harness.inbox.get("first") is None
    assert (answer.assignment, again.assignment) == (b"one", b"one")
