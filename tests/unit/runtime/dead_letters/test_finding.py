"""Topics with dead letters, some of which cannot be read."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.dead_letters.finding import count_all, find
from duolog.runtime.dead_letters.letter import Record
from duolog.runtime.dead_letters.reading import At, Problems, Range
from duolog.runtime.dead_letters.selection import Selection
from unit.runtime.dead_letters.making import Topic, headers


class Cluster(Topic):
    """The topic "wrong", one of a query, one without letters, and one that is refused."""

    def topics(self) -> dict[str, int]:
        return {"wrong": 1, "empty": 1, "plain": 1, "secret": 2, "_duolog-replayed-dead-letters": 1}

    def ranges_of(self, topics: Mapping[str, int], problems: Problems) -> dict[At, Range]:
        assert set(topics) == {"wrong", "empty", "plain", "secret"}
        problems(KafkaError("secret is refused", code=29))
        return {("wrong", 0): (0, 1), ("empty", 0): (5, 5), ("plain", 0): (0, 1)}

    def newest(self, ranges: Mapping[At, Range], _problems: Problems) -> Iterator[Record]:
        assert ("secret", 0) not in ranges
        yield Record("plain", 0, 0, 0, b"k", b"v")
        yield Record("wrong", 0, 0, 0, b"k", b"v", headers())

    def records(self, topic: str, ranges: Mapping[int, Range]) -> Iterator[Record]:
        if topic == "empty":
            raise KafkaError("empty is refused", code=29)
        return super().records(topic, ranges)


def test_a_topic_that_cannot_be_read_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster: Any = Cluster(monkeypatch, "orders")
    told: list[str] = []

    found = find(
        cluster, {"empty": ["Q"]}, lambda _: True, problems=lambda error: told.append(error.message)
    )
    count_all(cluster, found, 10, Selection(), lambda error: told.append(error.message))

    assert [(one.topic, one.known_by, one.counts.letters, one.complete) for one in found] == [
        ("empty", ["query"], 0, False),
        ("wrong", ["headers"], 1, True),
    ]
    assert told == ["secret is refused", "empty is refused"]
