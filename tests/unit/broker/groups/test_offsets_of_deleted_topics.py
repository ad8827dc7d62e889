"""Offsets go with their topic, and not before it is gone."""

from unit.broker.conftest import Client, OpenHarness
from unit.broker.transactional_producer import coordinate

OFFSET_COMMIT, OFFSET_FETCH = 8, 9


def committed(client: Client) -> int:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    answer = client.ask(OFFSET_FETCH, 5, group_id="g", topics=topics)
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def test_a_deletion_that_is_not_written_takes_no_offset(open_harness: OpenHarness) -> None:
    harness = coordinate(open_harness())
    harness.topic("orders")
    harness.topic("others")
    client = harness.client()
    row = {"partition_index": 0, "committed_offset": 7}
    client.ask(
        OFFSET_COMMIT,
        7,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[{"name": "orders", "partitions": [row]}],
    )
    change = harness.broker.deleting_topic("orders")

    harness.broker.delete_topic("others")  # Whose offsets are looked for meanwhile.
    harness.turn()
    assert change.undo is not None
    change.undo()

    assert committed(client) == 7
    harness.broker.delete_topic("orders")
    harness.topic("orders")
    assert committed(client) == -1
