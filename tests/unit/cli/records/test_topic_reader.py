from typing import TYPE_CHECKING, Any, cast

import click
import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from duolog.cli.kafka.connection import Connection
from duolog.cli.records.topic_reader import Start, TopicReader, read_start

if TYPE_CHECKING:
    from duolog.cli.kafka.cluster import Cluster


class Record:
    """A message as the client hands it on."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return 0

    def topic(self) -> str:
        return "t"

    def key(self) -> None:
        return None

    value = headers = key

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000


class FakeConsumer:
    """Hands three records on, and remembers what is stored for the next commit."""

    def __init__(self) -> None:
        self.stored: list[int] = []

    def consume(self, most: int, timeout_s: float) -> list[Record]:
        return [Record(number) for number in range(3)]

    def store_offsets(self, message: Record) -> None:
        self.stored.append(message.offset())


class FakeCluster:
    """A cluster whose consumer is given."""

    def __init__(self, consumer: FakeConsumer) -> None:
        self._consumer = consumer

    def connection(self) -> Connection:
        return Connection("127.0.0.1:1")

    def consumer(self, connection: Connection, **defaults: Any) -> FakeConsumer:
        assert defaults["enable.auto.offset.store"] == "false"
        return self._consumer


def test_a_record_counts_for_its_group_when_the_next_one_is_asked_for() -> None:
    consumer = FakeConsumer()
    cluster = cast("Cluster", FakeCluster(consumer))
    reader = TopicReader("t", cluster, group="g", from_beginning=False, say=lambda _: None)
    records = reader.records(None)

    next(records)
    stored_before = list(consumer.stored)
    next(records)

    assert (stored_before, consumer.stored) == ([], [0])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("7", Start(offset=7)),
        ("-7", Start(before_end=7)),
        ("beginning", Start(offset=OFFSET_BEGINNING)),
        ("earliest", Start(offset=OFFSET_BEGINNING)),
        ("latest", Start(offset=OFFSET_END)),
        ("@1970-01-01T00:00:01Z", Start(time_ms=1000)),
        ("@1s", Start(time_ms=9000)),
    ],
)
def test_a_start_is_an_offset_a_name_or_a_time(text: str, start: Start) -> None:
    assert read_start(text, now_ms=10_000) == start


@pytest.mark.parametrize("text", ["", "-", "--1", "first", "@", "@later", "1.5"])
def test_an_invalid_start_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a"):
        read_start(text, now_ms=0)
