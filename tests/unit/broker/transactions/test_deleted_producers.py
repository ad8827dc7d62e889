"""A recovery point covers segments with state of producers before these segments are deleted."""

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest

from duolog.core.clock import SystemClock
from duolog.log import LogManager
from duolog.log.checkpoints.log_start import write_log_start
from duolog.log.files.disk import RealDisk
from duolog.record.records import BatchProducer

DELETE_RECORDS = 21
TURNS_MAX = 200


@pytest.fixture
def steps(harness: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the writes that reached the disk, in order: recovery points and log starts, by topic."""
    seen: list[str] = []
    save = harness.broker.group_commit.save

    def noted_save(log: Any, on_saved: Callable[[], None]) -> bool:
        def noted() -> None:
            seen.append(f"{log.topic_partition.topic} saved")
            on_saved()

        return bool(save(log, noted))

    def noted_write(disk: Any, directory: str, offset: int) -> None:
        assert current_thread() is not main_thread(), "the loop waits for the disk"
        write_log_start(disk, directory, offset)
        seen.append(f"starts at {offset}")

    monkeypatch.setattr(harness.broker.group_commit, "save", noted_save)
    monkeypatch.setattr("duolog.log.partition.compactable_log.write_log_start", noted_write)
    return seen


def fill(harness: Any, topic: str, **more: BatchProducer) -> None:
    """Write three segments; if `more` is set, a producer writes the first one."""
    harness.topic(topic, segment_bytes=str(1 << 20), retention_bytes="700000")
    client = harness.client()
    client.produce(topic, harness.batch(b"x" * 600_000, **more))
    for _ in range(2):
        client.produce(topic, harness.batch(b"x" * 600_000))


def delete(harness: Any, topic: str) -> int:
    topics = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}]
    answer = harness.client().ask(DELETE_RECORDS, 2, topics=topics, timeout=1000)
    return int(answer.topics[0].partitions[0].low_watermark)


def retain(harness: Any, topic: str, start: int) -> None:
    harness.broker.retention.look()
    for _ in range(TURNS_MAX):
        if harness.broker.log(topic, 0).log_start_offset == start:
            return
        harness.turn()
    raise AssertionError("nothing was deleted")


def test_deleted_records_of_producers_are_covered_first(harness: Any, steps: list[str]) -> None:
    fill(harness, "idempotent", producer=BatchProducer(7, 0, 0))
    fill(harness, "plain")

    starts = [delete(harness, "idempotent"), delete(harness, "plain")]

    assert starts == [2, 2]
    assert steps == ["idempotent saved", "starts at 2", "starts at 2"]


def test_retention_covers_segments_of_producers_before_they_go(
    harness: Any, steps: list[str]
) -> None:
    fill(harness, "idempotent", producer=BatchProducer(7, 0, 0))
    fill(harness, "plain")

    retain(harness, "idempotent", 1)
    retain(harness, "plain", 1)

    assert sorted(steps) == ["idempotent saved", "starts at 1", "starts at 1"]
    assert steps.index("idempotent saved") <= 1


def test_a_producer_is_known_after_a_crash_though_retention_took_the_active_segment(
    harness: Any, tmp_path: Path
) -> None:
    harness.topic("old", retention_ms="0")
    batch = harness.batch_at(1_000_000, b"x", producer=BatchProducer(7, 0, 0))
    harness.client().produce("old", batch)
    retain(harness, "old", 1)

    # Files marked for deletion are removed in a thread outside the loop.
    leaving = shutil.ignore_patterns("*.deleted")
    shutil.copytree(tmp_path / "data", tmp_path / "after", ignore=leaving)
    manager = LogManager(RealDisk(), str(tmp_path / "after"), SystemClock(), {})

    assert manager.log("old", 0).append(bytearray(batch)).duplicate
    manager.close()
