from concurrent.futures import Future
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from duolog.engine.topics import topic_reader
from duolog.engine.topics.record_checks import SeenRecord
from duolog.engine.topics.record_sampler import Position, Sample
from duolog.engine.topics.topic_reader import TopicReader


@pytest.mark.parametrize(
    "code", [KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_the_end_of_a_partition_with_a_new_leader_is_asked_again(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader that has just been elected does not tell it yet: the application said that no broker answers."""
    monkeypatch.setattr(topic_reader, "_AGAIN_S", 0.0)
    not_yet: Future[MagicMock] = Future()
    not_yet.set_exception(KafkaException(KafkaError(code)))
    known: Future[MagicMock] = Future()
    known.set_result(MagicMock(offset=7, leader_epoch=3))
    answers = iter([not_yet, known])
    client = MagicMock()
    client.list_offsets.side_effect = lambda *_, **__: {TopicPartition("orders", 0): next(answers)}
    reader = TopicReader("127.0.0.1:1", {})
    monkeypatch.setattr(reader, "_client", lambda: client)

    assert reader.end_offsets({"orders": 1}) == {"orders": {0: 7}}


A, B, IDLE = ("in", 0), ("in", 1), ("in", 2)
POSITIONS = {"in": {0: 2, 1: 3, 2: 9}}
ENDS = {"in": {0: 4, 1: 8, 2: 9}}


def event_time_left(
    ahead: dict[Position, Sample], last_ms: dict[Position, int]
) -> tuple[int | None, MagicMock]:
    """Return what is left after POSITIONS up to ENDS, and the reader's looks."""
    reader = MagicMock(spec=TopicReader)
    reader._sampler, reader.looks = MagicMock(), MagicMock()  # noqa: SLF001 - what asks a broker
    reader._sampler.sample.return_value = ahead  # noqa: SLF001
    lasts = {at: SeenRecord(1, 0, "", ms) for at, ms in last_ms.items()}
    reader.looks.last_before.return_value = lasts
    return TopicReader.event_time_left_ms(reader, POSITIONS, ENDS), reader


def test_event_time_is_left_from_the_earliest_record_to_the_latest() -> None:
    """Partitions without new records are old, or of the future: they do not count."""
    ahead = {A: Sample(1, 10, 300), B: Sample(1, 10, 100)}

    left_ms, reader = event_time_left(ahead, {A: 900, B: 700})

    assert left_ms == 800
    reader._sampler.sample.assert_called_once_with({A: 2, B: 3}, records_max=1)  # noqa: SLF001
    reader.looks.last_before.assert_called_once_with({A: 4, B: 8})


@pytest.mark.parametrize(
    ("ahead", "left_ms"),
    [
        ({A: Sample(reached_end=True), B: Sample(reached_end=True)}, 0),
        ({A: Sample(reached_end=True), B: Sample()}, None),
        ({A: Sample(1, 10, 300), B: Sample()}, None),
        ({}, None),
    ],
)
def test_event_time_that_no_look_tells_is_not_known(
    ahead: dict[Position, Sample], left_ms: int | None
) -> None:
    """Markers of transactions alone leave none."""
    assert event_time_left(ahead, {})[0] == left_ms
