"""The letters of a replay: those of its check, although topics and marks change meanwhile."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from duolog.runtime.dead_letters import replay as replaying_module
from duolog.runtime.dead_letters.letter import Record
from duolog.runtime.dead_letters.reading import Range
from duolog.runtime.dead_letters.replay import Replay
from duolog.runtime.dead_letters.replaying import Target
from duolog.runtime.dead_letters.selection import Selection
from unit.runtime.dead_letters.making import headers

if TYPE_CHECKING:
    from duolog.runtime.dead_letters.marks import Replayed


class Topic:
    """A dead-letter topic in memory: letters for `open`, then for `secret`."""

    def __init__(self) -> None:
        sources = ["open", "secret", "open", "secret"]
        self.letters = [
            Record("wrong", 0, number, 1_000, b"k", b"v", headers(source, 0, number))
            for number, source in enumerate(sources)
        ]
        self.marks: Replayed = {}

    def topics(self) -> dict[str, int]:
        return {"wrong": 1, "open": 1, "secret": 1}

    def selected(self, _topic: str, _partitions: int, _wanted: Selection) -> dict[int, Range]:
        return {0: (0, 4)}

    def records(self, _topic: str, ranges: Mapping[int, Range]) -> Iterator[Record]:
        for number, (start, end) in ranges.items():
            for one in self.letters:
                if one.partition == number and start <= one.offset < end:
                    yield one


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic()
    monkeypatch.setattr(replaying_module, "topic_id", lambda *_: "id")
    monkeypatch.setattr(replaying_module, "read_marks", lambda *_: made.marks)
    return made


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
