import pytest

from duolog.engine import topic_ids
from duolog.engine.errors import SourceTopicRecreated
from duolog.engine.topic_ids import TopicWatch


def test_a_topic_made_anew_while_the_query_runs_is_found_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = {"flights": "a"}
    asked = []

    def ask(kept: object) -> dict[str, str]:
        asked.append(kept)
        return now

    watch = TopicWatch({"flights": "a"}, ask, "app")
    watch.look()
    assert asked == []

    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    watch.look()
    now["flights"] = "b"

    with pytest.raises(SourceTopicRecreated, match="made anew"):
        watch.look()


@pytest.mark.parametrize("told", [{}, {"flights": "a"}, {"other": "x"}])
def test_a_topic_that_is_away_or_not_told_is_not_another_one(told: dict[str, str]) -> None:
    topic_ids.ensure_same_topics({"flights": "a"}, told, "app")
