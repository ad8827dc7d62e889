"""What groups do when a record cannot be stored, and with more records than one batch takes."""

from typing import Any, Final

import pytest

from duolog.log.errors import LogDirOffline
from unit.broker.paper_broker import COMMIT, DESCRIBE, FETCH, JOIN, SYNC, PaperBroker

NOT_COORDINATOR: Final = 16
UNKNOWN_SERVER_ERROR: Final = -1


@pytest.fixture
def broker() -> PaperBroker:
    return PaperBroker()


def join(broker: PaperBroker, **changes: Any) -> Any:
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


def sync(broker: PaperBroker, member_id: str, generation: int = 1) -> Any:
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
    broker: PaperBroker, group_id: str = "g", *, generation: int = -1, **partitions: list[int]
) -> dict[tuple[str, int], int]:
    """Commit to partitions of topics; return the error codes."""
    answer = broker.ask(
        COMMIT,
        8,
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


def test_a_commit_for_a_partition_that_does_not_exist_is_refused(broker: PaperBroker) -> None:
    codes = commit(broker, t=[0, 1, -1], x=[0])

    assert codes == {("t", 0): 0, ("t", 1): 3, ("t", -1): 3, ("x", 0): 3}
    fetched = broker.ask(FETCH, 7, group_id="g", topics=None)
    assert [len(topic.partitions) for topic in fetched.topics] == [1]


def test_what_the_group_refuses_does_not_hide_which_topics_are_unknown(
    broker: PaperBroker,
) -> None:
    assert commit(broker, generation=7, t=[0], x=[0]) == {("t", 0): 22, ("x", 0): 3}


def test_a_record_that_is_too_large_is_no_reason_to_look_for_another_coordinator(
    broker: PaperBroker,
) -> None:
    broker.batch_bytes_max = 10

    member_id = join(broker).member_id

    assert commit(broker, "other", t=[0]) == {("t", 0): UNKNOWN_SERVER_ERROR}
    assert sync(broker, member_id).error_code == UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("how", ["the topic cannot be made", "the sync fails"])
def test_a_member_whose_assignment_was_not_stored_is_answered_once_and_joins_again(
    broker: PaperBroker, how: str
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


def test_members_that_do_not_come_back_after_a_failure_are_removed(broker: PaperBroker) -> None:
    member_id = join(broker).member_id
    broker.durable = False
    broker.send(SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=[])
    broker.sync_disk(LogDirOffline("log directory is offline"))
    broker.durable = True

    broker.pass_time(200)

    (group,) = broker.ask(DESCRIBE, 5, groups=["g"]).groups
    assert (group.group_state, group.members) in (("Empty", ()), ("Dead", ()))


def test_offsets_of_a_deleted_topic_go_in_as_many_batches_as_they_need(
    broker: PaperBroker,
) -> None:
    long_id = "g" * 30_000
    groups = [f"{long_id}{number}" for number in range(60)]
    settings = {"offsets.topic.num.partitions": "1"}
    broker = PaperBroker(settings=settings)
    for group_id in groups:
        assert commit(broker, group_id, t=[0]) == {("t", 0): 0}

    broker.names.discard("t")
    broker.groups.topic_deleted("t")

    assert max(broker.batch_sizes) <= broker.batch_bytes_max
    for group_id in groups:
        assert broker.ask(FETCH, 7, group_id=group_id, topics=None).topics == ()
    restarted = PaperBroker(broker.logs, settings)
    assert list(restarted.groups.list_groups()) == []
