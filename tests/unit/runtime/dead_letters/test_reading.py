"""Reading from consumers that fail, stall or are refused."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError

from duolog.core.errors import KafkaError
from duolog.runtime.dead_letters.errors import ReadingStopped
from duolog.runtime.dead_letters.reading import Records

STOPPED_S = 90


class Message:
    """A consumed message, or an error."""

    def __init__(self, topic: str, offset: int, error: int | None = None) -> None:
        self._topic, self._offset = topic, offset
        self._error = None if error is None else ClientError(error, "told")

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def error(self) -> ClientError | None:
        return self._error

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def key(self) -> bytes:
        return b"k"

    value = key

    def headers(self) -> None:
        return None


class Consumer:
    """Returns messages in the given pieces, and the last piece for ever."""

    def __init__(self, pieces: list[list[Message]], pass_time: Callable[[], None]) -> None:
        self._pieces = pieces
        self._pass_time = pass_time
        self.assigned = False

    def assign(self, _partitions: object) -> None:
        self.assigned = True

    def unassign(self) -> None:
        self.assigned = False

    def consume(self, count: int, _timeout: float) -> list[Message]:
        self._pass_time()
        if count != 1 and len(self._pieces) == 1:
            return list(self._pieces[0])
        return self._pieces.pop(0) if len(self._pieces) > 1 else list(self._pieces[0])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Records, Consumer]]:
    def opened(*pieces: list[Message]) -> tuple[Records, Consumer]:
        now_s = [0.0]

        def pass_time() -> None:
            now_s[0] += 1

        monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
        records: Any = object.__new__(Records)
        records._consumer = consumer = Consumer([*pieces], pass_time)  # noqa: SLF001 - a fake
        records._stopped = lambda: now_s[0] > STOPPED_S  # noqa: SLF001 - as above
        records._is_closed = False  # noqa: SLF001 - as above
        return records, consumer

    return opened


def test_a_broker_that_repeats_its_errors_does_not_keep_a_reader_for_ever(
    opened: Callable[..., tuple[Records, Consumer]],
) -> None:
    records, consumer = opened([Message("", -1, ClientError._TRANSPORT)])  # noqa: SLF001

    with pytest.raises(KafkaError, match="could not read partition 0"):
        list(records.records("wrong", {0: (0, 5)}))
    assert not consumer.assigned


def test_many_topics_are_read_at_once_up_to_their_ends(
    opened: Callable[..., tuple[Records, Consumer]],
) -> None:
    eof = ClientError._PARTITION_EOF  # noqa: SLF001
    records, _ = opened(
        [Message("a", 3), Message("b", 7), Message("a", 4), Message("a", 5)],
        [Message("c", 9, eof), Message("b", 8)],
        [],
    )

    told: list[KafkaError] = []
    ranges = {("a", 0): (3, 5), ("b", 0): (7, 9), ("c", 0): (8, 9)}

    found = list(records.newest(ranges, told.append))

    assert [(one.topic, one.offset) for one in found] == [("a", 3), ("b", 7), ("a", 4), ("b", 8)]
    assert told == []


def test_topics_that_are_refused_or_silent_are_left_out(
    opened: Callable[..., tuple[Records, Consumer]],
) -> None:
    records, consumer = opened(
        [Message("secret", -1, ClientError.TOPIC_AUTHORIZATION_FAILED), Message("a", 0)], []
    )
    told: list[str] = []

    found = list(
        records.newest(
            {("secret", 0): (0, 5), ("a", 0): (0, 1), ("gone", 0): (0, 1)},
            lambda problem: told.append(problem.one_line()),
        )
    )

    assert [one.topic for one in found] == ["a"]
    assert [line.split(".")[0] for line in told] == [
        'could not read topic "secret"',
        'could not read topic "gone"',
    ]
    assert not consumer.assigned


def test_a_read_ends_when_it_is_stopped(
    opened: Callable[..., tuple[Records, Consumer]],
) -> None:
    pieces = [[Message("wrong", offset)] for offset in range(1_000)]
    records, consumer = opened(*pieces)

    with pytest.raises(ReadingStopped):
        list(records.records("wrong", {0: (0, 1_000)}))
    with pytest.raises(ReadingStopped):
        list(records.newest({("wrong", 0): (0, 1_000)}, lambda _: None))
    assert not consumer.assigned
