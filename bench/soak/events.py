"""The records of a soak run, as functions of their numbers, and the producer that writes them.

    events   key usr, value {seq, item, amount}      every number
    clicks   key usr, value {seq, page}              every fifth number
    users    key usr, value {city}                   once, before all others

Because a record is a function of its number, each process of the run can compute what it must see.
"""

import json
import threading
import time
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer

from duolog.plan.partitioner import partition_of

PARTITIONS: Final = 2
USERS: Final = 50
ITEMS: Final = tuple(f"item-{number}" for number in range(10))
CITIES: Final = ("Bergen", "Cork", "Delft")
CLICK_EVERY: Final = 5
_DELIVERY_MS: Final = 300_000
_MASK: Final = 0xFFFFFFFF

SOURCES: Final = """
CREATE STREAM events (usr STRING KEY, seq BIGINT, item STRING, amount INT)
  WITH (kafka_topic = 'events', value_format = 'JSON', partitions = 2);
CREATE STREAM clicks (usr STRING KEY, seq BIGINT, page STRING)
  WITH (kafka_topic = 'clicks', value_format = 'JSON', partitions = 2);
CREATE TABLE users (usr STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic = 'users', value_format = 'JSON', partitions = 2);
"""


class Event(NamedTuple):
    """An event or a click; `at_ms` is the timestamp of its record."""

    seq: int
    usr: str
    item: str
    amount: int
    at_ms: int = 0


def event(seq: int, at_ms: int = 0) -> Event:
    """Return the event of a number."""
    mixed = (seq * 0x9E3779B1 + 0x7F4A7C15) & _MASK
    mixed = (mixed ^ (mixed >> 15)) * 0x85EBCA77 & _MASK
    mixed ^= mixed >> 13
    user, item, amount = mixed % USERS, (mixed >> 8) % len(ITEMS), (mixed >> 12) % 1000
    return Event(seq, f"u{user}", ITEMS[item], amount, at_ms)


def click(seq: int, at_ms: int = 0) -> Event:
    """Return the click of a number: by another user than the event of that number."""
    return event(seq + 1_000_003, at_ms)._replace(seq=seq)


def city_of(usr: str) -> str | None:
    """Return the city of a user; each tenth user is not in the table."""
    number = int(usr[1:])
    return None if number % 10 == 9 else CITIES[number % len(CITIES)]


def partition(usr: str) -> int:
    return partition_of(usr.encode(), PARTITIONS)


class Produced(NamedTuple):
    """All records that the broker has acknowledged, in the order of their numbers."""

    events: list[Event]
    clicks: list[Event]


class Load(threading.Thread):
    """Writes `rate` events/s, and their clicks, until `finish`; each record exactly once.

    Args:
        sent: a shared value for the number of events that were passed to the client so far.

    Attributes:
        error: why it ended early, or None.
    """

    def __init__(self, servers: str, rate: float, sent: Any) -> None:
        super().__init__(name="load", daemon=True)
        self.records = Produced([], [])
        self._sent = sent
        self.error: Exception | None = None
        self._rate = rate
        self._finishing = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": _DELIVERY_MS,
                "log_level": 0,
            }
        )

    def write_users(self) -> None:
        """Write the table, and wait until it is on disk."""
        for number in range(USERS):
            usr = f"u{number}"
            if (city := city_of(usr)) is not None:
                self._send("users", usr, {"CITY": city}, int(time.time() * 1000))
        self._flush()

    def run(self) -> None:
        try:
            self._write()
            self._flush()
        except (KafkaException, RuntimeError) as error:
            self.error = error

    def finish(self) -> Produced:
        """Stop writing, wait for all acknowledgements, and return the records.

        Raises:
            SystemExit: a record was not acknowledged.
        """
        self._finishing.set()
        self.join()
        if self.error is not None:
            raise SystemExit(f"the load failed: {self.error}")
        return self.records

    def _write(self) -> None:
        started, last_ms = time.monotonic(), 0
        while not self._finishing.is_set() and self.error is None:
            due = int((time.monotonic() - started) * self._rate) + 1
            while self._sent.value < due:
                # Timestamps only grow: no record is late.
                last_ms = max(last_ms, time.time_ns() // 1_000_000)
                # Counted first: no answer may contain an event that is not counted yet.
                self._sent.value += 1
                self._send_one(self._sent.value - 1, last_ms)
            self._producer.poll(0)
            time.sleep(max(0.001, started + self._sent.value / self._rate - time.monotonic()))

    def _send_one(self, seq: int, at_ms: int) -> None:
        one = event(seq, at_ms)
        value = {"SEQ": seq, "ITEM": one.item, "AMOUNT": one.amount}
        self._send("events", one.usr, value, at_ms)
        self.records.events.append(one)
        if seq % CLICK_EVERY == 0:
            other = click(seq, at_ms)
            self._send("clicks", other.usr, {"SEQ": seq, "PAGE": other.item}, at_ms)
            self.records.clicks.append(other)

    def _send(self, topic: str, usr: str, value: dict[str, object], at_ms: int) -> None:
        text = json.dumps(value)
        self._producer.produce(
            topic, text, usr, partition(usr), on_delivery=self._delivered, timestamp=at_ms
        )

    def _delivered(self, error: ClientError | None, message: Message) -> None:
        if error is not None and self.error is None:
            self.error = RuntimeError(f"{message.topic()}: {error}")

    def _flush(self) -> None:
        left = self._producer.flush(_DELIVERY_MS / 1000)
        if left and self.error is None:
            self.error = RuntimeError(f"{left} records were not acknowledged")
        if self.error is not None:
            raise self.error


def numbers_by_partition(numbers: Iterable[int]) -> list[list[int]]:
    """Return the numbers of events by the partition that they are in."""
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    for seq in numbers:
        found[partition(event(seq).usr)].append(seq)
    return found
