"""The writer of INSERT: one producer, replaced after a failure."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.sql.reply import inserts
from duolog.runtime.sql.reply.inserts import Inserted, InsertWriter
from waiting import DEADLINE_S

RECORDS = [("t", Inserted(b"k", b"1", None)), ("t", Inserted(b"k", b"2", 7))]


class Producer:
    """Delivers each record when it is polled, unless it is made to fail."""

    made: list["Producer"] = []  # noqa: RUF012 - each test starts with a new list
    fails_with: ClientError | None = None
    answers = True
    raises: Exception | None = None
    """Raised for the second record."""

    def __init__(self, _settings: object) -> None:
        self.produced: list[tuple[object, ...]] = []
        self.waiting: list[Callable[[ClientError | None, Any], None]] = []
        self.purged = self.flushed = False
        Producer.made.append(self)

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes,
        *,
        on_delivery: Callable[[ClientError | None, Any], None],
        timestamp: int,
        headers: list[object],
    ) -> None:
        if len(self.produced) == 1 and Producer.raises is not None:
            raise Producer.raises
        self.produced.append((topic, key, value, timestamp, headers))
        self.waiting.append(on_delivery)

    def poll(self, _timeout_s: float) -> None:
        if Producer.answers:
            for deliver in self.waiting:
                deliver(Producer.fails_with, None)
            self.waiting.clear()

    def purge(self) -> None:
        self.purged = True

    def flush(self, _timeout_s: float) -> None:
        self.flushed = True


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> InsertWriter:
    monkeypatch.setattr(inserts, "Producer", Producer)
    monkeypatch.setattr(Producer, "made", [])
    monkeypatch.setattr(Producer, "fails_with", None)
    monkeypatch.setattr(Producer, "answers", True)
    monkeypatch.setattr(Producer, "raises", None)
    return InsertWriter("127.0.0.1:9092")


def test_statements_share_one_producer(writer: InsertWriter) -> None:
    writer.write(RECORDS)
    writer.write(RECORDS[:1])

    (producer,) = Producer.made
    assert producer.produced[:2] == [("t", b"k", b"1", 0, []), ("t", b"k", b"2", 7, [])]
    assert len(producer.produced) == 3


def test_a_refused_record_leaves_the_producer(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ClientError(ClientError.MSG_SIZE_TOO_LARGE)
    monkeypatch.setattr(Producer, "fails_with", refused)

    with pytest.raises(KafkaError, match='cannot write to topic "t"') as error:
        writer.write(RECORDS)

    assert error.value.code == ClientError.MSG_SIZE_TOO_LARGE
    monkeypatch.setattr(Producer, "fails_with", None)
    writer.write(RECORDS)
    assert len(Producer.made) == 1
    assert not Producer.made[0].purged


def test_a_producer_that_has_failed_for_good_is_replaced(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    fatal = ClientError(ClientError.OUT_OF_ORDER_SEQUENCE_NUMBER, "lost", True)  # noqa: FBT003
    monkeypatch.setattr(Producer, "fails_with", fatal)
    with pytest.raises(KafkaError):
        writer.write(RECORDS)

    monkeypatch.setattr(Producer, "fails_with", None)
    writer.write(RECORDS)

    assert len(Producer.made) == 2


def test_records_of_a_statement_that_took_too_long_are_not_written_later(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inserts, "_TIMEOUT_S", 0.0)
    monkeypatch.setattr(inserts, "_REPORT_S", 0.0)
    monkeypatch.setattr(Producer, "answers", False)

    with pytest.raises(KafkaError) as error:
        writer.write(RECORDS)

    assert error.value.code == ClientError.REQUEST_TIMED_OUT
    assert Producer.made[0].purged


@pytest.mark.parametrize(
    ("raised", "code", "producers"),
    [
        (KafkaException(ClientError(ClientError.MSG_SIZE_TOO_LARGE)), 10, 1),
        (BufferError("Local: Queue full"), ClientError._QUEUE_FULL, 1),  # noqa: SLF001
        (KafkaException(ClientError(ClientError._FATAL)), ClientError._FATAL, 2),  # noqa: SLF001
    ],
)
def test_a_record_that_the_client_itself_refuses_is_an_error(
    writer: InsertWriter,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    code: int,
    producers: int,
) -> None:
    monkeypatch.setattr(Producer, "raises", raised)

    with pytest.raises(KafkaError, match='cannot write to topic "t"') as error:
        writer.write([*RECORDS, *RECORDS])

    assert error.value.code == code
    assert len(Producer.made[0].produced) == 1, "no record after the refused one"
    assert not Producer.made[0].waiting, "the record before it was waited for"
    monkeypatch.setattr(Producer, "raises", None)
    writer.write(RECORDS)
    assert len(Producer.made) == producers


def test_a_closed_writer_connects_again(writer: InsertWriter) -> None:
    writer.close()
    writer.write(RECORDS)
    writer.close()
    writer.close()
    writer.write(RECORDS)

    assert [producer.flushed for producer in Producer.made] == [True, False]


def test_each_record_has_its_own_outcome(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Producer, "raises", BufferError())

    first, second = writer.write_each([("t", RECORDS[0][1]), ("u", RECORDS[1][1])])

    assert first is None
    assert second is not None
    assert (second.message, second.code) == (
        'cannot write to topic "u"',
        ClientError._QUEUE_FULL,  # noqa: SLF001 - it has no other name
    )


def test_only_a_record_that_is_not_delivered_in_time_has_failed(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poll(self: Producer, _timeout_s: float) -> None:
        for deliver in self.waiting[1:]:
            deliver(None, None)
        del self.waiting[1:]

    monkeypatch.setattr(Producer, "poll", poll)
    monkeypatch.setattr(inserts, "_TIMEOUT_S", 0.01)
    monkeypatch.setattr(inserts, "_REPORT_S", 0.0)

    first, second = writer.write_each(RECORDS)

    assert first is not None
    assert first.code == ClientError.REQUEST_TIMED_OUT
    assert second is None
    assert Producer.made[0].purged


def purged() -> list[bool]:
    return [one.purged for one in Producer.made]


def test_records_of_another_topic_are_not_lost_when_a_call_fails(
    writer: InsertWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure of one topic purged the rows of others that were on their way."""
    waits, may_end = threading.Event(), threading.Event()
    timed_out = ClientError(ClientError._MSG_TIMED_OUT)  # noqa: SLF001 - it has no other name

    def poll(self: Producer, _timeout_s: float) -> None:
        if threading.current_thread() is other:
            waits.set()
            assert may_end.wait(DEADLINE_S)
            assert not self.purged, "a record on its way would be lost"
            self.waiting[0](None, None)
        else:
            self.waiting[1](timed_out, None)

    monkeypatch.setattr(Producer, "poll", poll)
    outcomes: list[KafkaError | None] = []
    other = threading.Thread(
        target=lambda: outcomes.extend(writer.write_each([("u", RECORDS[0][1])]))
    )
    other.start()
    assert waits.wait(DEADLINE_S)

    (failed,) = writer.write_each([("t", RECORDS[0][1])])

    assert failed is not None
    assert purged() == [False]
    may_end.set()
    other.join(DEADLINE_S)
    assert outcomes == [None]
    assert purged() == [True], "nothing is written after the failure of its statement"
    monkeypatch.setattr(Producer, "poll", lambda self, _: self.waiting[0](None, None))
    writer.write([("t", RECORDS[0][1])])
    assert len(Producer.made) == 2


def test_the_client_gives_a_record_up_before_its_statement() -> None:
    given = inserts._PRODUCER["message.timeout.ms"]  # noqa: SLF001 - the setting of the client
    assert given == 1000 * inserts._TIMEOUT_S  # noqa: SLF001 - as above
