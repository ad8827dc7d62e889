from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import NamedTuple, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import Connection
from duolog.cli.mirror import committed_records
from duolog.cli.mirror.committed_records import read_committed, read_ends
from duolog.core import errors as core_errors

PLACE = ("orders", 1)
CLUSTER = Cluster("127.0.0.1:1", {})


class Offset(NamedTuple):
    offset: int


class Answers:
    """An admin client with one answer for each request."""

    def __init__(self, *answers: int | KafkaError) -> None:
        self._answers: Iterator[int | KafkaError] = iter(answers)

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], **options: object
    ) -> dict[TopicPartition, Future[Offset]]:
        del options
        future: Future[Offset] = Future()
        match next(self._answers):
            case int(offset):
                future.set_result(Offset(offset))
            case error:
                future.set_exception(KafkaException(error))
        return dict.fromkeys(asked, future)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_records, "_POLL_S", 0)


def test_a_partition_that_is_not_known_yet_is_asked_for_again() -> None:
    client = cast("AdminClient", Answers(*map(KafkaError, (3, 5, 6, 78)), 7))

    assert read_ends(client, CLUSTER, [("new", 0)]) == {("new", 0): 7}


def test_a_partition_that_stays_unknown_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_records, "_NEW_PARTITION_S", -1)

    with pytest.raises(KafkaException):
        read_ends(cast("AdminClient", Answers(KafkaError(3))), CLUSTER, [("gone", 0)])


def test_another_error_is_not_repeated() -> None:
    with pytest.raises(KafkaException):
        read_ends(cast("AdminClient", Answers(KafkaError(29), 7)), CLUSTER, [("denied", 0)])


def test_no_partitions_need_no_request() -> None:
    assert read_ends(cast("AdminClient", Answers()), CLUSTER, []) == {}


class Record:
    """A record or an error of the consumer."""

    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self._offset, self._error = offset, error

    def topic(self) -> str:
        return PLACE[0]

    def partition(self) -> int:
        return PLACE[1]

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error


class Consumer:
    """Returns the given records one by one, then nothing."""

    def __init__(self, *records: Record) -> None:
        self._records = list(records)
        self.closed = False
        self.passed = self.aborted = 0

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = places

    def consume(self, count: int, timeout_s: float) -> list[Record]:
        del count, timeout_s
        return [self._records.pop(0)] if self._records else []

    def pause(self, places: list[TopicPartition]) -> None:
        del places

    def position(self, places: list[TopicPartition]) -> list[TopicPartition]:
        """Advance for some time, as through records of aborted transactions."""
        self.passed += 1
        return [TopicPartition(*PLACE, min(self.passed, self.aborted)) for _ in places]

    def close(self) -> None:
        self.closed = True


class Connected:
    """A cluster with a consumer, and admin requests that return `present` as the end."""

    def __init__(self, consumer: Consumer, present: int = 0) -> None:
        self._consumer, self._present = consumer, present

    def connection(self) -> Connection:
        return Connection("127.0.0.1:1")

    def consumer(self, connection: Connection, **options: str) -> Consumer:
        del connection
        self.options = options
        return self._consumer

    def admin(self) -> AdminClient:
        return cast("AdminClient", Answers(*[self._present] * 100))

    def first_result(self, futures: list[Future[Offset]]) -> Offset:
        return futures[0].result()


def read(cluster: Connected, start: int, end: int) -> list[int]:
    ranges = {PLACE: (start, end)}
    return [
        message.offset() or 0
        for records in read_committed(cast("Cluster", cluster), ranges)
        for _, message in records
    ]


def test_a_range_is_read_past_gaps_to_its_end() -> None:
    consumer = Consumer(Record(3), Record(5), Record(8, KafkaError(-191)))

    assert read(Connected(consumer), 3, 8) == [3, 5]
    assert consumer.closed


@pytest.mark.parametrize("offset", [2, 4], ids=["before the range", "read before"])
def test_a_partition_that_starts_again_is_an_error(offset: int) -> None:
    """Continuing there would copy records twice."""
    consumer = Consumer(Record(3), Record(4), Record(offset), Record(5))

    with pytest.raises(core_errors.KafkaError, match="lost records while they were read") as caught:
        read(Connected(consumer), 3, 8)

    assert caught.value.code == 1
    assert f"Offset {offset} was read again after 4." in caught.value.detail
    assert consumer.closed


def test_a_partition_whose_head_was_deleted_is_an_error() -> None:
    """Continuing at another offset would skip records in silence."""
    cluster = Connected(Consumer(Record(3, KafkaError(-140, "Broker: Offset out of range"))))

    with pytest.raises(core_errors.KafkaError, match="lost records") as caught:
        read(cluster, 3, 8)

    assert "out of range" in caught.value.detail
    assert cluster.options["auto.offset.reset"] == "error"


def test_a_partition_that_ends_before_its_range_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was truncated after the plan; the run must not wait for ever."""
    monkeypatch.setattr(committed_records, "_CHECK_S", 0)

    with pytest.raises(core_errors.KafkaError, match="lost records") as caught:
        read(Connected(Consumer(Record(6, KafkaError(-191))), present=6), 3, 8)

    assert caught.value.detail.startswith("It ended at offset 8, and now at 6.")


def test_a_partition_without_any_progress_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_records, "_STALLED_S", 1e-9)
    monkeypatch.setattr(committed_records, "_CHECK_S", 0)
    consumer = Consumer()
    consumer.aborted = 20

    with pytest.raises(core_errors.KafkaError, match="could not be read up to offset 8") as caught:
        read(Connected(consumer, present=8), 3, 8)

    assert caught.value.retriable
    assert consumer.passed > consumer.aborted, "records of aborted transactions are progress"


def test_a_partition_that_is_deleted_while_it_is_read_is_an_error() -> None:
    consumer = Consumer(Record(3), Record(0, KafkaError(3)))

    with pytest.raises(KafkaException):
        read(Connected(consumer), 3, 8)
