"""The cleaner continues if the topic of a run changes or is deleted meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

TURNS_MAX = 200


def fill(harness: Any, topic: str) -> None:
    """Make a compacted topic with a sealed segment."""
    harness.topic(
        topic,
        cleanup_policy="compact",
        segment_bytes=str(1 << 20),
        min_cleanable_dirty_ratio="0.01",
    )
    client = harness.client()
    for _ in range(3):
        client.produce(topic, harness.batch(b"x" * 600_000))


def test_the_cleaner_continues_if_a_topic_is_deleted_during_a_save(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = open_harness(log_cleaner_backoff_ms="0")
    saving: list[tuple[str, Callable[[], None]]] = []

    def save(log: Any, on_saved: Callable[[], None]) -> bool:
        log.take_recovery_point(bytes_min=0)
        saving.append((log.topic_partition.topic, on_saved))
        return True

    monkeypatch.setattr(harness.broker.group_commit, "save", save)
    fill(harness, "first")
    harness.broker.cleaner.start()
    turn_until(harness, lambda: len(saving) == 1)

    harness.client().ask(20, 5, topic_names=["first"], timeout=1000)
    saving[0][1]()
    fill(harness, "second")
    turn_until(harness, lambda: len(saving) == 2)

    assert [topic for topic, _ in saving] == ["first", "second"]


def turn_until(harness: Any, condition: Callable[[], bool]) -> None:
    for _ in range(TURNS_MAX):
        if condition():
            return
        harness.turn()
    raise AssertionError("it never came")
