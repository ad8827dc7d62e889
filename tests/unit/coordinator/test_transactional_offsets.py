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
from unit.coordinator.harness import NEW, OLD, CoordinatorHarness

P, Q = 7, 8
T0 = TopicPartition("t", 0)


def test_an_offset_counts_when_its_transaction_commits(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)

    harness.commit_in_transaction(P, 5)
    before = (harness.offset(), harness.unstable())
    harness.end_transaction(P, commit=True)

    assert before == (1, True)
    assert (harness.offset(), harness.unstable()) == (5, False)


def test_an_offset_is_dropped_when_its_transaction_aborts(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.commit_in_transaction(P, 5)

    harness.end_transaction(P, commit=False)

    assert (harness.offset(), harness.unstable()) == (1, False)


@pytest.mark.parametrize("commit", [True, False])
def test_a_restart_amid_a_transaction_waits_for_its_marker(
    harness: CoordinatorHarness, *, commit: bool
) -> None:
    harness.commit(offset=1)
    harness.commit_in_transaction(P, 5)

    harness.restart()
    during = (harness.offset(), harness.unstable())
    harness.end_transaction(P, commit=commit)
    harness.restart()

    assert during == (1, True)
    assert (harness.offset(), harness.unstable()) == (5 if commit else 1, False)


def test_the_last_record_in_the_log_wins(
    harness: CoordinatorHarness,
) -> None:
    harness.commit_in_transaction(P, 5)
    harness.commit(offset=6)
    harness.end_transaction(P, commit=True)
    assert harness.offset() == 6

    harness.commit_in_transaction(P, 7)
    harness.commit_in_transaction(Q, 8)
    harness.end_transaction(Q, commit=True)
    assert harness.unstable()
    harness.end_transaction(P, commit=True)
    assert harness.offset() == 8
    harness.restart()
    assert harness.offset() == 8


def test_an_earlier_offset_that_is_decided_first_does_not_overtake_a_later_one(
    harness: CoordinatorHarness,
) -> None:
    """Taken for written when it was decided, the earlier one drove the later one out."""
    harness.commit_in_transaction(P, 7)
    harness.commit_in_transaction(Q, 8)

    harness.end_transaction(P, commit=True)
    between = (harness.offset(), harness.unstable())
    harness.end_transaction(Q, commit=True)

    assert between == (7, True)
    assert harness.offset() == 8


def test_an_overwritten_offset_that_is_committed_again_counts(harness: CoordinatorHarness) -> None:
    harness.commit_in_transaction(P, 5)
    harness.commit(offset=6)
    harness.commit_in_transaction(P, 7)

    harness.end_transaction(P, commit=True)

    assert harness.offset() == 7


def test_a_marker_of_nothing_changes_nothing(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)

    harness.end_transaction(P, commit=True)

    assert harness.offset() == 1


def test_a_marker_of_one_partition_leaves_the_groups_of_another_alone() -> None:
    store = OffsetStore()
    store.replay(OffsetChange("g", T0, OffsetRecord(1, -1, "", 0)), (0, P))
    store.replay(OffsetChange("h", T0, OffsetRecord(2, -1, "", 0)), (1, P))

    store.end_transaction((0, P), committed=True)

    assert (len(store.of("g")), len(store.of("h"))) == (1, 0)
    assert store.pending("h") == {T0}


def test_a_group_that_only_a_transaction_knows_is_there_until_it_aborts(
    harness: CoordinatorHarness,
) -> None:
    harness.commit_in_transaction(P, 5)
    assert harness.state() == "Empty"

    harness.end_transaction(P, commit=False)

    assert harness.state() == "Dead"


def test_the_member_and_its_generation_are_checked(harness: CoordinatorHarness) -> None:
    member = harness.stable(instance_id="i")

    with pytest.raises(IllegalGeneration):
        harness.commit_in_transaction(P, 1, generation=7, member_id=member.member_id)
    with pytest.raises(UnknownMemberId):
        harness.commit_in_transaction(P, 1, generation=1, member_id="nobody")
    with pytest.raises(FencedInstanceId):
        harness.commit_in_transaction(P, 1, generation=1, member_id="nobody", instance_id="i")
    reply = harness.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)

    assert reply.error_codes == {T0: 0}


def test_a_producer_that_does_not_know_the_group_may_commit_for_it(
    harness: CoordinatorHarness,
) -> None:
    """Producers from before KIP-447 name the group, and nothing else."""
    harness.stable()

    assert harness.commit_in_transaction(P, 1).error_codes == {T0: 0}


def test_a_transaction_commits_while_members_wait_for_their_assignment(
    harness: CoordinatorHarness,
) -> None:
    member = harness.join("a")

    reply = harness.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)

    assert harness.state() == "CompletingRebalance"
    assert reply.error_codes == {T0: 0}


def test_a_generation_of_an_unknown_group_is_illegal_in_every_version(
    harness: CoordinatorHarness,
) -> None:
    with pytest.raises(IllegalGeneration):
        harness.commit_in_transaction(P, 1, generation=1, member_id="m", version=9)


def test_a_commit_in_a_transaction_does_not_count_as_a_heartbeat(
    harness: CoordinatorHarness,
) -> None:
    member = harness.stable()
    harness.tick(9_000)

    harness.commit_in_transaction(P, 1, generation=1, member_id=member.member_id)
    harness.tick(1_001)

    assert harness.state() == "Empty"


def test_offsets_of_an_open_transaction_do_not_expire(harness: CoordinatorHarness) -> None:
    harness.commit(offset=1)
    harness.commit_in_transaction(P, 5)
    harness.advance(8 * DAY_MS)

    harness.expire_offsets()
    during = (harness.offset(), harness.unstable())
    harness.end_transaction(P, commit=False)
    harness.expire_offsets()

    assert during == (1, True)
    assert harness.offset() is None
    assert harness.state() == "Dead"


def test_the_record_of_a_group_stays_while_a_transaction_has_offsets_of_it(
    harness: CoordinatorHarness,
) -> None:
    """After a restart the group had no owner, and its offsets expired by other rules."""
    member = harness.stable()
    harness.leave(LeavingMember(member.member_id))
    harness.commit_in_transaction(P, 5)
    before = harness.coordinator.describe("g")
    harness.advance(8 * DAY_MS)

    harness.expire_offsets()
    harness.restart()
    during = harness.coordinator.describe("g")
    harness.end_transaction(P, commit=False)
    harness.expire_offsets()

    assert during == before is not None
    assert harness.state() == "Dead"


def test_offsets_of_a_deleted_topic_go_out_of_an_open_transaction(
    harness: CoordinatorHarness,
) -> None:
    harness.commit_in_transaction(P, 5)

    harness.forget_offsets()
    harness.end_transaction(P, commit=True)

    assert harness.offset() is None


def test_an_offset_of_a_topic_that_is_gone_stays_while_a_transaction_may_replace_it(
    harness: CoordinatorHarness,
) -> None:
    harness.commit(offset=1, topic_id=OLD)
    harness.commit_in_transaction(P, 2, topic_id=NEW)

    harness.forget_offsets(t=NEW)
    harness.end_transaction(P, commit=True)

    assert harness.offset() == 2
    harness.restart()
    assert harness.offset() == 2


def test_an_offset_that_counts_stays_when_a_transaction_before_it_was_of_a_topic_that_is_gone(
    harness: CoordinatorHarness,
) -> None:
    harness.commit_in_transaction(P, 1, topic_id=OLD)
    harness.commit(offset=2, topic_id=NEW)

    harness.forget_offsets(t=NEW)
    harness.end_transaction(P, commit=True)

    assert harness.offset() == 2


def test_a_commit_that_was_not_stored_leaves_nothing_pending(harness: CoordinatorHarness) -> None:
    harness.durable = False
    harness.commit_in_transaction(P, 5, offsets={T0: CommittedOffset(5)})

    harness.fail(16)

    assert harness.inbox["txn"].error_codes == {T0: 16}
    assert not harness.unstable()
    with pytest.raises(GroupError):
        harness.delete()
