"""The follower of the topic, with a consumer that never waits."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest

from duolog.registry.store import follower
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.follower import TopicFollower
from duolog.registry.store.stored import StoredRecord


class OneMessage:
    """A record at an offset."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return 1, 7


class FakeConsumer:
    """Has some records at once; a call that waits for more is noted."""

    def __init__(self, _config: Any) -> None:
        self.there = deque(OneMessage(offset) for offset in range(3))
        self.waits = 0

    def poll(self, timeout: float) -> OneMessage | None:
        self.waits += not self.there and timeout != 0
        return self.there.popleft() if self.there else None

    def consume(self, count: int, timeout: float) -> list[OneMessage]:
        # librdkafka waits until the batch is full or the time is over.
        self.waits += len(self.there) < count and timeout != 0
        return [self.there.popleft() for _ in range(min(count, len(self.there)))]

    def close(self) -> None:
        pass


def test_records_are_delivered_without_waiting_for_further_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[FakeConsumer] = []

    def consumer(config: Any) -> FakeConsumer:
        made.append(FakeConsumer(config))
        return made[-1]

    monkeypatch.setattr(follower, "Consumer", consumer)
    waits: list[int] = []
    read: list[int] = []

    def deliver(records: Sequence[StoredRecord]) -> None:
        waits.append(made[0].waits)
        read.extend(record.offset for record in records)
        following._stop.set()  # noqa: SLF001 - it ends after this batch

    following = TopicFollower(KafkaOptions("nowhere"), deliver, lambda _error: None)
    following.start()
    assert following._thread is not None  # noqa: SLF001 - the thread ends by itself
    following._thread.join(60)  # noqa: SLF001 - as above
    following.stop()

    assert (read, waits) == ([0, 1, 2], [0])
