"""The client of the follower; `tests/conformance/registry/test_store.py` has the rest."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from duolog.registry.store import follower
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.follower import TopicFollower

if TYPE_CHECKING:
    from duolog.registry.store.stored import StoredRecord


class Record:
    """A record as a client returns it."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"


class End:
    """The end of the topic, as a client reports it."""

    class Error:
        def code(self) -> int:
            return int(KafkaError._PARTITION_EOF)  # noqa: SLF001 - its only name

    def error(self) -> "End.Error":
        return End.Error()


class Client:
    """A client with messages; its `consume` waits as librdkafka's does, for all or the timeout."""

    opened: list["Client"]
    topic: list[Record]

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.start = 0
        self.messages: list[Any] = []
        Client.opened.append(self)

    def list_topics(self, *_: object, **__: object) -> None:
        return

    def assign(self, partitions: list[Any]) -> None:
        self.start = partitions[0].offset
        found = [record for record in Client.topic if record.offset() >= self.start]
        self.messages = [*found, End()]

    def poll(self, _timeout: float) -> object:
        return self.messages.pop(0) if self.messages else None

    def consume(self, number: int, timeout: float) -> list[object]:
        # librdkafka waits until it has the number of messages, or for the timeout.
        assert timeout == 0, "the records that are there would wait for the timeout"
        found, self.messages = self.messages[:number], self.messages[number:]
        return found

    def close(self) -> None:
        return


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that fills the topic with a number of records."""
    monkeypatch.setattr(follower, "Consumer", Client)
    Client.opened = []

    def fill(count: int) -> None:
        Client.topic = [Record(2 * number) for number in range(count)]  # markers between them

    return fill


def unexpected(error: Exception) -> None:
    raise AssertionError(error)


def test_records_do_not_wait_for_a_timeout_of_the_client(topic: Callable[[int], None]) -> None:
    topic(3)
    read: list[StoredRecord] = []

    TopicFollower(KafkaOptions("h:1"), read.extend, unexpected).load()

    assert [record.offset for record in read] == [0, 2, 4]


def test_records_that_are_written_later_do_not_wait_either(topic: Callable[[int], None]) -> None:
    topic(0)
    read: list[int] = []
    failures: list[Exception] = []
    following: TopicFollower

    def deliver(records: "Sequence[StoredRecord]") -> None:
        read.extend(record.offset for record in records)
        following._stop.set()  # noqa: SLF001 - it ends after this batch

    following = TopicFollower(KafkaOptions("h:1"), deliver, failures.append)
    following.load()
    Client.opened[1].messages = [Record(0), Record(2), Record(4)]
    following.start()
    assert following._thread is not None  # noqa: SLF001 - the thread ends by itself
    following._thread.join(60)  # noqa: SLF001 - as above

    assert (read, failures) == ([0, 2, 4], [])


def test_the_topic_is_followed_from_where_loading_ended(topic: Callable[[int], None]) -> None:
    topic(3)

    TopicFollower(KafkaOptions("h:1"), lambda _: None, unexpected).load()

    loading, following = Client.opened
    assert loading.start < 0  # the beginning
    assert following.start == 5
    assert "fetch.wait.max.ms" not in following.settings


def test_an_empty_topic_is_followed_from_its_beginning(topic: Callable[[int], None]) -> None:
    topic(0)

    TopicFollower(KafkaOptions("h:1"), lambda _: None, unexpected).load()

    assert Client.opened[0].start == Client.opened[1].start < 0


@pytest.mark.parametrize("away", [False, True])
def test_a_follower_reports_whether_the_topic_can_be_read(
    topic: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, *, away: bool
) -> None:
    topic(1)
    reports: list[bool] = []
    following: TopicFollower

    def watermarks(*_: object, timeout: float) -> tuple[int, int]:
        assert timeout < 10, "a stop would wait as long"
        if away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))  # noqa: SLF001
        return 0, 1

    def reached(reachable: bool) -> None:  # noqa: FBT001 - a callback
        reports.append(reachable)
        following._stop.set()  # noqa: SLF001 - it ends after this report

    monkeypatch.setattr(Client, "get_watermark_offsets", watermarks, raising=False)
    following = TopicFollower(KafkaOptions("h:1"), lambda _: None, unexpected, reached)
    following.load()
    following.start()
    assert following._thread is not None  # noqa: SLF001 - the thread ends by itself
    following._thread.join(60)  # noqa: SLF001 - as above

    assert reports == [not away]
