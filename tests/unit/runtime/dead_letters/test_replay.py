"""The letters of a replay: those of its check, although topics and marks change meanwhile."""

from collections.abc import Callable

import pytest

from duolog.runtime.dead_letters.replay import Replay
from duolog.runtime.dead_letters.replaying import Target
from duolog.runtime.dead_letters.selection import Selection
from unit.runtime.dead_letters.making import Topic


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    return Topic(monkeypatch, "open", "secret", "open", "secret")


def replay_of(topic: Topic, *, replayed: bool | None = None, again: bool = False) -> Replay:
    wanted = Selection(replayed=replayed)
    return Replay(topic, "wrong", wanted, Target(), again=again, limit=1)  # type: ignore[arg-type]


def written(replay: Replay) -> list[str]:
    return [topic for topic, _ in replay.preview().written]


def other_replay(topic: Topic) -> None:
    topic.marks = {0: frozenset({0})}


def retention(topic: Topic) -> None:
    del topic.letters[0]


@pytest.mark.parametrize("change", [other_replay, retention])
def test_no_letter_is_written_that_was_not_checked(
    topic: Topic, change: Callable[[Topic], None]
) -> None:
    replay = replay_of(topic)
    assert replay.check() == {"open"}

    change(topic)

    assert written(replay) == []


def test_a_letter_that_is_replayed_meanwhile_is_not_among_the_replayed_ones(topic: Topic) -> None:
    topic.marks = {0: frozenset({2})}
    replay = replay_of(topic, replayed=True, again=True)
    assert replay.check() == {"open"}

    topic.marks = {0: frozenset({1, 2})}

    assert written(replay) == ["open"]


def test_letters_before_the_limit_are_written(topic: Topic) -> None:
    replay = replay_of(topic)

    assert written(replay) == ["open"]
    assert replay.check() == {"open"}
    assert written(replay) == ["open"]
