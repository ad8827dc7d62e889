"""Segments that go are covered by a recovery point first, if they tell of producers."""

from typing import Any

import pytest

DELETE_RECORDS = 21


@pytest.fixture
def covered(desk: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Topics of which a recovery point was asked for."""
    asked: list[str] = []
    monkeypatch.setattr(
        desk.broker.group_commit,
        "request_points",
        lambda logs: asked.extend(log.topic_partition.topic for log in logs),
    )
    return asked


def fill(desk: Any, topic: str, **more: int) -> None:
    """Write three segments, the first by a producer if `more` says so."""
    desk.topic(topic, segment_bytes=str(1 << 20))
    client = desk.client()
    client.produce(topic, desk.batch(b"x" * 600_000, **more))
    for _ in range(2):
        client.produce(topic, desk.batch(b"x" * 600_000))


def test_deleted_records_of_producers_are_covered_first(desk: Any, covered: list[str]) -> None:
    fill(desk, "idempotent", producer_id=7, producer_epoch=0, base_sequence=0)
    fill(desk, "plain")
    topics = [
        {"name": name, "partitions": [{"partition_index": 0, "offset": 2}]}
        for name in ("idempotent", "plain")
    ]

    answer = desk.client().ask(DELETE_RECORDS, 2, topics=topics, timeout=1000)

    assert [topic.partitions[0].low_watermark for topic in answer.topics] == [2, 2]
    assert covered == ["idempotent"]


def test_retention_covers_segments_of_producers_before_they_are_due(
    desk: Any, covered: list[str]
) -> None:
    fill(desk, "idempotent", producer_id=7, producer_epoch=0, base_sequence=0)

    desk.broker._retain()  # noqa: SLF001 - what a timer calls
    desk.turn()

    assert covered == ["idempotent"]
