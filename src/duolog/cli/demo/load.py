"""The producer of the demo: tables first, then flights, from where an earlier run stopped.

A flight is written to the partition of its carrier, and each partition's order is the dataset's
order. So the number of records in a partition says which flights are there, also after a crash in
mid-run: these are skipped, and nothing is written twice.

Thread: `FlightLoad` is a thread of its own; its attributes are read by others.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from duolog.cli import clients
from duolog.cli.demo.dataset import TABLES_AT_MS, Dataset, Flight
from duolog.cli.demo.topics import FLIGHTS, TABLES, DemoTopics
from duolog.core.errors import DuologError, KafkaError
from duolog.plan.partitioner import partition_of

if TYPE_CHECKING:
    from confluent_kafka import Producer

_FLUSH_S: Final = 30.0
_STOP_S: Final = 5.0
_QUEUE_RECORDS: Final = 100_000
_SLOW_RATE: Final = 5_000
"""Up to so many events/s each record leaves at once; above it, records wait for company."""
_PACE_S: Final = 0.002
_EVERY: Final = 500


def load_tables(topics: DemoTopics, dataset: Dataset) -> None:
    """Write the rows of all tables that are not there yet, and wait until they are.

    Raises:
        KafkaError: the broker refused a record.
    """
    sender = _Sender(topics.bootstrap_servers, fast=True)
    for table in TABLES:
        rows = dataset.table(table)
        for key, json in rows[sum(topics.record_counts(table)) :]:
            sender.send(table, key.encode(), json.encode(), TABLES_AT_MS, 0)
    sender.finish()


class FlightLoad(threading.Thread):
    """Writes flights until `limit`, or until all are written, or until it is told to stop.

    Attributes:
        total: how many flights the topic holds when this is done.
        error: what ended it too early, or None.
        started_ms: when the first flight was handed to the client; 0 before.
    """

    def __init__(
        self, topics: DemoTopics, dataset: Dataset, *, total: int, years: int, rate: float | None
    ) -> None:
        super().__init__(name="flight-load", daemon=True)
        self.total = total
        self.error: DuologError | None = None
        self.started_ms = 0
        self._topics = topics
        self._dataset = dataset
        self._years = years
        self._rate = rate
        self._go = threading.Event()
        self._tables_loaded = threading.Event()
        self._stopping = threading.Event()
        self._passed = 0
        self._sender = _Sender(topics.bootstrap_servers, fast=not rate or rate > _SLOW_RATE)
        self._there = topics.record_counts(FLIGHTS)
        self.found = sum(self._there)

    @property
    def produced(self) -> int:
        """How many flights the topic holds, as far as the broker has acknowledged them."""
        return max(self.found, self._passed - self._sender.waiting)

    @property
    def done(self) -> bool:
        return not self.is_alive() and self.error is None

    def wait_until_tables_are_loaded(self) -> None:
        """Return when every row of every table is in its topic.

        Raises:
            DuologError: the dataset or the broker failed.
        """
        self._tables_loaded.wait()
        if self.error is not None:
            raise self.error

    def go(self) -> None:
        """Let the flights begin; what takes time was prepared before."""
        self._go.set()

    def stop(self) -> None:
        """Stop as soon as possible and wait; what is not acknowledged is written by the next run."""
        self._stopping.set()
        self._go.set()
        if self.is_alive():
            self.join(_STOP_S)

    def run(self) -> None:
        try:
            load_tables(self._topics, self._dataset)
            self._tables_loaded.set()
            flights = self._missing(self._dataset.flights(self._years))
            first = next(flights, None)
            self._go.wait()
            if first is not None:
                self._write(first, flights)
            self.total = self._passed
        except DuologError as error:
            self.error = error
        finally:
            self._tables_loaded.set()

    def _missing(self, flights: Iterable[Flight]) -> Iterator[tuple[Flight, bytes, int]]:
        """Yield flight, key and partition of what is not in the topic, up to the limit."""
        skip = list(self._there)
        places = _Places(len(skip))
        for flight in flights:
            # A run that was cut off may have left one partition ahead: fill up the other.
            if self._passed >= self.total and not any(skip):
                return
            self._passed += 1
            key, partition = places[flight.carrier]
            if skip[partition]:
                skip[partition] -= 1
            else:
                yield flight, key, partition

    def _write(
        self, first: tuple[Flight, bytes, int], rest: Iterator[tuple[Flight, bytes, int]]
    ) -> None:
        self.started_ms = time.time_ns() // 1_000_000
        pace = _Pace(self._rate, self._stopping)
        self._write_one(*first)
        for flight, key, partition in rest:
            if self._stopping.is_set():
                self._passed -= 1
                return self._sender.abandon()
            pace.wait()
            self._write_one(flight, key, partition)
        return self._sender.finish()

    def _write_one(self, flight: Flight, key: bytes, partition: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        value = f'{flight.json_start},"produced_at":{now_ms}}}'.encode()
        self._sender.send(FLIGHTS, key, value, flight.sched_dep_ms, partition)


class _Places(dict[str, tuple[bytes, int]]):
    """Carrier → the bytes of its key and its partition; 16 carriers are hashed once each."""

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._partitions = partitions

    def __missing__(self, carrier: str) -> tuple[bytes, int]:
        key = carrier.encode()
        self[carrier] = key, partition_of(key, self._partitions)
        return self[carrier]


class _Pace:
    """Lets `rate` calls through per second; all of them without a rate."""

    def __init__(self, rate: float | None, stopping: threading.Event) -> None:
        self._rate = rate
        self._stopping = stopping
        self._count = 0
        self._started = time.monotonic()

    def wait(self) -> None:
        if self._rate is None:
            return
        self._count += 1
        due = self._started + self._count / self._rate
        while (early := due - time.monotonic()) > 0 and not self._stopping.is_set():
            time.sleep(min(early, 0.1) if early > _PACE_S else early)


class _Sender:
    """A producer that remembers the first refusal."""

    def __init__(self, bootstrap_servers: str, *, fast: bool) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._refusal: KafkaError | None = None
        self._count = 0
        self._producer: Producer = clients.producer(
            bootstrap_servers,
            {},
            **{
                "acks": "all",
                "linger.ms": 20 if fast else 0,
                "batch.size": 262_144,
                "queue.buffering.max.messages": _QUEUE_RECORDS,
                "delivery.report.only.error": True,
            },
        )

    @property
    def waiting(self) -> int:
        """How many records are not acknowledged yet."""
        return len(self._producer)

    def send(self, topic: str, key: bytes, value: bytes, timestamp_ms: int, partition: int) -> None:
        """Hand one record to the client; waits while its buffer is full.

        Raises:
            KafkaError: a record was refused.
        """
        while True:
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=self._failed,
                    timestamp=timestamp_ms,
                )
                break
            except BufferError:
                self._producer.poll(0.05)
                self._check()
        self._count += 1
        if self._count % _EVERY == 0:
            self._producer.poll(0)
            self._check()

    def finish(self) -> None:
        """Wait until every record is acknowledged.

        Raises:
            KafkaError: a record was refused, or the broker is too slow.
        """
        self._producer.flush(_FLUSH_S)
        self._check()
        if self.waiting:
            raise KafkaError(
                f"{self.waiting} records were not acknowledged in {_FLUSH_S:.0f} s", code=7
            )

    def abandon(self) -> None:
        """Drop what has not left yet."""
        self._producer.purge()
        self._producer.flush(1)

    def _failed(self, error: Any, message: object) -> None:
        if self._refusal is None and error is not None:
            self._refusal = clients.as_kafka_error(
                error, "write the flights", self._bootstrap_servers
            )

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._refusal
