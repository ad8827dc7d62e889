"""A reader of a topic after an error, with a consumer that returns what the test says."""

from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicPartition

from duolog.core.errors import KafkaError
from duolog.runtime.sql.fanout import offset_reader
from duolog.runtime.sql.fanout.offset_reader import OffsetReader
from duolog.security.clients.brokers import Brokers


class Message:
    def __init__(self, offset: int, code: int | None = None) -> None:
        self._offset = offset
        self._error = None if code is None else ClientError(code)

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def error(self) -> ClientError | None:
        return self._error


class Consumer:
    """Returns these messages in one batch, and by default does not answer requests for offsets."""

    batch: list[Message] = []  # noqa: RUF012 - set by the tests
    assigned: list[list[TopicPartition]] = []  # noqa: RUF012 - as above

    def __init__(self, _settings: object) -> None: ...

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned.append(places)

    def unassign(self) -> None:
        self.assigned.append([])

    def consume(self, count: int, _timeout_s: float) -> list[Message]:
        found, Consumer.batch = self.batch[:count], self.batch[count:]
        return found

    watermarks: tuple[int, int] | None = None

    def get_watermark_offsets(self, *_: object, **__: object) -> Any:
        if self.watermarks is None:
            raise KafkaException(ClientError(ClientError.REQUEST_TIMED_OUT))
        return self.watermarks


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> OffsetReader:
    monkeypatch.setattr(offset_reader, "Consumer", Consumer)
    monkeypatch.setattr(Consumer, "assigned", [])
    made = OffsetReader(Brokers("127.0.0.1:9092"))
    made.seek("t", {0: 0})
    return made


def test_records_after_an_error_are_read_again(reader: OffsetReader) -> None:
    refused = ClientError.TOPIC_AUTHORIZATION_FAILED
    Consumer.batch = [Message(0), Message(1, refused), Message(1)]

    with pytest.raises(KafkaError, match='cannot read topic "t"') as raised:
        reader.read(10, 0)
    reader.seek("t", {0: 1})

    assert raised.value.code == refused
    assert len(Consumer.assigned) == 2, "the consumer has passed offset 1"


def test_a_broker_that_does_not_answer_after_records_were_deleted_is_an_error(
    reader: OffsetReader,
) -> None:
    Consumer.batch = [Message(0, ClientError._AUTO_OFFSET_RESET)]  # noqa: SLF001

    with pytest.raises(KafkaError, match='cannot read topic "t"') as raised:
        reader.read(10, 0)

    assert raised.value.code == ClientError.REQUEST_TIMED_OUT


def test_an_error_of_an_earlier_assignment_does_not_end_the_query(
    reader: OffsetReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may return it after the topic was created and assigned again."""
    monkeypatch.setattr(Consumer, "watermarks", (0, 5))
    Consumer.batch = [Message(0), Message(7, ClientError._AUTO_OFFSET_RESET), Message(1)]  # noqa: SLF001

    messages, after = reader.read(10, 0)

    assert [one.offset() for one in messages] == [0]
    assert after == {0: 1}
    assert [[place.offset for place in places] for places in Consumer.assigned] == [[0], [1]]


@pytest.mark.parametrize(("refused", "watermarks"), [(0, (0, 5)), (7, (3, 5)), (7, (0, -1))])
def test_an_error_of_this_assignment_ends_the_query(
    reader: OffsetReader,
    monkeypatch: pytest.MonkeyPatch,
    refused: int,
    watermarks: tuple[int, int],
) -> None:
    monkeypatch.setattr(Consumer, "watermarks", watermarks)
    Consumer.batch = [Message(refused, ClientError._AUTO_OFFSET_RESET)]  # noqa: SLF001

    with pytest.raises(KafkaError, match='topic "t"'):
        reader.read(10, 0)


def test_a_reader_that_rests_fetches_nothing_and_continues_where_it_was(
    reader: OffsetReader,
) -> None:
    reader.rest()
    reader.seek("t", {0: 0})

    offsets = [[place.offset for place in places] for places in Consumer.assigned]
    assert offsets == [[0], [], [0]]
