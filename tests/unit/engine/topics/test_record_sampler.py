"""The record sampler notes the number, size and first timestamp of the records it reads, and the end of the partition."""

from unittest.mock import MagicMock

from confluent_kafka import KafkaError

from duolog.engine.topics.record_sampler import Sample, _take

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes have such names


def record(timestamp_ms: int) -> MagicMock:
    message = MagicMock()
    message.error.return_value = None
    message.timestamp.return_value = (1, timestamp_ms)
    message.key.return_value, message.value.return_value = b"k", b"value"
    return message


def test_a_look_keeps_the_time_of_the_first_record_and_whether_it_came_to_the_end() -> None:
    ahead = Sample()

    assert [_take(ahead, record(ms)) for ms in (300, 100, 500)] == [False] * 3
    assert ahead == Sample(3, 18, 300)

    end = MagicMock()
    end.error.return_value.code.return_value = END
    assert _take(ahead, end)
    assert ahead == Sample(3, 18, 300, reached_end=True)
