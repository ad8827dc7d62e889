"""Partitions that a client creates and deletes: refused above the quota, or throttled (KIP-599)."""

from typing import Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from unit.broker.quotas.test_produce_quotas import throttle_ms

CREATE, DELETE, GROW, METADATA = 19, 20, 37, 3
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def new(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1}


def create(client: Any, *topics: dict[str, Any], version: int = 6, **more: Any) -> Any:
    return client.ask(CREATE, version, topics=list(topics), timeout=1000, **more)


def codes(answer: Any) -> list[int]:
    rows = getattr(answer, "topics", None) or getattr(answer, "responses", None) or answer.results
    return [row.error_code for row in rows]


@pytest.fixture
def limited(timed: Any) -> Any:
    """A quota of one partition per second: eleven at once."""
    timed.quota({"user": "alice"}, controller_mutation_rate=1.0)
    return timed


def test_topics_above_the_quota_are_refused_one_by_one(limited: Any) -> None:
    client = limited.user("alice")

    answer = create(client, new("a", 8), new("b", 8), new("c", 1))
    client.send(METADATA, 9, topics=[])
    client.receive_nothing()
    limited.wait_ms(throttle_ms(answer))
    client.receive()
    again = create(client, new("c", 1))

    # Eleven tokens: b overdraws them by five, which come back in five seconds.
    assert codes(answer) == [0, 0, EXCEEDED]
    assert "per second" in answer.topics[2].error_message
    assert throttle_ms(answer) == 5000
    assert codes(again) == [0]
    assert sorted(topic.name for topic in limited.broker.topics) == ["a", "b", "c"]


def test_an_old_version_is_throttled_and_not_refused(limited: Any) -> None:
    client = limited.user("alice")

    answer = create(client, new("a", 8), new("b", 8), new("c", 1), version=5)

    assert codes(answer) == [0, 0, 0]
    assert throttle_ms(answer) == 6000


@pytest.mark.parametrize(("version", "refused"), [(2, False), (3, True)])
def test_growing_counts_the_new_partitions(limited: Any, version: int, *, refused: bool) -> None:
    limited.topic("t", 3)
    limited.topic("u", 3)
    client = limited.user("alice")

    def grow(name: str, count: int) -> Any:
        rows = [{"name": name, "count": count, "assignments": None}]
        return client.ask(GROW, version, topics=rows, timeout=1000)

    first, second = grow("t", 15), grow("u", 4) if refused else None
    if not refused:
        assert throttle_ms(first) == 1000
        limited.wait_ms(1000)
        second = grow("u", 4)

    assert codes(first) == [0]
    assert codes(second) == [EXCEEDED if refused else 0]
    assert throttle_ms(second) == 1000


@pytest.mark.parametrize(("version", "refused"), [(4, False), (5, True)])
def test_deleting_counts_the_partitions(limited: Any, version: int, *, refused: bool) -> None:
    limited.topic("t", 13)
    limited.topic("u", 1)
    client = limited.user("alice")

    answer = client.ask(DELETE, version, topic_names=["t", "u"], timeout=1000)

    assert codes(answer) == [0, EXCEEDED if refused else 0]
    assert throttle_ms(answer) == (2000 if refused else 3000)
    assert [topic.name for topic in limited.broker.topics] == (["u"] if refused else [])


def test_topics_that_metadata_creates_count(limited: Any) -> None:
    client = limited.user("alice")
    names = [{"name": f"t{index}"} for index in range(13)]

    answer = client.ask(METADATA, 9, topics=names, allow_auto_topic_creation=True)

    assert len(list(limited.broker.topics)) == 13
    assert throttle_ms(answer) == 2000


def test_what_is_refused_for_another_reason_does_not_count(limited: Any) -> None:
    limited.topic("t")
    client = limited.user("alice")

    answer = create(client, new("t", 50), new("a", 11), new("b", 1))

    assert codes(answer) == [ErrorCode.TOPIC_ALREADY_EXISTS, 0, 0]


def test_validating_counts_as_in_kafka(limited: Any) -> None:
    client = limited.user("alice")

    answer = create(client, new("a", 12), new("b", 1), validate_only=True)

    assert codes(answer) == [0, EXCEEDED]
    assert not list(limited.broker.topics)


def test_the_throttle_time_is_what_is_left_when_the_answer_leaves(limited: Any) -> None:
    """Topics are made by another thread; what has passed meanwhile was waited for already."""
    client = limited.user("alice")
    charges: list[Any] = []
    client.send(CREATE, 5, topics=[new("a", 21)], timeout=1000)
    enforcement = limited.broker.enforcement
    charge = enforcement.charge

    def noted(*who: Any) -> Any:
        charges.append(charge(*who))
        return charges[-1]

    enforcement.charge = noted
    limited.turn_until(lambda: charges and charges[-1]._wait_until_ms)  # noqa: SLF001

    limited.clock.advance(4.0)

    assert throttle_ms(client.receive()) == 6000


def test_other_users_have_no_quota(limited: Any) -> None:
    answer = create(limited.user("bob"), new("a", 100), new("b", 1))

    assert codes(answer) == [0, 0]
    assert throttle_ms(answer) == 0


def test_the_burst_follows_the_settings_of_the_controller(open_timed: Any) -> None:
    timed = open_timed(controller_quota_window_num="2", controller_quota_window_size_seconds="3")
    timed.quota({"user": "alice"}, controller_mutation_rate=1.0)

    answer = create(timed.user("alice"), new("a", 7), version=5)

    assert throttle_ms(answer) == 1000
