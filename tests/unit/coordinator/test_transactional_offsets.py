"""Offsets that a producer commits in its transaction: pending until the marker."""

import pytest

from duolog.coordinator.errors import (
    FencedInstanceId,
    GroupError,
    IllegalGeneration,
    UnknownMemberId,
)
from duolog.coordinator.messages import CommittedOffset, LeavingMember
from duolog.coordinator.offset_store import OffsetStore
from duolog.coordinator.records import OffsetChange, OffsetRecord
from duolog.core.ids import TopicPartition
from duolog.core.units import DAY_MS
from unit.coordinator.desk import NEW, OLD, Desk

P, Q = 7, 8
T0 = TopicPartition("t", 0)


def test_an_offset_counts_when_its_transaction_commits(desk: Desk) -> None:
    desk.commit(offset=1)

    desk.commit_in_transaction(P, 5)
    before = (desk.offset(), desk.unstable())
    desk.end_transaction(P, commit=True)

    assert before == (1, True)
    assert (desk.offset(), desk.unstable()) == (5, False)


def test_an_offset_is_dropped_when_its_transaction_aborts(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.commit_in_transaction(P, 5)

    desk.end_transaction(P, commit=False)

    assert (desk.offset(), desk.unstable()) == (1, False)


@pytest.mark.parametrize("commit", [True, False])
def test_a_restart_amid_a_transaction_waits_for_its_marker(desk: Desk, *, commit: bool) -> None:
    desk.commit(offset=1)
    desk.commit_in_transaction(P, 5)

    desk.restart()
    amid = (desk.offset(), desk.unstable())
    desk.end_transaction(P, commit=commit)
    desk.restart()

    assert amid == (1, True)
    assert (desk.offset(), desk.unstable()) == (5 if commit else 1, False)


def test_what_stands_last_in_the_log_wins_whatever_is_decided_last(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)
    desk.commit(offset=6)
    desk.end_transaction(P, commit=True)
    assert desk.offset() == 6

    desk.commit_in_transaction(P, 7)
    desk.commit_in_transaction(Q, 8)
    desk.end_transaction(Q, commit=True)
    assert desk.unstable()
    desk.end_transaction(P, commit=True)
    assert desk.offset() == 8
    desk.restart()
    assert desk.offset() == 8


def test_an_earlier_offset_that_is_decided_first_does_not_overtake_a_later_one(desk: Desk) -> None:
    """Taken for written when it was decided, the earlier one drove the later one out."""
    desk.commit_in_transaction(P, 7)
    desk.commit_in_transaction(Q, 8)

    desk.end_transaction(P, commit=True)
    between = (desk.offset(), desk.unstable())
    desk.end_transaction(Q, commit=True)

    assert between == (7, True)
    assert desk.offset() == 8


def test_an_overtaken_offset_that_is_committed_anew_counts(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)
    desk.commit(offset=6)
    desk.commit_in_transaction(P, 7)

    desk.end_transaction(P, commit=True)

    assert desk.offset() == 7


def test_a_marker_of_nothing_changes_nothing(desk: Desk) -> None:
    desk.commit(offset=1)

    desk.end_transaction(P, commit=True)

    assert desk.offset() == 1


def test_a_marker_of_one_partition_leaves_the_groups_of_another_alone() -> None:
    store = OffsetStore()
    store.replay(OffsetChange("g", T0, OffsetRecord(1, -1, "", 0)), (0, P))
    store.replay(OffsetChange("h", T0, OffsetRecord(2, -1, "", 0)), (1, P))

    store.end_transaction((0, P), committed=True)

    assert (len(store.of("g")), len(store.of("h"))) == (1, 0)
    assert store.pending("h") == {T0}


def test_a_group_that_only_a_transaction_knows_is_there_until_it_aborts(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)
    assert desk.state() == "Empty"

    desk.end_transaction(P, commit=False)

    assert desk.state() == "Dead"


def test_the_member_and_its_generation_are_checked(desk: Desk) -> None:
    member = desk.stable(instance_id="i")

    with pytest.raises(IllegalGeneration):
        desk.commit_in_transaction(P, 1, generation=7, member_id=member.member_id)
    with pytest.raises(UnknownMemberId):
        desk.commit_in_transaction(P, 1, generation=1, member_id="nobody")
    with pytest.raises(FencedInstanceId):
        desk.commit_in_transaction(P, 1, generation=1, member_id="nobody", instance_id="i")
    reply = desk.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)

    assert reply.error_codes == {T0: 0}


def test_a_producer_that_does_not_know_the_group_may_commit_for_it(desk: Desk) -> None:
    """Producers from before KIP-447 name the group, and nothing else."""
    desk.stable()

    assert desk.commit_in_transaction(P, 1).error_codes == {T0: 0}


def test_a_transaction_commits_while_members_wait_for_their_assignment(desk: Desk) -> None:
    member = desk.join("a")

    reply = desk.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)

    assert desk.state() == "CompletingRebalance"
    assert reply.error_codes == {T0: 0}


def test_a_generation_of_an_unknown_group_is_illegal_in_every_version(desk: Desk) -> None:
    with pytest.raises(IllegalGeneration):
        desk.commit_in_transaction(P, 1, generation=1, member_id="m", version=9)


def test_a_commit_in_a_transaction_is_no_sign_of_life(desk: Desk) -> None:
    member = desk.stable()
    desk.tick(9_000)

    desk.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)
    desk.tick(1_001)

    assert desk.state() == "Empty"


def test_offsets_of_an_open_transaction_do_not_expire(desk: Desk) -> None:
    desk.commit(offset=1)
    desk.commit_in_transaction(P, 5)
    desk.advance(8 * DAY_MS)

    desk.expire_offsets()
    amid = (desk.offset(), desk.unstable())
    desk.end_transaction(P, commit=False)
    desk.expire_offsets()

    assert amid == (1, True)
    assert desk.offset() is None
    assert desk.state() == "Dead"


def test_the_record_of_a_group_stays_while_a_transaction_has_offsets_of_it(desk: Desk) -> None:
    """After a restart the group had no owner, and its offsets expired by other rules."""
    member = desk.stable()
    desk.leave(LeavingMember(member.member_id))
    desk.commit_in_transaction(P, 5)
    before = desk.coordinator.describe("g")
    desk.advance(8 * DAY_MS)

    desk.expire_offsets()
    desk.restart()
    amid = desk.coordinator.describe("g")
    desk.end_transaction(P, commit=False)
    desk.expire_offsets()

    assert amid == before is not None
    assert desk.state() == "Dead"


def test_offsets_of_a_deleted_topic_go_out_of_an_open_transaction(desk: Desk) -> None:
    desk.commit_in_transaction(P, 5)

    desk.forget_offsets()
    desk.end_transaction(P, commit=True)

    assert desk.offset() is None


def test_an_offset_of_a_topic_that_is_gone_stays_while_a_transaction_may_replace_it(
    desk: Desk,
) -> None:
    desk.commit(offset=1, topic_id=OLD)
    desk.commit_in_transaction(P, 2, topic_id=NEW)

    desk.forget_offsets(t=NEW)
    desk.end_transaction(P, commit=True)

    assert desk.offset() == 2
    desk.restart()
    assert desk.offset() == 2


def test_an_offset_that_counts_stays_when_a_transaction_before_it_was_of_a_topic_that_is_gone(
    desk: Desk,
) -> None:
    desk.commit_in_transaction(P, 1, topic_id=OLD)
    desk.commit(offset=2, topic_id=NEW)

    desk.forget_offsets(t=NEW)
    desk.end_transaction(P, commit=True)

    assert desk.offset() == 2


def test_a_commit_that_was_not_stored_leaves_nothing_pending(desk: Desk) -> None:
    desk.durable = False
    desk.commit_in_transaction(P, 5, offsets={T0: CommittedOffset(5)})

    desk.fail(16)

    assert desk.inbox["txn"].error_codes == {T0: 16}
    assert not desk.unstable()
    with pytest.raises(GroupError):
        desk.delete()
