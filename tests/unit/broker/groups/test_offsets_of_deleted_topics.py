"""Committed offsets are deleted with their topic, and not before it is deleted."""

import pytest

from duolog.broker.event_loop import time_slices
from duolog.coordinator.records import NO_TOPIC_ID
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


def test_an_offset_without_a_topic_id_is_ignored_for_a_recreated_topic(
    open_harness: OpenHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all groups were checked, it is unknown whether an offset belongs to the deleted topic."""
    harness = coordinate(open_harness())
    harness.topic("orders")
    groups = harness.broker.groups
    topic_id = harness.broker.topics.find("orders").id
    client = harness.client()
    row = {"partition_index": 0, "committed_offset": 7}
    fields = {"topics": [{"name": "orders", "partitions": [row]}]}
    for group_id in ("g", "h"):
        client.ask(OFFSET_COMMIT, 7, group_id=group_id, generation_id_or_member_epoch=-1, **fields)
    monkeypatch.setattr(time_slices, "SLICE_S", 0.0)

    counted = [groups.topic_ids("orders")]
    groups.topic_deleted("orders")
    counted.append(groups.topic_ids("orders"))
    for _ in range(20):
        harness.turn()
    counted.append(groups.topic_ids("orders"))

    assert counted == [{topic_id, NO_TOPIC_ID}, {topic_id}, {topic_id, NO_TOPIC_ID}]
