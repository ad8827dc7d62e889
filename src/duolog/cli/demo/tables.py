"""The two result tables, updated from their topics by an ordinary consumer."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from duolog.cli.demo.latency import Latencies
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION, GROUP, RESULTS
from duolog.cli.kafka import clients
from duolog.cli.kafka.clients import REQUEST_TIMEOUT_S
from duolog.cli.kafka.cluster import Cluster

_RECORDS_PER_POLL: Final = 5_000
_RATE_WINDOW_S: Final = 5.0

Row = dict[str, Any]
Decode = Callable[[str, bytes], Row]
"""Returns the row of a topic that bytes contain."""


class LiveTables:
    """Tables by airline and by destination: key → latest row.

    Latencies are measured for live events only, those written after `go_live`.
    """

    def __init__(self, cluster: Cluster, decode: Decode) -> None:
        self._decode = decode
        self.rows: dict[str, dict[str, Row]] = {BY_AIRLINE: {}, BY_DESTINATION: {}}
        self.latencies = Latencies()
        self.first_row_at: float | None = None
        self.last_row_at: float | None = None
        self._live_since_ms: int | None = None
        self._cluster = cluster
        self._samples: deque[tuple[float, int]] = deque()
        self._consumer: Consumer = clients.consumer(
            cluster.bootstrap_servers,
            cluster.properties,
            **{"group.id": GROUP, "enable.auto.commit": "false", "fetch.wait.max.ms": 100},
        )

    def open(self) -> None:
        """Read the result topics from the beginning.

        Raises:
            KafkaError: a topic is missing, or no broker answers.
        """
        with self._cluster.errors("read the result topics"):
            known = self._consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
            self._consumer.assign(
                [
                    TopicPartition(topic, number, OFFSET_BEGINNING)
                    for topic in RESULTS
                    for number in known[topic].partitions
                ]
            )

    def go_live(self) -> None:
        """Measure the latency of events written from now on."""
        self._live_since_ms = time.time_ns() // 1_000_000

    def close(self) -> None:
        self._consumer.close()

    def poll(self, timeout_s: float) -> int:
        """Process received records, waiting up to `timeout_s` for the first one.

        Returns:
            The number of records.

        Raises:
            KafkaError: the broker or the client refused.
        """
        with self._cluster.errors("read the result topics"):
            first = self._consumer.poll(timeout_s)
            if first is None:
                return 0
            messages = [first, *self._consumer.consume(_RECORDS_PER_POLL, 0)]
            now_ms = time.time_ns() // 1_000_000
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                self._take(message.topic() or "", message.key(), message.value(), now_ms)
        self._mark_time()
        return len(messages)

    @property
    def live(self) -> bool:
        return self._live_since_ms is not None

    @property
    def events(self) -> int:
        """Number of flights that both tables have counted."""
        return min(self._events_in(topic) for topic in RESULTS)

    def events_per_second(self) -> float:
        """Growth rate of `events` over the last seconds."""
        now = time.monotonic()
        self._samples.append((now, self.events))
        while now - self._samples[0][0] > _RATE_WINDOW_S:
            self._samples.popleft()
        (start, before), (end, after) = self._samples[0], self._samples[-1]
        return (after - before) / (end - start) if end > start else 0.0

    def _events_in(self, topic: str) -> int:
        return sum(row["flights"] for row in self.rows[topic].values())

    def _take(self, topic: str, key: bytes | None, value: bytes | None, now_ms: int) -> None:
        name = (key or b"").decode()
        if value is None:
            self.rows[topic].pop(name, None)
            return
        row = self._decode(topic, value)
        self.rows[topic][name] = row
        produced_at_ms = row["last_produced_at"] or 0
        if self._live_since_ms is not None and produced_at_ms >= self._live_since_ms:
            self.latencies.add(max(0, now_ms - produced_at_ms), now_ms / 1000)

    def _mark_time(self) -> None:
        self.last_row_at = time.monotonic()
        if self.first_row_at is None:
            self.first_row_at = self.last_row_at
