from unittest.mock import MagicMock, call

import pytest

from duolog.engine.checkpoint import topic_ids
from duolog.engine.checkpoint.topic_ids import TopicWatch
from duolog.engine.errors import (
    ChangelogLost,
    LogTruncated,
    ResultTopicRecreated,
    SourceTopicRecreated,
)


def test_a_topic_recreated_while_the_query_runs_is_detected_at_the_next_check(
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

    with pytest.raises(SourceTopicRecreated, match="created again"):
        watch.look()


@pytest.mark.parametrize("message", [{}, {"flights": "a"}, {"other": "x"}])
def test_a_topic_without_a_reported_id_does_not_count_as_recreated(message: dict[str, str]) -> None:
    topic_ids.ensure_same_topics({"flights": "a"}, message, "app")


def test_a_result_topic_that_came_back_by_itself_ends_the_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    now = {"flights": "a", "counts": "b"}
    watch = TopicWatch({"flights": "a"}, lambda _asked: now, "app", {"counts": "b"})
    watch.look()
    del now["counts"]
    watch.look()
    now["counts"] = "c"

    with pytest.raises(ResultTopicRecreated, match='result topic "counts" was deleted') as caught:
        watch.look()

    assert "the next start creates it correctly" in (caught.value.hint or "")


@pytest.fixture
def changelogs(monkeypatch: pytest.MonkeyPatch) -> tuple[TopicWatch, dict[str, str], set[str]]:
    """Return a watch over two changelogs, one with an unknown id; the ids; and the topics that a broker reports as deleted."""
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    now, gone = {"totals": "a", "rows": "b"}, set[str]()
    known = {"totals": "a", "rows": ""}
    return TopicWatch({}, lambda _asked: now, "app", {}, known, gone.intersection), now, gone


@pytest.mark.parametrize("topic", ["totals", "rows"])
def test_a_changelog_that_came_back_by_itself_ends_the_query(
    changelogs: tuple[TopicWatch, dict[str, str], set[str]], topic: str
) -> None:
    watch, now, _ = changelogs
    watch.look()
    now[topic] = "z"

    with pytest.raises(
        ChangelogLost, match=f'changelog "{topic}" was deleted and created'
    ) as caught:
        watch.look()

    assert "duolog repartition FILE --tasks N" in (caught.value.hint or "")


def test_hints_for_a_sql_query_name_no_command_that_needs_a_file(
    changelogs: tuple[TopicWatch, dict[str, str], set[str]],
) -> None:
    watch, now, _ = changelogs
    watch.of_sql = True
    now["totals"] = "z"

    with pytest.raises(ChangelogLost) as caught:
        watch.look()

    assert caught.value.hint == "`duolog state reset app` starts again from the source topics."


def test_a_deleted_changelog_ends_the_query_once_it_was_missed_twice(
    changelogs: tuple[TopicWatch, dict[str, str], set[str]],
) -> None:
    watch, now, gone = changelogs
    del now["totals"]
    watch.look()
    watch.look()  # No broker has said that it is gone.
    gone.add("totals")
    watch.look()

    with pytest.raises(ChangelogLost, match='changelog "totals" was deleted'):
        watch.look()


def test_a_changelog_that_a_broker_misses_once_does_not_count_as_deleted(
    changelogs: tuple[TopicWatch, dict[str, str], set[str]],
) -> None:
    watch, now, gone = changelogs
    for _ in range(3):
        del now["totals"]
        gone.add("totals")
        watch.look()
        now["totals"] = "a"
        gone.clear()
        watch.look()


def test_positions_are_compared_with_their_logs_at_each_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    logs = MagicMock()
    positions = {"flights": {0: 5}}, {"flights": {0: 3}}
    watch = TopicWatch({"flights": "a"}, lambda _asked: {"flights": "a"}, "app", logs=logs)

    watch.look(lambda: positions)
    watch.note(lambda: positions)

    assert logs.look.call_args_list == [call(*positions, {"flights": "a"})] * 2
    logs.look.side_effect = LogTruncated("lost", query_id="app")
    with pytest.raises(LogTruncated):
        watch.look(lambda: positions)


def test_logs_are_not_checked_while_no_broker_reports_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop would wait for a broker that is away."""
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    logs = MagicMock()
    watch = TopicWatch({"flights": "a"}, lambda _asked: {}, "app", logs=logs)

    watch.look(lambda: ({}, {}))
    watch.note(lambda: ({}, {}))

    logs.look.assert_not_called()


def test_a_topic_recreated_while_a_query_waited_is_detected_before_it_is_read() -> None:
    """With as many records as before it would be read on from the old offset; with fewer its log would seem truncated."""
    logs = MagicMock()
    logs.ensure_whole.side_effect = LogTruncated("lost", query_id="app")
    watch = TopicWatch({"flights": "a"}, lambda _asked: {"flights": "b"}, "app", logs=logs)

    with pytest.raises(SourceTopicRecreated, match="created again"):
        watch.ensure_whole({"flights": {0: 5}})


def test_only_topics_that_are_read_are_compared_at_a_start() -> None:
    """An upgrade may have ceased to read one, whose position stays in the log of offsets."""
    logs = MagicMock()
    watch = TopicWatch({}, lambda _asked: {}, "app", sources=["flights"], logs=logs)

    watch.ensure_whole({"flights": {0: 5}, "airports": {0: 7}})

    logs.ensure_whole.assert_called_once_with({"flights": {0: 5}})
