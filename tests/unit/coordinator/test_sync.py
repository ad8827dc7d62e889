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
from unit.coordinator.desk import Desk


def test_followers_wait_for_the_leaders_assignment(desk: Desk) -> None:
    first = desk.join("a")
    desk.join("b")
    desk.join("a", first.member_id)
    b = desk.inbox["b"].member_id

    assert desk.sync("b", b, 2) is None
    leader = desk.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})

    assert leader.assignment == b"1"
    assert desk.inbox["b"].assignment == b"2"
    assert desk.state() == "Stable"


def test_nobody_is_assigned_anything_before_the_assignment_is_durable(desk: Desk) -> None:
    desk.durable = False
    first = desk.join("a")

    assert desk.sync("a", first.member_id, 1, {first.member_id: b"1"}) is None
    assert desk.state() == "CompletingRebalance"
    desk.flush()

    assert desk.inbox["a"].assignment == b"1"
    assert desk.state() == "Stable"


def test_an_assignment_that_a_new_rebalance_overtook_reaches_nobody(desk: Desk) -> None:
    first = desk.join("a")
    desk.durable = False
    desk.sync("a", first.member_id, 1, {first.member_id: b"1"})

    desk.join("b")
    assert desk.inbox["a"].error_code == REBALANCE_IN_PROGRESS
    desk.flush()

    assert desk.state() == "PreparingRebalance"
    assert desk.inbox["a"].error_code == REBALANCE_IN_PROGRESS


def test_an_assignment_of_the_generation_before_reaches_nobody(desk: Desk) -> None:
    """The assignment is written to the log while the next generation waits for its own."""
    first = desk.join("a")
    desk.durable = False
    desk.sync("a", first.member_id, 1, {first.member_id: b"all"})
    desk.join("b")
    desk.join("a", first.member_id)
    b = desk.inbox["b"].member_id
    assert desk.sync("b", b, 2) is None

    desk.flush()
    between = desk.state()
    desk.durable = True
    leader = desk.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})

    assert between == "CompletingRebalance"
    assert (leader.assignment, desk.inbox["b"].assignment) == (b"1", b"2")


def test_an_assignment_that_cannot_be_stored_is_refused_and_joined_anew(desk: Desk) -> None:
    first = desk.join("a")
    desk.durable = False
    desk.sync("a", first.member_id, 1, {first.member_id: b"1"})

    desk.fail(NOT_COORDINATOR)

    assert desk.inbox["a"].error_code == NOT_COORDINATOR
    assert desk.state() == "PreparingRebalance"
    assert desk.join("a", first.member_id).generation == 2


def test_members_without_an_assignment_get_an_empty_one(desk: Desk) -> None:
    first = desk.join("a")

    assert desk.sync("a", first.member_id, 1).assignment == b""


def test_a_member_of_a_stable_group_gets_its_assignment_again(desk: Desk) -> None:
    _, b, generation = desk.stable_pair()

    assert desk.sync("b", b, generation).assignment == b"half-b"


def test_sync_of_another_generation_is_refused(desk: Desk) -> None:
    first = desk.join("a")

    with pytest.raises(IllegalGeneration):
        desk.sync("a", first.member_id, 2)


def test_sync_of_another_protocol_is_refused(desk: Desk) -> None:
    first = desk.join("a")

    with pytest.raises(InconsistentGroupProtocol):
        desk.sync("a", first.member_id, 1, protocol_name="sticky")
    with pytest.raises(InconsistentGroupProtocol):
        desk.sync("a", first.member_id, 1, protocol_type="connect")
    assert desk.sync("a", first.member_id, 1, protocol_name="range", protocol_type="consumer")


def test_sync_of_nobody_is_refused(desk: Desk) -> None:
    with pytest.raises(UnknownMemberId):
        desk.sync("a", "nobody", 1)


def test_sync_while_others_join_is_refused(desk: Desk) -> None:
    a, _, generation = desk.stable_pair()
    desk.join("c")

    with pytest.raises(RebalanceInProgress):
        desk.sync("a", a, generation)


def test_a_rebalance_sends_those_back_who_wait_for_an_assignment(desk: Desk) -> None:
    first = desk.join("a")
    desk.join("b")
    desk.join("a", first.member_id)
    desk.sync("b", desk.inbox["b"].member_id, 2)

    desk.join("a", first.member_id, protocols=(MemberProtocol("range", b"new"),))

    assert desk.inbox["b"].error_code == REBALANCE_IN_PROGRESS


def test_members_that_do_not_sync_in_time_are_left_out(desk: Desk) -> None:
    first = desk.join("a")
    desk.join("b")
    desk.join("a", first.member_id)
    b = desk.inbox["b"].member_id
    desk.sync("a", first.member_id, 2, {first.member_id: b"1", b: b"2"})
    for _ in range(6):
        desk.advance(9_999)
        desk.heartbeat(first.member_id, 2)
        desk.heartbeat(b, 2)

    desk.tick(6)

    assert desk.state() == "PreparingRebalance"
    with pytest.raises(UnknownMemberId):
        desk.heartbeat(b, 2)
    assert desk.join("a", first.member_id).generation == 3


def test_a_leader_that_syncs_twice_keeps_what_it_brought_first(desk: Desk) -> None:
    """Found by a random program: after a restart the group had the second assignment."""
    member = desk.join("a")
    desk.durable = False
    desk.sync("first", member.member_id, member.generation, {member.member_id: b"one"})
    desk.sync("second", member.member_id, member.generation, {member.member_id: b"two"})
    desk.flush()

    answer = desk.inbox["second"]
    desk.durable = True
    desk.restart()
    again = desk.sync("again", member.member_id, member.generation)

    assert desk.inbox.get("first") is None
    assert (answer.assignment, again.assignment) == (b"one", b"one")
