"""Sizes and growth of topics, from their ends at known times."""

from collections.abc import Iterable

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.figures import topic_growth
from duolog.runtime.sql.figures.topic_growth import TopicGrowth, TopicSize
from unit.runtime.sql.figures.fake_running import Clock


class World:
    """Topics whose ends a test sets."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.spans: dict[str, tuple[int, int]] = {}
        self.asked: list[list[str]] = []
        self.is_reachable = True
        self.growth = TopicGrowth(self._spans, self.clock)

    def _spans(self, topics: Iterable[str]) -> dict[str, tuple[int, int]]:
        self.asked.append(list(topics))
        if not self.is_reachable:
            raise KafkaError("no broker", code=-1)
        return {name: self.spans[name] for name in self.asked[-1] if name in self.spans}

    def seen(self, after_ms: int, end: int, first: int = 0) -> TopicSize:
        self.clock.ms += after_ms
        self.spans["t"] = (first, end)
        return self.growth.of(["t"])["t"]


@pytest.fixture
def world() -> World:
    return World()


def test_a_size_is_what_the_topic_still_has(world: World) -> None:
    assert world.seen(0, 50, first=20) == TopicSize(30, None)


def test_a_rate_is_the_growth_of_about_ten_seconds(world: World) -> None:
    world.seen(0, 100)

    assert world.seen(5_000, 150).per_second == 10
    assert world.seen(5_000, 150).per_second == 5
    # The sample of 5 seconds before is not old enough; that of 12 seconds before is.
    assert world.seen(7_000, 270).per_second == 10
    assert world.seen(60_000, 870).per_second == 10


def test_many_questions_ask_the_broker_once(world: World) -> None:
    world.seen(0, 100)

    assert world.seen(1_999, 200) == TopicSize(100, None)
    assert len(world.asked) == 1
    assert world.seen(1, 200).per_second == 50


def test_a_topic_that_was_created_again_has_no_rate_at_first(world: World) -> None:
    world.seen(0, 100)

    assert world.seen(5_000, 10) == TopicSize(10, None)
    assert world.seen(5_000, 20).per_second == 2


def test_a_pause_is_not_measured(world: World) -> None:
    world.seen(0, 100)

    assert world.seen(60_001, 200).per_second is None


def test_topics_that_cannot_be_read_are_missing(world: World) -> None:
    world.seen(0, 1)
    assert world.growth.of(["t", "other"]).keys() == {"t"}

    world.clock.ms += 10_000
    world.is_reachable = False

    assert world.growth.of(["t"]) == {}


def test_the_number_of_remembered_topics_is_limited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_growth, "TOPICS_MAX", 2)
    for name in ("a", "b", "c"):
        world.spans[name] = (0, 1)
        world.growth.of([name])

    world.growth.of(["b"])

    assert world.asked == [["a"], ["b"], ["c"]]
    world.growth.of(["a"])
    assert world.asked[3:] == [["a"]]
