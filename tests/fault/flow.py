"""Around an engine under attack: events that flow in without a pause, and its tables as readers see them."""

import json
import threading
import time
from collections.abc import Iterable, Sequence
from random import Random
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from fault.journeys import RESULTS, SOURCES, TASKS, Event, Tables, airlines, events

TIMEOUT_S = 60.0


class Flow:
    """Writes events in a thread, at a steady pace, from `start` until `stop`."""

    def __init__(self, bootstrap_servers: str, prefix: str, seed: int, per_second: int) -> None:
        self.sent: list[Event] = []
        self._prefix = prefix
        self._events = events(Random(seed))  # noqa: S311 - a seed that can be run again
        self._per_second = per_second
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._failed: list[object] = []
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "linger.ms": 5,
            "log_level": 0,
        }
        self._producer = Producer(self._config)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(TIMEOUT_S)

    def create_topics(self, replicas: int = 1) -> None:
        """Make the source topics and write the airlines; the result topics are the engine's to make."""
        admin = AdminClient({"bootstrap.servers": self._config["bootstrap.servers"]})
        # The events are older than any retention by time.
        topics = [
            NewTopic(self._prefix + name, count, replicas, config={"retention.ms": "-1"})
            for name, count in SOURCES.items()
        ]
        for created in admin.create_topics(topics).values():
            created.result(TIMEOUT_S)
        self._write(airlines())
        assert self._producer.flush(TIMEOUT_S) == 0

    def start(self) -> None:
        self._thread.start()

    def send(self, event: Event) -> None:
        """Write one event more, between two of the flow."""
        self._write([event])
        self.sent.append(event)

    def stop(self) -> list[Event]:
        """End the flow; return all that was sent, now that it is acknowledged."""
        self._ended.set()
        self._thread.join(TIMEOUT_S)
        assert self._producer.flush(TIMEOUT_S) == 0
        assert self._failed == []
        return self.sent

    def _run(self) -> None:
        began = time.monotonic()
        while not self._ended.wait(0.02):
            due = int((time.monotonic() - began) * self._per_second) - len(self.sent)
            batch = [next(self._events) for _ in range(due)]
            self._write(batch)
            self.sent += batch

    def _write(self, batch: Iterable[Event]) -> None:
        for event in batch:
            self._producer.produce(
                self._prefix + event.topic,
                event.value_bytes,
                event.key,
                timestamp=event.timestamp_ms,
                on_delivery=lambda error, _: self._failed.append(error) if error else None,
            )
        self._producer.poll(0)


class ResultTables:
    """The result tables as a reader sees them: the latest value of each key."""

    def __init__(self, bootstrap_servers: str, prefix: str) -> None:
        self.tables: Tables = {name: {} for name in RESULTS}
        self.updates = 0
        self._prefix = prefix
        self._partitions = [
            TopicPartition(prefix + name, task, 0) for name in RESULTS for task in range(TASKS)
        ]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": f"{prefix}readers",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign(self._partitions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def read_all(self) -> Tables:
        """Read on to where the topics end now."""
        ends = [
            self._consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)[1]
            for partition in self._partitions
        ]
        deadline = time.monotonic() + TIMEOUT_S
        while any(at < end for at, end in zip(self._positions(), ends, strict=True)):
            assert time.monotonic() < deadline, "the results could not be read in time"
            for message in self._consumer.consume(5000, 0.1):
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                self._take(message.topic(), message.key(), message.value(), message.timestamp()[1])
        return self.tables

    def _positions(self) -> Sequence[int]:
        return [max(0, at.offset) for at in self._consumer.position(self._partitions)]

    def _take(
        self, topic: str | None, key: bytes | None, value: bytes | None, timestamp_ms: int
    ) -> None:
        assert topic is not None
        assert key is not None
        self.updates += 1
        table = self.tables[topic.removeprefix(self._prefix)]
        if value is None:
            table.pop(key.decode(), None)
        else:
            table[key.decode()] = (timestamp_ms, json.loads(value))
