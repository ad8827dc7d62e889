"""Each step of one member towards its target."""

from uuid import UUID

import pytest

from duolog.coordinator.consumer_groups.errors import FencedMemberEpoch
from duolog.coordinator.consumer_groups.reconcile import Goal, reconcile, subset
from duolog.coordinator.consumer_groups.records import (
    Assignment,
    CurrentAssignment,
    MemberState,
)

T, U = UUID(int=1), UUID(int=2)
STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def parts(*indexes: int, topic: UUID = T) -> Assignment:
    return {topic: frozenset(indexes)} if indexes else {}


def goal(
    epoch: int, target: Assignment, owned: Assignment | None = None, taken: tuple[int, ...] = ()
) -> Goal:
    return Goal(epoch, target, owned, lambda _, index: index in taken)


def test_a_stable_member_at_the_targets_epoch_stays() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1))

    assert reconcile(current, goal(5, parts(1, 2))) is current


def test_a_stable_member_takes_what_is_free() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1))

    assert reconcile(current, goal(6, parts(1, 2))) == CurrentAssignment(6, 5, STABLE, parts(1, 2))


def test_a_stable_member_with_the_same_target_goes_to_its_epoch() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1))

    assert reconcile(current, goal(9, parts(1))) == CurrentAssignment(9, 5, STABLE, parts(1))


def test_a_stable_member_must_give_up_first_and_keeps_its_epoch() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1, 2))

    step = reconcile(current, goal(6, parts(2, 3)))

    assert step == CurrentAssignment(5, 5, UNREVOKED, parts(2), parts(1))


def test_a_stable_member_that_does_not_own_revoked_partitions_advances() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1, 2))

    step = reconcile(current, goal(6, parts(2, 3), owned=parts(2)))

    assert step == CurrentAssignment(6, 5, STABLE, parts(2, 3))


def test_a_stable_member_waits_for_what_others_have() -> None:
    current = CurrentAssignment(5, 4, STABLE, parts(1))

    step = reconcile(current, goal(6, parts(1, 2, 3), taken=(3,)))
    none_free = reconcile(current, goal(6, parts(1, 3), taken=(3,)))

    assert step == CurrentAssignment(6, 5, UNRELEASED, parts(1, 2))
    assert none_free == CurrentAssignment(6, 5, UNRELEASED, parts(1))


@pytest.mark.parametrize("owned", [None, parts(1), parts(1, 2)])
def test_a_member_that_has_not_revoked_stays(owned: Assignment | None) -> None:
    current = CurrentAssignment(5, 5, UNREVOKED, parts(2), parts(1))

    assert reconcile(current, goal(6, parts(2), owned=owned)) is current


def test_a_member_that_revoked_partitions_advances_to_its_target() -> None:
    current = CurrentAssignment(5, 5, UNREVOKED, parts(2), parts(1))

    step = reconcile(current, goal(8, parts(2, 3), owned=parts(2)))

    assert step == CurrentAssignment(8, 5, STABLE, parts(2, 3))


def test_a_member_that_gave_up_may_have_to_give_up_more_at_the_next_epoch() -> None:
    current = CurrentAssignment(5, 5, UNREVOKED, parts(2, 3), parts(1))

    step = reconcile(current, goal(8, parts(2), owned=parts(2, 3)))

    assert step == CurrentAssignment(6, 5, UNREVOKED, parts(2), parts(3))


def test_a_member_gets_back_at_once_what_only_itself_had_to_give_up() -> None:
    current = CurrentAssignment(5, 5, UNREVOKED, parts(2), parts(1))

    step = reconcile(current, goal(8, parts(1, 2), owned=parts(2), taken=(1, 2)))

    assert step == CurrentAssignment(8, 5, STABLE, parts(1, 2))


def test_a_waiting_member_takes_what_became_free() -> None:
    current = CurrentAssignment(6, 5, UNRELEASED, parts(1))

    still = reconcile(current, goal(6, parts(1, 2, 3), taken=(2, 3)))
    some = reconcile(current, goal(6, parts(1, 2, 3), taken=(3,)))
    all_of_it = reconcile(current, goal(6, parts(1, 2, 3)))

    assert still.state is UNRELEASED
    assert some == CurrentAssignment(6, 6, UNRELEASED, parts(1, 2))
    assert all_of_it == CurrentAssignment(6, 6, STABLE, parts(1, 2, 3))


def test_a_waiting_member_may_have_to_give_up_what_it_has() -> None:
    current = CurrentAssignment(6, 5, UNRELEASED, parts(1))

    step = reconcile(current, goal(7, parts(2), taken=(2,)))

    assert step == CurrentAssignment(6, 6, UNREVOKED, {}, parts(1))


def test_a_member_in_an_unknown_state_must_begin_without_partitions() -> None:
    current = CurrentAssignment(6, 5, MemberState.UNKNOWN, parts(1))

    for owned in (None, parts(1)):
        with pytest.raises(FencedMemberEpoch):
            reconcile(current, goal(7, parts(2), owned=owned))

    step = reconcile(current, goal(7, parts(2), owned={}))
    assert step == CurrentAssignment(7, 6, STABLE, parts(2))


def test_topics_are_distinguished() -> None:
    current = CurrentAssignment(1, 0, STABLE, parts(1))

    step = reconcile(current, goal(2, parts(1, topic=U), owned=parts(1)))

    assert step == CurrentAssignment(1, 1, UNREVOKED, {}, parts(1))


def test_owned_partitions_are_a_subset_of_the_assignment() -> None:
    assert subset({}, parts(1))
    assert subset(parts(1), parts(1, 2))
    assert not subset(parts(3), parts(1, 2))
    assert not subset(parts(1, topic=U), parts(1))
    assert not subset(None, parts(1))
