from collections.abc import Callable
from typing import Any

import pytest

from duolog.coordinator.errors import (
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    MEMBER_ID_REQUIRED,
    FencedInstanceId,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidRequest,
    InvalidSessionTimeout,
    UnknownMemberId,
)
from duolog.coordinator.messages import LeavingMember, MemberProtocol
from duolog.coordinator.settings import GroupSettings
from unit.coordinator.harness import CoordinatorHarness


def test_the_first_member_leads_the_first_generation_at_once(harness: CoordinatorHarness) -> None:
    reply = harness.join("a")

    assert reply.error_code == 0
    assert reply.generation == 1
    assert reply.leader_id == reply.member_id
    assert (reply.protocol_type, reply.protocol_name) == ("consumer", "range")
    assert [member.metadata for member in reply.members] == [b"meta"]


def test_a_new_dynamic_member_gets_its_id_before_it_joins(harness: CoordinatorHarness) -> None:
    reported = harness.join("a", member_id_required=True)
    joined = harness.join("a", reported.member_id, member_id_required=True)

    assert reported.error_code == MEMBER_ID_REQUIRED
    assert reported.member_id.startswith("c-")
    assert joined.error_code == 0
    assert joined.member_id == reported.member_id


def test_an_assigned_member_id_that_is_never_used_is_forgotten(harness: CoordinatorHarness) -> None:
    reported = harness.join("a", member_id_required=True)

    harness.tick(10_000)

    assert harness.state() == "Dead"
    with pytest.raises(UnknownMemberId):
        harness.join("a", reported.member_id)


def test_a_rebalance_waits_for_a_member_with_an_assigned_id(harness: CoordinatorHarness) -> None:
    first = harness.stable()
    reported = harness.join("b", member_id_required=True)

    assert harness.join("a", first.member_id) is None  # The leader joins again: a rebalance.
    joined = harness.join("b", reported.member_id)

    assert joined.generation == 2
    assert len(harness.inbox["a"].members) == 2


def test_only_the_leader_gets_the_members(harness: CoordinatorHarness) -> None:
    first = harness.join("a")
    assert harness.join("b") is None
    leader = harness.join("a", first.member_id)
    follower = harness.inbox["b"]

    assert leader.generation == follower.generation == 2
    assert leader.leader_id == follower.leader_id == first.member_id
    assert len(leader.members) == 2
    assert follower.members == ()


def test_the_protocol_with_most_votes_among_the_common_ones_is_selected(
    harness: CoordinatorHarness,
) -> None:
    def offers(*names: str) -> tuple[MemberProtocol, ...]:
        return tuple(MemberProtocol(name, name.encode()) for name in names)

    first = harness.join("a", protocols=offers("range", "sticky", "own"))
    harness.join("b", protocols=offers("sticky", "range"))
    harness.join("c", protocols=offers("sticky", "range"))
    reply = harness.join("a", first.member_id, protocols=offers("range", "sticky", "own"))

    assert reply.protocol_name == "sticky"
    assert {member.metadata for member in reply.members} == {b"sticky"}


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol_type": "connect"},
        {"protocols": (MemberProtocol("other", b""),)},
        {"protocols": ()},
    ],
)
def test_a_member_without_a_common_protocol_is_refused(
    harness: CoordinatorHarness, changes: dict[str, Any]
) -> None:
    harness.stable()

    with pytest.raises(InconsistentGroupProtocol):
        harness.join("b", **changes)


def test_a_first_member_without_protocols_is_refused_and_leaves_no_group(
    harness: CoordinatorHarness,
) -> None:
    with pytest.raises(InconsistentGroupProtocol):
        harness.join("a", protocols=())

    assert list(harness.coordinator.list_groups()) == []


@pytest.mark.parametrize("session_timeout_ms", [5_999, 30 * 60_000 + 1])
def test_a_session_timeout_outside_of_the_range_is_refused(
    harness: CoordinatorHarness, session_timeout_ms: int
) -> None:
    with pytest.raises(InvalidSessionTimeout):
        harness.join("a", session_timeout_ms=session_timeout_ms)


def test_an_empty_group_id_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(InvalidGroupId):
        harness.join("a", group_id="")


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "x" * 2**15},
        {"instance_id": "x" * 2**15},
        {"protocol_type": "x" * 2**15},
        {"protocols": (MemberProtocol("x" * 2**15, b""),)},
    ],
)
def test_texts_that_no_record_can_hold_are_refused(
    harness: CoordinatorHarness, changes: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        harness.join("a", **changes)


def test_a_group_id_that_no_record_can_hold_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(InvalidGroupId):
        harness.join("a", group_id="x" * 2**15)
    with pytest.raises(InvalidGroupId):
        harness.commit(group_id="x" * 2**15)


def test_a_protocol_that_is_named_twice_counts_once(harness: CoordinatorHarness) -> None:
    first = harness.join("a", protocols=(MemberProtocol("x", b""), MemberProtocol("y", b"")))
    twice = (MemberProtocol("x", b""), MemberProtocol("x", b""))
    harness.join("b", protocols=(MemberProtocol("y", b""), *twice))
    reply = harness.join("a", first.member_id, protocols=(MemberProtocol("y", b""),))

    assert reply.protocol_name == "y"


def test_an_unknown_member_id_is_refused(harness: CoordinatorHarness) -> None:
    with pytest.raises(UnknownMemberId):
        harness.join("a", "nobody")
    harness.stable()
    with pytest.raises(UnknownMemberId):
        harness.join("a", "nobody")


def test_a_full_group_takes_no_new_member(make_harness: Callable[..., CoordinatorHarness]) -> None:
    harness = make_harness(GroupSettings(members_max=1))
    first = harness.stable()

    assert harness.join("b").error_code == GROUP_MAX_SIZE_REACHED
    assert harness.join("a", first.member_id).generation == 2


def test_the_last_to_rejoin_a_group_that_is_too_large_is_left_out_at_once(
    make_harness: Callable[..., CoordinatorHarness],
) -> None:
    harness = make_harness(GroupSettings(members_max=2))
    a, b, _ = harness.stable_pair()
    harness.settings = GroupSettings(members_max=1)
    harness.restart()

    assert harness.join("a", a) is None
    assert harness.join("b", b).error_code == GROUP_MAX_SIZE_REACHED

    assert [member.member_id for member in harness.inbox["a"].members] == [a]


def test_a_follower_that_joins_unchanged_gets_the_current_generation_again(
    harness: CoordinatorHarness,
) -> None:
    _, b, generation = harness.stable_pair()

    reply = harness.join("b", b)

    assert (reply.generation, reply.members) == (generation, ())
    assert harness.state() == "Stable"


def test_a_follower_with_other_metadata_starts_a_rebalance(harness: CoordinatorHarness) -> None:
    a, b, generation = harness.stable_pair()

    assert harness.join("b", b, protocols=(MemberProtocol("range", b"owned"),)) is None
    reply = harness.join("a", a)

    assert reply.generation == generation + 1
    assert b"owned" in {member.metadata for member in reply.members}


def test_a_leader_that_joins_again_starts_a_rebalance(harness: CoordinatorHarness) -> None:
    a, b, generation = harness.stable_pair()

    assert harness.join("a", a) is None
    assert harness.join("b", b).generation == generation + 1


def test_a_join_that_was_not_answered_can_be_repeated_before_the_assignment(
    harness: CoordinatorHarness,
) -> None:
    first = harness.join("a")

    again = harness.join("again", first.member_id)

    assert again == first


def test_members_that_do_not_join_within_the_rebalance_timeout_are_left_out(
    harness: CoordinatorHarness,
) -> None:
    a, b, generation = harness.stable_pair()
    harness.join("a", a)
    for _ in range(10):
        harness.advance(6_000)
        with pytest.raises(Exception, match="rebalancing"):
            harness.heartbeat(b, generation)

    harness.tick(0)

    assert harness.inbox["a"].generation == generation + 1
    assert [member.member_id for member in harness.inbox["a"].members] == [a]


def test_a_delayed_first_rebalance_includes_all_members_that_join_in_time(
    make_harness: Callable[..., CoordinatorHarness],
) -> None:
    harness = make_harness(GroupSettings(initial_rebalance_delay_ms=3_000))
    assert harness.join("a") is None
    harness.advance(2_000)
    assert harness.join("b") is None

    harness.tick(1_000)  # A member was added: the delay is extended.
    assert "a" not in harness.inbox
    harness.tick(3_000)

    assert harness.inbox["a"].generation == harness.inbox["b"].generation == 1
    assert len(harness.inbox["a"].members) == 2


def test_a_delayed_first_rebalance_ends_with_the_rebalance_timeout(
    make_harness: Callable[..., CoordinatorHarness],
) -> None:
    harness = make_harness(GroupSettings(initial_rebalance_delay_ms=3_000))
    harness.join("m0", rebalance_timeout_ms=6_000)
    for number in range(1, 7):
        harness.tick(1_000)
        harness.join(f"m{number}", rebalance_timeout_ms=6_000)

    assert harness.inbox["m0"].generation == 1


def test_a_static_member_that_comes_back_keeps_its_assignment_without_a_rebalance(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable(instance_id="i")

    back = harness.join("back", instance_id="i")
    synced = harness.sync("back", back.member_id, back.generation)

    assert back.member_id != first.member_id
    assert back.generation == first.generation
    assert synced.assignment == b"all"
    assert harness.state() == "Stable"


def test_a_static_leader_that_comes_back_takes_itself_for_a_follower(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable(instance_id="i")

    back = harness.join("back", instance_id="i")

    assert back.leader_id == first.member_id
    assert back.members == ()
    assert not back.skip_assignment


def test_a_static_leader_that_supports_it_skips_the_assignment(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(instance_id="i")

    back = harness.join("back", instance_id="i", skip_assignment_known=True)

    assert back.leader_id == back.member_id
    assert back.skip_assignment
    assert len(back.members) == 1


def test_a_static_member_is_let_back_in_only_when_its_new_id_is_durable(
    harness: CoordinatorHarness,
) -> None:
    harness.stable(instance_id="i")
    harness.durable = False

    assert harness.join("back", instance_id="i") is None
    harness.flush()

    assert harness.inbox["back"].error_code == 0


def test_a_static_member_fences_the_one_before_it(harness: CoordinatorHarness) -> None:
    first = harness.stable(instance_id="i")
    harness.join("back", instance_id="i")

    with pytest.raises(FencedInstanceId):
        harness.heartbeat(first.member_id, first.generation, "i")
    with pytest.raises(UnknownMemberId):
        harness.heartbeat(first.member_id, first.generation)


def test_a_static_member_that_waits_is_fenced_by_its_successor(harness: CoordinatorHarness) -> None:
    harness.stable()
    harness.join("old", instance_id="i")

    harness.join("new", instance_id="i")

    assert harness.inbox["old"].error_code == FENCED_INSTANCE_ID


def test_a_static_member_with_other_protocols_starts_a_rebalance(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable(
        instance_id="i", protocols=(MemberProtocol("range", b""), MemberProtocol("sticky", b""))
    )

    back = harness.join("back", instance_id="i", protocols=(MemberProtocol("sticky", b""),))

    assert back.generation == first.generation + 1
    assert back.protocol_name == "sticky"


def test_a_static_member_that_comes_back_before_the_assignment_starts_a_rebalance(
    harness: CoordinatorHarness,
) -> None:
    first = harness.join("a", instance_id="i")

    back = harness.join("back", instance_id="i")

    assert back.generation == first.generation + 1


def test_a_static_member_is_kept_through_a_rebalance_that_it_misses(
    harness: CoordinatorHarness,
) -> None:
    first = harness.stable(instance_id="i")
    assert harness.join("b") is None
    harness.advance(5_000)
    with pytest.raises(Exception, match="rebalancing"):
        harness.heartbeat(first.member_id, first.generation, "i")

    harness.leave(LeavingMember(first.member_id))

    assert [m.member_id for m in harness.inbox["b"].members] == [harness.inbox["b"].member_id]
