"""The same keyed records to Apache Kafka and to Duolog, compacted by both: what is left is equal.

Values of one key replace each other, in transactions and outside, committed and aborted, with
tombstones, in all codecs. Fillers with keys of their own follow, so that all of it lies in sealed
segments. Cleaners work when they like: both logs are read again and again until they are equal,
and must then be what the rules say.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import waiting
from conformance.kafka.peer import KafkaPeer
from duolog.runtime.broker_process import BrokerProcess

TOPIC: Final = "compacted"
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
WAIT_S: Final = 600.0
FILLER: Final = bytes(10_000)
CONFIG: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1024 * 1024),
    "min.cleanable.dirty.ratio": "0.01",
}
CLEANER: Final = {"log.cleaner.backoff.ms": "200"}


class Left(NamedTuple):
    """A record that compaction kept."""

    offset: int
    key: bytes | None
    value: bytes | None


class Broker:
    """One of the two brokers, with writes to it and reads from it."""

    def __init__(self, address: str, config: dict[str, str]) -> None:
        self._address: dict[str, str | int | float | bool] = {"bootstrap.servers": address}
        admin = AdminClient(self._address)
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=config)])[TOPIC].result(30)

    def write(self, seed: int) -> int:
        """Write random records from a seed; return the offset after those compared."""
        chance = Random(seed)  # noqa: S311 - test data
        for number in range(30):
            codec = CODECS[number % len(CODECS)]
            outcome = ("plain", "commit", "abort")[number % 3]
            self._batch(chance, codec, outcome, f"t{number % 2}")
        end = self._end()
        self.fill(number=0)
        return end

    def _batch(self, chance: Random, codec: str, outcome: str, name: str) -> None:
        options = self._address | {"compression.type": codec, "linger.ms": 20}
        if outcome != "plain":
            options |= {"transactional.id": name}
        producer = Producer(options)
        if outcome != "plain":
            producer.init_transactions(30)
            producer.begin_transaction()
        for _ in range(chance.randint(1, 40)):
            value = None if chance.random() < 0.2 else chance.randbytes(chance.randint(0, 2000))
            producer.produce(TOPIC, value, b"key-%d" % chance.randrange(60))
        assert producer.flush(30) == 0
        if outcome == "commit":
            producer.commit_transaction(30)
        elif outcome == "abort":
            producer.abort_transaction(30)

    def fill(self, *, number: int) -> None:
        """Write three segments of records with unique keys."""
        producer = Producer(self._address | {"linger.ms": 5})
        for index in range(320):
            producer.produce(TOPIC, FILLER, b"filler-%d-%d" % (number, index))
        assert producer.flush(30) == 0

    def _end(self) -> int:
        """Return the end offset once the markers of all transactions are written."""
        waiting.wait_until(
            lambda: self._offset("read_committed") == self._offset("read_uncommitted"),
            "a transaction does not end",
            WAIT_S,
        )
        return self._offset("read_committed")

    def _offset(self, isolation: str) -> int:
        options = {"group.id": "verifier", "isolation.level": isolation}
        consumer = Consumer(self._address | options)
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
        consumer.close()
        return int(end)

    def left(self, below: int) -> list[Left]:
        """Return the remaining records below an offset, aborted ones included."""
        options = {"group.id": "verifier", "isolation.level": "read_uncommitted"}
        consumer = Consumer(self._address | options)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: list[Left] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, "nothing comes"
            assert message.error() is None, message.error()
            offset = message.offset()
            assert offset is not None
            if offset >= below:  # Fillers always follow.
                consumer.close()
                return found
            found.append(Left(offset, message.key(), message.value()))


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the addresses of Kafka and of Duolog, with cleaners that run often."""
    directory = tmp_path_factory.mktemp("compaction")
    with ExitStack() as stack:
        settings = CLEANER | {"log.cleaner.enable": "true"}
        kafka = stack.enter_context(KafkaPeer(directory / "kafka", settings=settings))
        duolog = stack.enter_context(BrokerProcess(directory / "duolog", settings=CLEANER))
        yield kafka.bootstrap_servers, duolog.bootstrap_servers


def both(addresses: tuple[str, str], retention_ms: int) -> tuple[Broker, Broker]:
    config = CONFIG | {"delete.retention.ms": str(retention_ms)}
    kafka, duolog = addresses
    return Broker(kafka, config), Broker(duolog, config)


def test_both_brokers_compact_to_the_same_records_and_remove_tombstones(
    addresses: tuple[str, str],
) -> None:
    kafka, duolog = both(addresses, 500)
    end = kafka.write(seed=11)
    assert duolog.write(seed=11) == end

    until = time.monotonic() + WAIT_S
    left: list[Left] = []
    number = 1
    while True:
        left, expected = duolog.left(end), kafka.left(end)
        last = {record.key: record for record in expected}
        # Tombstones are removed at the earliest by the second run after the delete horizon.
        done = all(record.value is not None for record in expected) and len(last) == len(expected)
        if done and left == expected:
            break
        assert time.monotonic() < until, (len(left), len(expected), set(left) ^ set(expected))
        time.sleep(0.5)
        if number < 60:
            kafka.fill(number=number)
            duolog.fill(number=number)
            number += 1

    assert len({record.key for record in left}) == len(left) > 5
