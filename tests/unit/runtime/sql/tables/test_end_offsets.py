"""One request for end offsets serves all answers that wait."""

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaError as ClientError

from duolog.core.errors import KafkaError
from duolog.runtime.sql.tables.end_offsets import EndOffsets, Found, Place
from duolog.runtime.topic_states import TopicState
from waiting import DEADLINE_S, wait_until

A, B = ("a", 0), ("b", 0)


class Broker:
    """Answers when the test lets it."""

    def __init__(self) -> None:
        self.requests: list[set[Place]] = []
        self.arrived = threading.Semaphore(0)
        self.may_answer = threading.Semaphore(0)
        self.failing: set[Place] = set()

    def __call__(self, places: Collection[Place]) -> Found:
        self.requests.append(set(places))
        number = len(self.requests)
        self.arrived.release()
        assert self.may_answer.acquire(timeout=DEADLINE_S)
        refused = KafkaError("no", code=ClientError.UNKNOWN_TOPIC_OR_PART, detail="")
        offsets: dict[Place, int | KafkaError] = {
            place: refused if place in self.failing else number for place in places
        }
        topics = {topic: TopicState(f"id of {topic}", frozenset({0})) for topic, _ in places}
        return Found(offsets, topics)


def test_answers_that_arrive_during_a_request_share_the_next_one() -> None:
    broker = Broker()
    ends = EndOffsets(broker)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(ends.of, [A])
        assert broker.arrived.acquire(timeout=DEADLINE_S)
        later = [pool.submit(ends.of, [A, B]) for _ in range(8)]
        wait_until(lambda: ends._next.waiting == 8, "all wait")  # noqa: SLF001
        broker.may_answer.release(2)

        assert first.result(DEADLINE_S).offsets == {A: 1}
        found = [one.result(DEADLINE_S) for one in later]

    assert broker.requests == [{A}, {A, B}]
    assert all(one.offsets == {A: 2, B: 2} for one in found)
    assert found[0].asked_at_s > first.result().asked_at_s
    assert found[0].of("b") == {0: 2}
    assert {name: state.id for name, state in found[0].topics.items()} == {
        "a": "id of a",
        "b": "id of b",
    }
    assert first.result().topics.keys() == {"a"}


def test_a_refusal_concerns_only_the_answers_that_read_the_topic() -> None:
    broker = Broker()
    broker.failing = {B}
    broker.may_answer.release(3)
    ends = EndOffsets(broker)

    with pytest.raises(KafkaError):
        ends.of([A, B])

    assert ends.of([A]).offsets == {A: 2}


def test_a_failed_request_does_not_stop_later_ones() -> None:
    calls: list[object] = []

    def request(places: Collection[Place]) -> Found:
        calls.append(places)
        if len(calls) == 1:
            raise KafkaError("down", code=ClientError.REQUEST_TIMED_OUT, detail="")
        return Found(dict.fromkeys(places, 7), {})

    ends = EndOffsets(request)
    with pytest.raises(KafkaError, match="down"):
        ends.of([A])

    assert ends.of([A]).offsets == {A: 7}


def test_a_topic_that_cannot_be_described_is_refused_only_to_those_who_read_it() -> None:
    def request(places: Collection[Place]) -> Found:
        refused = KafkaError("denied", code=ClientError.TOPIC_AUTHORIZATION_FAILED, detail="")
        return Found(dict.fromkeys(places, 7), {"a": TopicState("", frozenset({0})), "b": refused})

    ends = EndOffsets(request)

    assert ends.of([A]).topics["a"].partitions == {0}
    with pytest.raises(KafkaError, match="denied"):
        ends.of([A, B])


def test_partitions_that_a_topic_does_not_have_are_not_among_the_ends() -> None:
    """A topic that was created again may have fewer; its id shows that it is another one."""

    def request(places: Collection[Place]) -> Found:
        refused = KafkaError("no", code=ClientError.UNKNOWN_TOPIC_OR_PART, detail="")
        return Found({A: 3, ("a", 1): refused}, {"a": TopicState("new", frozenset({0}))})

    ends = EndOffsets(request).of([A, ("a", 1)])

    assert ends.offsets == {A: 3}
    assert ends.topics["a"].id == "new"
