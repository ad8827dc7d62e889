"""Requests of groups and transactions that name thousands of partitions do not delay other clients."""

import gc
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest

from duolog.broker.event_loop import time_slices
from duolog.coordinator.errors import CoordinatorLoadInProgress, GroupIdNotFound
from unit.broker.conftest import Client, Harness, OpenHarness
from unit.broker.transactional_producer import TransactionalProducer, coordinate

OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, OFFSET_DELETE = 8, 9, 28, 47
ADD_PARTITIONS, END_TXN, WRITE_TXN_MARKERS = 24, 26, 27
DELETE_GROUPS: Final = 42
JOIN_GROUP: Final = 11
CONSUMER_HEARTBEAT = 68
PARTITIONS: Final = 2_000
HELD_S_MAX: Final = 0.02
TRIES: Final = 2


class Watched:
    """A client that knows how long one turn of the loop has kept the processor for it."""

    def __init__(self, harness: Harness, client: Client) -> None:
        self.client = client
        self._harness = harness

    def ask(self, key: int, version: int, **fields: Any) -> tuple[Any, float]:
        """Send a request; return the answer, and the longest turn in seconds."""
        longest_s = 0.0
        turn = self._harness.turn

        def watched_turn() -> None:
            nonlocal longest_s
            began = time.thread_time()
            turn()
            longest_s = max(longest_s, time.thread_time() - began)

        self._harness.turn = watched_turn  # type: ignore[method-assign]
        try:
            self.client.send(key, version, **fields)
            for _ in range(5_000):
                answer = self.client._take()  # noqa: SLF001
                if answer is not None:
                    return answer, longest_s
                watched_turn()
        finally:
            self._harness.turn = turn  # type: ignore[method-assign]
        raise AssertionError("no answer came")

    def held_s(self, key: int, version: int, **fields: Any) -> float:
        """Return the longest turn of the quietest of a few tries."""
        return min(self.ask(key, version, **fields)[1] for _ in range(TRIES))


@pytest.fixture
def large(open_harness: OpenHarness) -> Iterator[Harness]:
    harness = coordinate(open_harness())
    harness.topic("t", PARTITIONS)
    gc.collect()
    gc.freeze()
    yield harness
    gc.unfreeze()


def rows(offset: int = 5) -> list[dict[str, Any]]:
    fields = {
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    return [
        {"name": "t", "partitions": [{"partition_index": i, **fields} for i in range(PARTITIONS)]}
    ]


def committed(offset: int = 5) -> dict[str, Any]:
    return {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": rows(offset),
    }


def test_offsets_of_thousands_of_partitions_are_committed_fetched_and_deleted_in_slices(
    large: Harness,
) -> None:
    watched = Watched(large, large.client())
    every = [{"name": "t", "partition_indexes": range(PARTITIONS)}]
    indexes = [{"partition_index": index} for index in range(PARTITIONS)]
    many = [{"name": "t", "partition_indexes": range(100_000)}]

    commit_s = watched.held_s(OFFSET_COMMIT, 8, **committed())
    fetch_s = watched.held_s(OFFSET_FETCH, 7, group_id="g", topics=every)
    fetch_all_s = watched.held_s(OFFSET_FETCH, 7, group_id="g", topics=None)
    fetch_many_s = watched.held_s(OFFSET_FETCH, 7, group_id="g", topics=many)
    fetched, _ = watched.ask(OFFSET_FETCH, 7, group_id="g", topics=None)
    deleted, _ = watched.ask(
        OFFSET_DELETE, 0, group_id="g", topics=[{"name": "t", "partitions": indexes}]
    )
    left, _ = watched.ask(OFFSET_FETCH, 7, group_id="g", topics=None)

    held = {"commit": commit_s, "fetch": fetch_s, "all": fetch_all_s, "many": fetch_many_s}
    assert max(held.values()) < HELD_S_MAX, held
    assert {row.committed_offset for row in fetched.topics[0].partitions} == {5}
    assert len(fetched.topics[0].partitions) == PARTITIONS
    assert {row.error_code for row in deleted.topics[0].partitions} == {0}
    assert left.topics == ()


def test_a_group_with_thousands_of_offsets_is_deleted_in_slices(large: Harness) -> None:
    watched = Watched(large, large.client())
    held = []
    for _ in range(TRIES):
        watched.ask(OFFSET_COMMIT, 8, **committed())
        deleted, held_s = watched.ask(DELETE_GROUPS, 2, groups_names=["g"])
        held.append(held_s)
        assert [row.error_code for row in deleted.results] == [0]
    left, _ = watched.ask(OFFSET_FETCH, 7, group_id="g", topics=None)
    again, _ = watched.ask(DELETE_GROUPS, 2, groups_names=["g"])

    assert left.topics == ()
    assert [row.error_code for row in again.results] == [GroupIdNotFound.CODE]
    assert min(held) < HELD_S_MAX, held


def test_commits_to_a_group_being_deleted_are_refused(
    large: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, other = large.client(), large.client()
    client.ask(OFFSET_COMMIT, 8, **committed())
    client.ask(DELETE_GROUPS, 2, groups_names=["nobody"])  # Loads the schema.
    monkeypatch.setattr(time_slices, "SLICE_S", 0.0)
    client.send(DELETE_GROUPS, 2, groups_names=["g"])
    large.turn()
    one = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    late = {**committed(), "topics": [{"name": "t", "partitions": [one]}]}

    refused = other.ask(OFFSET_COMMIT, 8, **late)
    deleted = client.receive()
    taken = other.ask(OFFSET_COMMIT, 8, **late)

    assert refused.topics[0].partitions[0].error_code == CoordinatorLoadInProgress.CODE
    assert [row.error_code for row in deleted.results] == [0]
    assert taken.topics[0].partitions[0].error_code == 0
    offsets = large.broker.groups.offsets("g")
    assert [record.offset for record in offsets.values()] == [7]


@pytest.mark.parametrize(
    ("key", "version", "fields"),
    [
        (
            JOIN_GROUP,
            5,
            {
                "group_id": "g",
                "session_timeout": 10_000,
                "rebalance_timeout": 60_000,
                "member_id": "",
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": b"m"}],
            },
        ),
        (
            CONSUMER_HEARTBEAT,
            1,
            {
                "group_id": "g",
                "member_id": "m",
                "member_epoch": 0,
                "rebalance_timeout": 1000,
                "subscribed_topic_names": ["t"],
                "topic_partitions": [],
            },
        ),
    ],
)
def test_joins_to_a_group_being_deleted_are_refused(
    large: Harness, monkeypatch: pytest.MonkeyPatch, key: int, version: int, fields: Any
) -> None:
    client, other = large.client(), large.client()
    client.ask(OFFSET_COMMIT, 8, **committed())
    client.ask(DELETE_GROUPS, 2, groups_names=["nobody"])  # Loads the schema.
    other.ask(key, version, **{**fields, "group_id": ""})  # So does this.
    monkeypatch.setattr(time_slices, "SLICE_S", 0.0)
    client.send(DELETE_GROUPS, 2, groups_names=["g"])
    large.turn()

    refused = other.ask(key, version, **fields)

    assert refused.error_code == CoordinatorLoadInProgress.CODE
    assert [row.error_code for row in client.receive().results] == [0]


def test_a_commit_of_thousands_in_a_transaction_counts_as_a_whole(large: Harness) -> None:
    producer = TransactionalProducer(large)
    producer.init()
    watched = Watched(large, producer.client)
    names = {
        "transactional_id": "tx",
        "producer_id": producer.me.producer_id,
        "producer_epoch": producer.me.epoch,
    }
    fields = {"group_id": "g", "generation_id": -1, "member_id": "", "topics": rows()}

    held_s = watched.held_s(TXN_OFFSET_COMMIT, 5, **fields, **names)
    before, _ = watched.ask(OFFSET_FETCH, 7, group_id="g", topics=None)
    producer.end(commit=True)
    after, _ = watched.ask(OFFSET_FETCH, 7, group_id="g", topics=None)

    assert held_s < HELD_S_MAX
    assert before.topics == ()
    assert len(after.topics[0].partitions) == PARTITIONS


def test_a_transaction_of_thousands_of_partitions_is_ended_in_slices(large: Harness) -> None:
    producer = TransactionalProducer(large)
    watched = Watched(large, producer.client)
    held = []
    for _ in range(TRIES):
        producer.init()
        names = {
            "producer_id": producer.me.producer_id,
            "producer_epoch": producer.me.epoch,
        }
        below = {f"v3_and_below_{name}": value for name, value in names.items()}
        _, added_s = watched.ask(
            ADD_PARTITIONS,
            3,
            v3_and_below_transactional_id="tx",
            v3_and_below_topics=[{"name": "t", "partitions": range(PARTITIONS)}],
            **below,
        )
        ended, ended_s = watched.ask(END_TXN, 4, transactional_id="tx", committed=True, **names)
        assert ended.error_code == 0
        held.append(max(added_s, ended_s))

    assert min(held) < HELD_S_MAX, held


def test_markers_for_thousands_of_partitions_are_written_in_slices(large: Harness) -> None:
    watched = Watched(large, large.client())
    marker = {
        "producer_id": 7,
        "producer_epoch": 0,
        "transaction_result": True,
        "coordinator_epoch": 0,
        "topics": [{"name": "t", "partition_indexes": range(PARTITIONS)}],
    }

    held_s = watched.held_s(WRITE_TXN_MARKERS, 1, markers=[marker])

    assert held_s < HELD_S_MAX


def test_a_join_of_a_large_group_does_not_block_others(large: Harness) -> None:
    watched = Watched(large, large.client())
    held = []
    for number in range(300):
        joined, held_s = watched.ask(
            CONSUMER_HEARTBEAT,
            0,
            group_id="g",
            member_id=f"m{number}",
            member_epoch=0,
            subscribed_topic_names=["t"],
            topic_partitions=[],
            rebalance_timeout=60_000,
        )
        assert joined.error_code == 0
        held.append(held_s)

    # The first of all loads the schema.
    assert sorted(held[1:])[-3] < HELD_S_MAX, held
