"""The letters of a replay: those of its check, although topics and marks change meanwhile."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from duolog.runtime.dead_letters.corrections import ByFunction, Fixed, Kept, unchanged
from duolog.runtime.dead_letters.letter import read_letter
from duolog.runtime.dead_letters.replay import Replay, common
from duolog.runtime.dead_letters.replaying import Outcome, Target, Written
from duolog.runtime.dead_letters.selection import Selection
from unit.runtime.dead_letters.making import Topic

if TYPE_CHECKING:
    from duolog.runtime.dead_letters.reading import Range


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


def series(topic: Topic, limit: int, **more: Any) -> list[int]:
    """Return how many letters each replay of a series shows, until nothing is left."""
    rest: dict[int, Range] | None = None
    counts: list[int] = []
    while rest != {}:
        assert len(counts) < 10, "the series does not end"
        replay = Replay(
            *(topic, "wrong", Selection(), Target(), more.get("correction", Fixed())),  # type: ignore[arg-type]
            again=more.get("again", False),
            limit=limit,
            within=rest,
        )
        replay.check()
        outcome = replay.preview()
        rest = replay.rest(outcome)
        counts.append(outcome.total + outcome.kept.total())
        if more.get("fails_again"):
            topic.add("open")
    return counts


def test_a_series_of_replays_ends_if_letters_stay_where_they_are(topic: Topic) -> None:
    assert series(topic, 3) == [3, 1]
    assert series(topic, 3, again=True) == [3, 1]
    kept = ByFunction(lambda _: False)
    assert series(topic, 1, correction=kept) == [1, 1, 1, 1]
    assert series(topic, 4) == [4]
    assert series(topic, 5) == [4]


def test_a_series_of_replays_ends_although_records_fail_again(topic: Topic) -> None:
    assert series(topic, 2, fails_again=True) == [2, 2]
    # They are for the next series.
    assert series(topic, 10) == [6]


def test_a_replay_that_was_stopped_continues_after_the_last_letter_that_was_counted(
    topic: Topic,
) -> None:
    first = Replay(topic, "wrong", Selection(), Target(), limit=3)  # type: ignore[arg-type]
    first.check()
    stopped = Outcome(stopped=True)
    assert first.rest(stopped) == {0: (0, 4)}

    one, two, three = (found for found in map(read_letter, topic.letters[:3]) if found)
    stopped.count(Written(one, "open", 0, unchanged(one)))
    assert first.rest(stopped) == {0: (1, 4)}
    stopped.keep(Kept("why"), two)
    assert first.rest(stopped) == {0: (2, 4)}

    outcome = Outcome()
    outcome.count(Written(three, "open", 0, unchanged(three)))
    # It was not stopped, so everything until the limit is done.
    assert first.rest(outcome) == {0: (3, 4)}


def test_partitions_that_were_not_reached_are_left(topic: Topic) -> None:
    topic.letters[2:] = [one._replace(partition=1) for one in topic.letters[2:]]
    replay = Replay(topic, "wrong", Selection(), Target(), limit=1)  # type: ignore[arg-type]
    replay.check()

    rest = replay.rest(replay.preview())

    assert rest == {0: (1, 4), 1: (0, 4)}
    assert common({0: (0, 9), 2: (0, 9)}, {0: (3, 20), 1: (0, 5)}) == {0: (3, 9)}
