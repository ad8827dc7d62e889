"""Fetch sessions (KIP-227): what is answered, what is not, and who keeps a session."""

from collections.abc import Callable
from typing import Any

import pytest

from duolog.broker.fetch import fetch_sessions
from duolog.broker.fetch.fetch_sessions import SessionPartition
from duolog.protocol.error_codes import ErrorCode

FETCH, PRODUCE = 1, 0
VERSIONS_WITH_SESSIONS = range(7, 18)


class Consumer:
    """A client that keeps its session over requests, as Kafka's own does."""

    def __init__(self, harness: Any, version: int = 11) -> None:
        self.harness = harness
        self.client = harness.client()
        self.version = version
        self.id = self.epoch = 0

    def fields(
        self, offsets: dict[Any, int], forgotten: tuple[Any, ...] = (), **more: Any
    ) -> dict[str, Any]:
        return {
            "max_wait": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 26,
            "session_id": self.id,
            "session_epoch": self.epoch,
            **more,
            "topics": [
                {**self.key(place), "partitions": [self.asked(place, offset)]}
                for place, offset in offsets.items()
            ],
            "forgotten_topics_data": [
                {**self.key(place), "partitions": [self.index(place)]} for place in forgotten
            ],
        }

    def key(self, place: Any) -> dict[str, Any]:
        name = place[0] if isinstance(place, tuple) else "orders"
        if self.version >= 13:
            return {"topic_id": self.harness.broker.topics.find(name).id}
        return {"topic": name}

    def index(self, place: Any) -> int:
        return int(place[1] if isinstance(place, tuple) else place)

    def asked(self, place: Any, offset: int) -> dict[str, int]:
        return {
            "partition": self.index(place),
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
            "current_leader_epoch": -1,
        }

    def fetch(self, offsets: dict[Any, int], **more: Any) -> Any:
        self.client.send(FETCH, self.version, **self.fields(offsets, **more))
        return self.take()

    def take(self) -> Any:
        answer = self.client.receive()
        if not answer.error_code:
            self.id = answer.session_id
            self.epoch = self.epoch + 1 if self.id else 0
        return answer

    def produce(self, partition: int, *values: bytes, topic: str = "orders") -> None:
        self.client.produce(topic, self.harness.batch(*values), partition=partition)


def partitions(answer: Any) -> list[int]:
    return [row.partition_index for topic in answer.responses for row in topic.partitions]


def rows(answer: Any) -> dict[int, tuple[int, int, bool]]:
    return {
        row.partition_index: (row.error_code, row.high_watermark, bool(row.records))
        for topic in answer.responses
        for row in topic.partitions
    }


@pytest.mark.parametrize("version", VERSIONS_WITH_SESSIONS)
def test_after_the_first_answer_only_changes_are_sent(harness: Any, version: int) -> None:
    harness.topic("orders", 3)
    consumer = Consumer(harness, version)

    whole = consumer.fetch({0: 0, 1: 0, 2: 0})
    quiet = consumer.fetch({})
    consumer.produce(1, b"v")
    grown = consumer.fetch({})
    again = consumer.fetch({})
    moved = consumer.fetch({1: 1})

    assert whole.session_id > 0
    assert partitions(whole) == [0, 1, 2]
    assert quiet.session_id == whole.session_id
    assert partitions(quiet) == []
    assert rows(grown) == {1: (0, 1, True)}
    assert rows(again) == {1: (0, 1, True)}  # The client did not move on: it gets them again.
    assert rows(moved) == {}


def test_a_session_waits_and_is_woken_by_any_of_its_partitions(harness: Any) -> None:
    harness.topic("orders", 50)
    consumer, producer = Consumer(harness), Consumer(harness)
    consumer.fetch(dict.fromkeys(range(50), 0))

    for index in (7, 30):
        consumer.client.send(FETCH, 11, **consumer.fields({}, max_wait=60_000))
        consumer.client.receive_nothing()
        producer.produce(index, b"v")
        assert rows(consumer.take()) == {index: (0, 1, True)}
        consumer.fetch({index: 1})

    assert harness.broker.timers.seconds_to_next() is None


def test_a_session_waits_for_as_many_bytes_as_are_asked_for_over_all_partitions(
    harness: Any,
) -> None:
    harness.topic("orders", 3)
    consumer, producer = Consumer(harness), Consumer(harness)
    consumer.fetch({0: 0, 1: 0, 2: 0})
    consumer.client.send(FETCH, 11, **consumer.fields({}, max_wait=60_000, min_bytes=250))

    producer.produce(0, b"x" * 100)
    consumer.client.receive_nothing()
    producer.produce(2, b"x" * 100)

    assert partitions(consumer.take()) == [0, 2]


def test_partitions_join_and_leave_a_session(harness: Any) -> None:
    harness.topic("orders", 3)
    consumer = Consumer(harness)
    consumer.fetch({0: 0, 1: 0})

    joined = consumer.fetch({2: 0})
    left = consumer.fetch({}, forgotten=(0,))
    for index in range(3):
        consumer.produce(index, b"v")

    assert partitions(joined) == [2]
    assert partitions(left) == []
    assert sorted(partitions(consumer.fetch({}))) == [1, 2]


def test_a_session_without_partitions_ends(harness: Any) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    consumer.fetch({0: 0})

    ended = consumer.fetch({}, forgotten=(0,))

    assert ended.session_id == 0
    assert len(harness.broker.fetch_sessions) == 0
    assert not harness.broker.topics.partition("orders", 0).waiters


@pytest.mark.parametrize(
    ("version", "session", "code"),
    [
        (11, {"session_id": 77}, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (11, {"session_epoch": 5}, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (13, {}, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_a_session_that_is_not_the_one_that_is_kept_is_refused_with_its_reason(
    harness: Any, version: int, session: dict[str, Any], code: ErrorCode
) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    consumer.fetch({0: 0})

    refused = consumer.client.ask(FETCH, version, **consumer.fields({}, **session))

    assert (refused.error_code, refused.session_id, refused.responses) == (code, 0, ())


def test_a_whole_request_ends_the_session_that_it_names(harness: Any) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    first = consumer.fetch({0: 0})

    consumer.epoch = 0
    second = consumer.fetch({0: 0})
    assert second.session_id not in {0, first.session_id}
    consumer.epoch = -1
    closed = consumer.fetch({0: 0})

    assert closed.session_id == 0
    assert partitions(closed) == [0]
    assert len(harness.broker.fetch_sessions) == 0


def test_a_client_that_continues_before_its_answer_gets_an_error_for_the_first_request(
    harness: Any,
) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    consumer.fetch({0: 0})
    consumer.client.send(FETCH, 11, **consumer.fields({}, max_wait=60_000))
    consumer.client.receive_nothing()

    consumer.client.send(FETCH, 11, **consumer.fields({}, session_epoch=2))

    first, second = consumer.client.receive(), consumer.client.receive()
    assert first.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert (second.error_code, second.session_id) == (0, consumer.id)


def test_every_error_is_reported_and_so_is_its_end(harness: Any) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)

    codes = [rows(consumer.fetch({0: 9} if first else {}))[0][0] for first in (True, False, False)]
    harness.broker.delete_topic("orders")
    gone = rows(consumer.fetch({}))[0][0]
    harness.topic("orders")
    consumer.produce(0, b"a")

    assert codes == [ErrorCode.OFFSET_OUT_OF_RANGE] * 3
    assert gone == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rows(consumer.fetch({0: 0})) == {0: (0, 1, True)}


def test_a_client_of_a_deleted_topic_is_woken(harness: Any) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    consumer.fetch({0: 0})
    consumer.client.send(FETCH, 11, **consumer.fields({}, max_wait=60_000))
    consumer.client.receive_nothing()

    harness.broker.delete_topic("orders")

    assert rows(consumer.take())[0][0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_log_that_starts_later_is_detected(harness: Any) -> None:
    harness.topic("orders")
    consumer = Consumer(harness)
    consumer.produce(0, b"a", b"b")
    consumer.fetch({0: 2})
    consumer.fetch({})
    partition = harness.broker.topics.partition("orders", 0)

    partition.log.advance_log_start(1)
    harness.broker.partition_changed(partition)
    harness.turn()
    answer = consumer.fetch({})

    assert answer.responses[0].partitions[0].log_start_offset == 1


def test_busy_partitions_take_turns_when_an_answer_is_full(harness: Any) -> None:
    harness.topic("orders", 3)
    consumer = Consumer(harness)
    for index in range(3):
        for _ in range(3):
            consumer.produce(index, b"x" * 1000)
    consumer.fetch({0: 0, 1: 0, 2: 0}, max_bytes=1)
    offsets = {0: 0, 1: 0, 2: 0}
    served = []

    for _ in range(6):
        answer = consumer.fetch(offsets, max_bytes=1)
        (index,) = [index for index, row in rows(answer).items() if row[2]]
        served.append(index)
        offsets = {index: sum(1 for other in served if other == index)}

    assert sorted(served[:3]) == sorted(served[3:]) == [0, 1, 2]


def test_a_session_outlives_its_connection_and_no_dead_one_is_looked_at_twice(harness: Any) -> None:
    harness.topic("orders", 2)
    consumer = Consumer(harness)
    consumer.fetch({0: 0, 1: 0})
    consumer.fetch({})
    consumer.client.socket.close()
    harness.turn()
    other = Consumer(harness)
    other.id, other.epoch = consumer.id, consumer.epoch

    for _ in range(3):
        other.produce(1, b"v")

    assert not harness.broker.topics.partition("orders", 1).waiters
    assert rows(other.fetch({})) == {1: (0, 3, True)}


def test_places_are_given_to_the_used_and_to_the_large(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = open_harness(max_incremental_fetch_session_cache_slots="2")
    harness.topic("orders", 9)
    now = [1000.0]
    monkeypatch.setattr(harness.broker.clock, "monotonic", lambda: now[0])
    small, large = Consumer(harness), Consumer(harness)
    small.fetch({0: 0})
    large.fetch(dict.fromkeys(range(5), 0))

    assert Consumer(harness).fetch(dict.fromkeys(range(9), 0)).session_id == 0  # Both are young.

    now[0] += fetch_sessions.EVICTION_S - 1
    small.fetch({})
    large.fetch({})
    now[0] += 2
    assert Consumer(harness).fetch({1: 0}).session_id > 0  # Not smaller than the smallest old one.
    refused = small.client.ask(FETCH, 11, **small.fields({}))
    assert refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    now[0] += fetch_sessions.EVICTION_S + 1
    assert Consumer(harness).fetch({2: 0}).session_id > 0  # The one unused for longest goes.
    refused = large.client.ask(FETCH, 11, **large.fields({}))
    assert refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert harness.broker.fetch_sessions.evicted == 2


def test_without_places_every_request_is_answered_whole(open_harness: Any) -> None:
    harness = open_harness(max_incremental_fetch_session_cache_slots="0")
    harness.topic("orders", 2)

    answer = Consumer(harness).fetch({0: 0, 1: 0})

    assert (answer.session_id, partitions(answer)) == (0, [0, 1])


def test_a_new_session_ignores_forgotten_partitions(harness: Any) -> None:
    harness.topic("orders", 2)
    consumer = Consumer(harness)

    begun = consumer.fetch({0: 0, 1: 0}, forgotten=(0,))
    consumer.produce(0, b"v")
    grown = consumer.fetch({})

    assert begun.error_code == ErrorCode.NONE
    assert partitions(begun) == [0, 1]
    assert partitions(grown) == [0]


def test_a_session_that_has_ended_leaves_nothing_for_a_collection(
    harness: Any, watch: Callable[[Any], Callable[[], list[Any]]]
) -> None:
    """The garbage collector rarely visits old objects: a cycle would stay for millions of allocations."""
    left = watch(SessionPartition)
    harness.topic("orders", 300)
    consumer = Consumer(harness)
    consumer.fetch(dict.fromkeys(range(300), 0))
    consumer.fetch({})
    consumer.produce(0, b"v")  # One is ready, the others wait.
    assert len(left()) >= 300

    harness.broker.fetch_sessions.remove(consumer.id)
    harness.turn()

    assert len(left()) == 0
    assert not any(partition.waiters for partition in harness.broker.topics.find("orders").served)


def test_sessions_have_only_so_many_partitions_together(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client without any right may name a million topics that do not exist."""
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 30)
    monkeypatch.setattr(fetch_sessions, "_SMALL", 5)
    sessions = harness.broker.fetch_sessions
    first, second, small = Consumer(harness), Consumer(harness), Consumer(harness)

    assert first.fetch(dict.fromkeys(range(20), 0)).session_id
    assert second.fetch(dict.fromkeys(range(20), 0)).session_id == 0
    assert small.fetch({0: 0}).session_id
    assert sessions.partitions_count == 21
    assert first.fetch(dict.fromkeys(range(20, 29), 0)).error_code == 0
    assert sessions.partitions_count == 30

    gone = first.fetch(dict.fromkeys(range(30, 40), 0))

    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    harness.turn_until(lambda: sessions.partitions_count == 1)
