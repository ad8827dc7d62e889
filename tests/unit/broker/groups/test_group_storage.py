"""Groups handle records that cannot be stored, and more records than one batch holds."""

from datetime import timedelta
from typing import Any, Final

import pytest

from duolog.broker.event_loop import time_slices
from duolog.coordinator.group_store import GroupStore
from duolog.log.errors import LogDirOffline
from unit.broker.fake_broker import COMMIT, DESCRIBE, FETCH, JOIN, SYNC, FakeBroker

NOT_COORDINATOR: Final = 16
UNKNOWN_SERVER_ERROR: Final = -1


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


def join(broker: FakeBroker, **changes: Any) -> Any:
    return broker.ask(
        JOIN,
        3,
        **{
            "group_id": "g",
            "session_timeout": 10_000,
            "rebalance_timeout": 60_000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"meta"}],
            **changes,
        },
    )


def sync(broker: FakeBroker, member_id: str, generation: int = 1) -> Any:
    assignments = [{"member_id": member_id, "assignment": b"all"}]
    return broker.ask(
        SYNC,
        3,
        group_id="g",
        generation_id=generation,
        member_id=member_id,
        assignments=assignments,
    )


def commit(
    broker: FakeBroker,
    group_id: str = "g",
    *,
    generation: int = -1,
    retention: timedelta | None = None,
    **partitions: list[int],
) -> dict[tuple[str, int], int]:
    """Commit to partitions of topics; return the error codes."""
    answer = broker.ask(
        COMMIT,
        8 if retention is None else 2,
        retention_time=retention,
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id="",
        topics=[
            {
                "name": name,
                "partitions": [
                    {"partition_index": index, "committed_offset": 1, "committed_metadata": "m"}
                    for index in indexes
                ],
            }
            for name, indexes in partitions.items()
        ],
    )
    return {
        (topic.name, partition.partition_index): partition.error_code
        for topic in answer.topics
        for partition in topic.partitions
    }


def test_a_commit_for_a_partition_that_does_not_exist_is_refused(broker: FakeBroker) -> None:
    codes = commit(broker, t=[0, 1, -1], x=[0])

    assert codes == {("t", 0): 0, ("t", 1): 3, ("t", -1): 3, ("x", 0): 3}
    fetched = broker.ask(FETCH, 7, group_id="g", topics=None)
    assert [len(topic.partitions) for topic in fetched.topics] == [1]


def test_unknown_topics_are_reported_even_if_the_group_refuses(
    broker: FakeBroker,
) -> None:
    assert commit(broker, generation=7, t=[0], x=[0]) == {("t", 0): 22, ("x", 0): 3}


def test_a_record_that_is_too_large_is_no_reason_to_look_for_another_coordinator(
    broker: FakeBroker,
) -> None:
    broker.batch_bytes_max = 10

    member_id = join(broker).member_id

    assert commit(broker, "other", t=[0]) == {("t", 0): UNKNOWN_SERVER_ERROR}
    assert sync(broker, member_id).error_code == UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("how", ["the topic cannot be made", "the sync fails"])
def test_a_member_whose_assignment_was_not_stored_is_answered_once_and_joins_again(
    broker: FakeBroker, how: str
) -> None:
    offline = LogDirOffline("log directory is offline")
    member_id = join(broker).member_id
    if how == "the sync fails":
        broker.durable = False
        answers = broker.send(
            SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=[]
        )
        broker.sync_disk(offline)
        broker.durable = True
        (refused,) = answers
    else:
        broker.create_error = offline
        refused = sync(broker, member_id)
        broker.create_error = None

    again = join(broker, member_id=member_id)

    assert refused.error_code == NOT_COORDINATOR
    assert (again.error_code, again.generation_id) == (0, 2)
    assert sync(broker, member_id, 2).assignment == b"all"


def test_members_that_do_not_come_back_after_a_failure_are_removed(broker: FakeBroker) -> None:
    member_id = join(broker).member_id
    broker.durable = False
    broker.send(SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=[])
    broker.sync_disk(LogDirOffline("log directory is offline"))
    broker.durable = True

    broker.pass_time(200)

    (group,) = broker.ask(DESCRIBE, 5, groups=["g"]).groups
    assert (group.group_state, group.members) in (("Empty", ()), ("Dead", ()))


def test_offsets_of_a_deleted_topic_go_in_as_many_batches_as_they_need(
    broker: FakeBroker,
) -> None:
    long_id = "g" * 30_000
    groups = [f"{long_id}{number}" for number in range(60)]
    settings = {"offsets.topic.num.partitions": "1"}
    broker = FakeBroker(settings=settings)
    for group_id in groups:
        assert commit(broker, group_id, t=[0]) == {("t", 0): 0}

    broker.delete_topic("t")

    assert max(broker.batch_sizes) <= broker.batch_bytes_max
    for group_id in groups:
        assert broker.ask(FETCH, 7, group_id=group_id, topics=None).topics == ()
    restarted = FakeBroker(broker.logs, settings)
    assert list(restarted.groups.list_groups()) == []


def fetched(broker: FakeBroker, group_id: str = "g") -> int:
    """Return the offset of partition 0 of `t`."""
    topics = [{"name": "t", "partition_indexes": [0]}]
    answer = broker.ask(FETCH, 7, group_id=group_id, topics=topics)
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def test_a_recreated_topic_inherits_no_offset_even_without_a_tombstone(
    broker: FakeBroker,
) -> None:
    commit(broker, "g", t=[0])
    commit(broker, "h", t=[0])
    broker.durable = False

    broker.delete_topic("t", reported=False)  # The broker is killed here.
    broker.make_anew("t")
    seen = fetched(broker)
    all_of_it = broker.ask(FETCH, 7, group_id="g", topics=None).topics
    after = FakeBroker(broker.logs, lives=broker.lives)

    assert (seen, all_of_it) == (-1, ())
    assert (fetched(after), fetched(after, "h")) == (-1, -1)
    assert list(after.groups.list_groups()) == []
    again = FakeBroker(after.logs, lives=broker.lives)
    assert list(again.groups.list_groups()) == []


def test_offsets_of_a_recreated_topic_stay(broker: FakeBroker) -> None:
    commit(broker, "g", t=[0])
    broker.delete_topic("t")
    broker.make_anew("t")
    commit(broker, "g", t=[0])

    after = FakeBroker(broker.logs, lives=broker.lives)

    assert (fetched(broker), fetched(after)) == (1, 1)


def test_an_offset_from_before_ids_were_kept_counts_until_its_topic_is_deleted(
    broker: FakeBroker,
) -> None:
    # An offset with a retention of its own is still written without an id.
    commit(broker, "g", retention=timedelta(days=1), t=[0])
    broker = FakeBroker(broker.logs)
    assert fetched(broker) == 1

    broker.delete_topic("t")
    broker.make_anew("t")

    assert fetched(broker) == -1
    assert list(broker.groups.list_groups()) == []


def test_a_topic_that_is_deleted_while_offsets_of_another_are_swept_is_swept_too(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.names.add("u")
    groups = [f"g{number}" for number in range(5)]
    for group_id in groups:
        commit(broker, group_id, t=[0], u=[0])

    with monkeypatch.context() as patch:
        patch.setattr(time_slices, "SLICE_S", 0.0)
        broker.delete_topic("t")
    left = [len(broker.groups.offsets(group_id)) for group_id in groups]
    broker.delete_topic("u")
    broker.make_anew("u")
    commit(broker, "late", u=[0])
    broker.pass_time(10)

    assert left == [1, 2, 2, 2, 2]
    assert [group.group_id for group in broker.groups.list_groups()] == ["late"]


def test_records_that_cannot_be_replayed_fail_their_request_and_not_the_next(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client waited for its own timeout: the failure was the loop's alone."""
    member_id = join(broker).member_id

    def fail(*_: Any) -> None:
        raise ArithmeticError("in the replay")

    with monkeypatch.context() as broken:
        broken.setattr(GroupStore, "_replay_offset", fail)
        broken.setattr(GroupStore, "_replay_group", fail)
        committed = commit(broker, "other", t=[0])
        synced = sync(broker, member_id)
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="in the replay"):
            broker.pass_time(0)

    assert committed == {("t", 0): UNKNOWN_SERVER_ERROR}
    assert synced.error_code == UNKNOWN_SERVER_ERROR
    assert commit(broker, "other", t=[0]) == {("t", 0): 0}
    again = join(broker, member_id=member_id)
    assert sync(broker, member_id, again.generation_id).assignment == b"all"
