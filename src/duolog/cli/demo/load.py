"""Produce the data of the demo: tables first, then flights, resuming where an earlier run stopped.

    tables ─▶ some flights ─▶ the rest of the year, at full speed ─▶ one live flight ─▶ live
    flights, at their rate
                            │                                      │                  │
                          "row"                                 "first"             "rest"

At each label the producer waits for `go_on`:

- "row": Spark needs the processor until the first result, and a small first micro-batch produces
  one sooner.
- "first": live flights start when the query has caught up with the year.
- "rest": the first live flight comes alone, because the first task of a mode takes Spark seconds.

With `--rate`, all flights are live.

A flight is written to the partition of its carrier, and each partition has the order of the data
set. The number of records in a partition therefore shows which flights it holds, even after a
crash: these are skipped, and no flight is written twice.

Thread: `FlightLoad` is a thread; other threads read its attributes.
"""

import atexit
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal

from duolog.cli.demo.dataset import TABLES_AT_MS, Dataset, Flight, Interrupted
from duolog.cli.demo.topics import FLIGHTS, TABLES, DemoTopics
from duolog.cli.kafka import clients
from duolog.core.counts import counted
from duolog.core.errors import DuologError, KafkaError
from duolog.plan.partitioner import partition_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError as ClientError
    from confluent_kafka import Producer

    from duolog.cli.kafka.cluster import Cluster

_FLUSH_S: Final = 30.0
_STOP_S: Final = 5.0
_QUEUE_RECORDS: Final = 100_000
LIVE_FLIGHTS: Final = 1_500
"""Number of live flights at the end; at most a tenth of all flights."""
LIVE_RATE: Final = 100.0
Waiting = Literal["", "row", "first", "rest"]

_AHEAD: Final = 2_000
"""Number of flights before the first result; enough to estimate the size of a flight."""
_SLOW_RATE: Final = 5_000
"""Up to this many events/s, records are sent without delay; above it, they are batched."""
_PACE_S: Final = 0.002
_LOOK_S: Final = 0.02
_EVERY: Final = 500


Encode = Callable[[str, str], bytes]
"""Returns the bytes of a row of a topic, from its JSON."""


def load_tables(topics: DemoTopics, dataset: Dataset, encode: Encode) -> None:
    """Write all missing rows of the tables, and wait until they are acknowledged.

    Raises:
        KafkaError: the broker refused a record.
    """
    sender = _Sender(topics.cluster, fast=True)
    for table in TABLES:
        # The first rows of each partition are there already, as in `FlightLoad`.
        skip = topics.record_counts(table)
        places = _Places(len(skip))
        for name, json in dataset.table(table):
            key, partition = places[name]
            if skip[partition]:
                skip[partition] -= 1
            else:
                sender.send(table, key, encode(table, json), TABLES_AT_MS, partition)
    sender.finish()


class FlightLoad(threading.Thread):
    """Writes flights until `total` is reached, or until `stop` is called.

    Attributes:
        total: number of flights in the topic at the end. `live` of them, the last ones, arrive at
            `rate`; by default all if there is a rate, else some.
        found: number of flights in the topic before.
        waits_for: the label it is waiting at; see the module docstring.
        error: the error that ended it early, or None.
    """

    def __init__(
        self,
        topics: DemoTopics,
        dataset: Dataset,
        *,
        total: int,
        years: int,
        rate: float | None,
        live: int | None = None,
        encode: Encode = lambda _, text: text.encode(),
    ) -> None:
        super().__init__(name="flight-load", daemon=True)
        # A daemon thread inside DuckDB would abort the process at interpreter exit.
        atexit.register(self.stop)
        self._encode = encode
        self.total = total
        self.error: DuologError | None = None
        self.waits_for: Waiting = ""
        self._topics = topics
        self._dataset = dataset
        self._years = years
        self._rate = rate or LIVE_RATE
        if live is None:
            live = total if rate else min(LIVE_FLIGHTS, total // 10)
        self._history = max(0, total - live)
        self._tables_loaded = threading.Event()
        self._stopping = threading.Event()
        self._free = threading.Event()
        self._passed = 0
        self._handed = 0
        self._sender = _Sender(topics.cluster, fast=True)
        self._there = topics.record_counts(FLIGHTS)
        self.found = sum(self._there)

    @property
    def produced(self) -> int:
        """Number of flights in the topic that the broker has acknowledged."""
        return max(self.found, self._handed - self._sender.waiting)

    @property
    def is_live(self) -> bool:
        """True if the flights of now arrive at their rate."""
        return self._passed > self._history

    @property
    def done(self) -> bool:
        return not self.is_alive() and self.error is None

    def wait_until_tables_are_loaded(self) -> None:
        """Wait until every row of every table is in its topic.

        Raises:
            DuologError: the dataset or the broker failed.
        """
        self._tables_loaded.wait()
        if self.error is not None:
            raise self.error

    def go(self) -> None:
        """Write all flights without waiting at labels."""
        if self._history:
            self._history = sys.maxsize
        self._free.set()

    def resume(self) -> None:
        """Resume at the current label."""
        self.waits_for = ""

    def stop(self) -> None:
        """Stop as soon as possible; the next run writes the flights that were not acknowledged."""
        self._stopping.set()
        give_up_at = time.monotonic() + _STOP_S
        while self.is_alive() and time.monotonic() < give_up_at:
            self._dataset.interrupt()
            self.join(_LOOK_S)

    def run(self) -> None:
        try:
            load_tables(self._topics, self._dataset, self._encode)
            self._tables_loaded.set()
            self._write(self._missing(self._dataset.flights(self._years)))
            self.total = self._passed
        except DuologError as error:
            self.error = error
        except Interrupted:
            self.total = self._passed
        finally:
            self._tables_loaded.set()
            atexit.unregister(self.stop)

    def _missing(self, flights: Iterable[Flight]) -> Iterator[tuple[Flight, bytes, int]]:
        """Yield flight, key and partition for each flight missing from the topic, up to `total`."""
        skip = list(self._there)
        places = _Places(len(skip))
        for flight in flights:
            # An interrupted run may have left one partition ahead: fill up the others.
            if self._passed >= self.total and not any(skip):
                return
            self._passed += 1
            key, partition = places[flight.carrier]
            if skip[partition]:
                skip[partition] -= 1
            else:
                yield flight, key, partition

    def _write(self, flights: Iterator[tuple[Flight, bytes, int]]) -> None:
        live: list[Waiting] = ["first", "rest"]
        pace: _Pace | None = None
        for number, (flight, key, partition) in enumerate(flights):
            if self._passed > self._history:
                if live:
                    self._wait_for(live.pop(0))
                    pace = self._begin_to_pace()
            elif number == _AHEAD:
                self._wait_for("row")
            if pace is not None:
                pace.wait()
            if self._stopping.is_set():
                self._passed -= 1
                return self._sender.abandon()
            now_ms = time.time_ns() // 1_000_000
            value = self._encode(FLIGHTS, f'{flight.json_start},"produced_at":{now_ms}}}')
            self._sender.send(FLIGHTS, key, value, flight.sched_dep_ms, partition)
            self._handed = self._passed
        return self._sender.finish()

    def _wait_for(self, what: Waiting) -> None:
        """Wait until all written records are acknowledged, then until `go_on`."""
        self._sender.finish()
        self.waits_for = what
        while self.waits_for and not self._free.is_set() and not self._stopping.is_set():
            time.sleep(_LOOK_S)

    def _begin_to_pace(self) -> "_Pace":
        self._sender = _Sender(self._topics.cluster, fast=self._rate > _SLOW_RATE)
        return _Pace(self._rate, self._stopping)


class _Places(dict[str, tuple[bytes, int]]):
    """Text of a key → the key and its partition; caches the hashes, of 16 carriers for instance."""

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._partitions = partitions

    def __missing__(self, text: str) -> tuple[bytes, int]:
        key = text.encode()
        self[text] = key, partition_of(key, self._partitions)
        return self[text]


class _Pace:
    """Limits the rate of `wait` calls to `rate` per second."""

    def __init__(self, rate: float, stopping: threading.Event) -> None:
        self._rate = rate
        self._stopping = stopping
        self._count = 0
        self._started = time.monotonic()

    def wait(self) -> None:
        self._count += 1
        due = self._started + self._count / self._rate
        while (early := due - time.monotonic()) > 0 and not self._stopping.is_set():
            time.sleep(min(early, 0.1) if early > _PACE_S else early)


class _Sender:
    """A producer that stores the first error."""

    def __init__(self, cluster: "Cluster", *, fast: bool) -> None:
        self._bootstrap_servers = cluster.bootstrap_servers
        self._poll_every = _EVERY if fast else 1
        self._refusal: KafkaError | None = None
        self._count = 0
        self._producer: Producer = clients.producer(
            cluster.bootstrap_servers,
            cluster.properties,
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
        """Number of records that are not acknowledged yet."""
        return len(self._producer)

    def send(self, topic: str, key: bytes, value: bytes, timestamp_ms: int, partition: int) -> None:
        """Pass one record to the client; wait while its buffer is full.

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
        if self._count % self._poll_every == 0:
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
                f"no acknowledgement of {counted(self.waiting, 'record')} in {_FLUSH_S:.0f} s",
                code=7,
            )

    def abandon(self) -> None:
        """Discard records that were not sent yet."""
        self._producer.purge()
        self._producer.flush(1)

    def _failed(self, error: "ClientError | None", message: object) -> None:
        if self._refusal is None and error is not None:
            self._refusal = clients.as_kafka_error(
                error, "write the flights", self._bootstrap_servers
            )

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._refusal
