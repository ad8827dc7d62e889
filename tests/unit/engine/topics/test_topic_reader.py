from concurrent.futures import Future
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from duolog.engine.topics import topic_reader
from duolog.engine.topics.topic_reader import TopicReader


@pytest.mark.parametrize(
    "code", [KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_the_end_of_a_partition_with_a_new_leader_is_asked_again(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newly elected leader does not know the offset yet: the application used to report that no broker answers."""
    monkeypatch.setattr(topic_reader, "_AGAIN_S", 0.0)
    not_yet: Future[MagicMock] = Future()
    not_yet.set_exception(KafkaException(KafkaError(code)))
    known: Future[MagicMock] = Future()
    known.set_result(MagicMock(offset=7, leader_epoch=3))
    answers = iter([not_yet, known])
    client = MagicMock()
    client.list_offsets.side_effect = lambda *_, **__: {TopicPartition("orders", 0): next(answers)}
    reader = TopicReader("127.0.0.1:1", {})
    monkeypatch.setattr(reader._client, "admin", lambda: client)  # noqa: SLF001

    assert reader.end_offsets({"orders": 1}) == {"orders": {0: 7}}
