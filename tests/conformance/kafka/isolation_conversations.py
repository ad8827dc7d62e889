"""Conversations about isolation levels and about offsets by timestamp."""

import time
from collections.abc import Callable
from typing import Any

import waiting
from conformance.kafka.transaction_conversations import Producer
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import (
    FETCH,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    PRODUCE,
    batch,
    changed,
    create_and_wait,
    new_topic,
    plain,
)
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Compression, Record, encode_batch, whole_batches

FIND_COORDINATOR, WRITE_TXN_MARKERS, DESCRIBE_PRODUCERS = 10, 27, 61


class Reader:
    """Reads one partition, and knows producers by name."""

    def __init__(self, client: WireClient, topic: str, *producers: Producer) -> None:
        self.client = client
        self.topic = topic
        self.producers = producers

    def named(self, producer_id: int) -> str:
        names = [producer.name for producer in self.producers if producer.id == producer_id]
        return names[0] if names else "another"

    def fetch(
        self, offset: int, *, isolation: int, version: int = 12, max_bytes: int = 1 << 20
    ) -> Any:
        """Return code, high watermark, last stable offset, log start, aborted ones, batches."""
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes}
        (row,) = self.client.ask(
            FETCH, version, replica_id=-1, max_wait=50, min_bytes=1, max_bytes=1 << 20,
            isolation_level=isolation, session_id=0, session_epoch=-1, forgotten_topics_data=(),
            topics=[{"topic": self.topic, "partitions": [partition]}],
        ).responses[0].partitions  # fmt: skip
        aborted = row.aborted_transactions
        if aborted is not None:
            aborted = [(self.named(item.producer_id), item.first_offset) for item in aborted]
        batches = [
            (header.base_offset, header.transactional, header.control)
            for header, _ in whole_batches(row.records or b"")
        ]
        log_start = getattr(row, "log_start_offset", None)
        return (
            row.error_code,
            row.high_watermark,
            row.last_stable_offset,
            log_start,
            aborted,
            batches,
        )

    def find(self, timestamp: int, *, isolation: int, version: int = 10) -> Any:
        asked = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
        topics = [{"name": self.topic, "partitions": [asked]}]
        answer = self.client.ask(
            LIST_OFFSETS, version, replica_id=-1, isolation_level=isolation, topics=topics
        )
        return plain(answer.topics[0].partitions[0])

    def seen(self) -> Any:
        """Return the records from offset 0 and the end offset, for both isolation levels."""
        return [
            (
                self.fetch(0, isolation=level),
                [self.find(place, isolation=level)["offset"] for place in (-1, -2, -4, -5)],
            )
            for level in (0, 1)
        ]

    def settled(self, stable: int) -> None:
        """Wait for the last stable offset: Kafka writes markers after it has answered."""
        until(lambda: self.find(-1, isolation=1)["offset"] == stable)


def begin(producer: Producer, *topics: str) -> None:
    """Register the producer and add partition 0 of each topic to its transaction."""
    # Kafka creates the transaction topic when a client looks for a coordinator.
    producer.client.ask(FIND_COORDINATOR, 4, key_type=1, coordinator_keys=[producer.name])
    code, _, epoch = producer.init()
    assert (code, epoch) == (0, 0), producer.name
    for topic in topics:
        assert producer.add(topic, 0) == [0], topic


def until(reached: Callable[[], bool]) -> None:
    waiting.wait_until(reached, "the markers do not come")


def put(client: WireClient, topic: str, data: bytes, **more: Any) -> Any:
    rows = [{"index": 0, "records": data}]
    fields = {"acks": -1, "timeout": 5000, **more}
    version = fields.pop("version", 9)
    data_rows = [{"name": topic, "partition_data": rows}]
    row: Any = None

    def answered() -> bool:
        """Return false if Kafka asks to try again: its coordinator has not closed the transaction.

        Brokers of one replica have no other reason for this error. The markers are in the log
        before the coordinator notes that they are (`ReplicaManager`, KIP-890).
        """
        nonlocal row
        answer = client.ask(PRODUCE, version, **fields, topic_data=data_rows)
        (row,) = answer.responses[0].partition_responses
        return bool(row.error_code != ErrorCode.NOT_ENOUGH_REPLICAS)

    waiting.wait_until(answered, "Kafka's coordinator does not close the transaction")
    return row.error_code, row.base_offset


def isolation_levels(client: WireClient) -> Any:
    create_and_wait(client, new_topic("levels"))
    first, second = Producer(client, "levels-first"), Producer(client, "levels-second")
    reader = Reader(client, "levels", first, second)
    for producer in (first, second):
        begin(producer, "levels")
    put(client, "levels", batch(b"a", b"b"))
    for producer in (first, second, first):
        assert producer.write("levels", 9) == 0
    put(client, "levels", batch(b"c"))
    found = [reader.seen(), [reader.fetch(offset, isolation=1) for offset in (1, 2, 4, 6)]]
    first.end(3, commit=False)
    until(lambda: reader.find(-1, isolation=0)["offset"] == 7)
    found.append(reader.seen())
    second.end(3, commit=True)
    reader.settled(8)
    found.append(reader.seen())
    found += [
        [reader.fetch(offset, isolation=1) for offset in range(9)],
        [reader.fetch(0, isolation=level, version=v) for level in (0, 1) for v in range(4, 13)],
    ]
    first.add("levels", 0)
    first.write("levels", 9)
    first.end(3, commit=True)
    reader.settled(10)
    found.append(reader.seen())
    return found


def batches_of_transactions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("parts"), new_topic("parts_other"))
    producer, other = Producer(client, "parts-one"), Producer(client, "parts-other")
    begin(producer, "parts")
    begin(other)

    def data(*values: bytes, **more: Any) -> bytes:
        fields: dict[str, Any] = {
            "producer_id": producer.id,
            "producer_epoch": producer.epoch,
            "base_sequence": 0,
            "transactional": True,
            **more,
        }
        return batch(*values, **fields)

    named = {"transactional_id": "parts-one"}
    found = [
        put(client, "parts", data(), transactional_id=None),
        put(client, "parts", data(), transactional_id="parts-nobody"),
        put(client, "parts", changed(data(), ">h", 21, 0x30), **named),
        put(client, "parts", data(base_sequence=-1), **named),
        put(client, "parts", data(producer_id=-1, producer_epoch=-1, base_sequence=-1), **named),
        put(client, "parts", data(producer_id=-1, producer_epoch=-1, base_sequence=-1)),
        put(client, "parts", data(producer_id=producer.id + 1000), **named),
        put(client, "parts", data(producer_epoch=producer.epoch + 1), **named),
        *(put(client, "parts_other", data(), **named, version=v) for v in (3, 9, 10, 11)),
        put(client, "parts", data(b"a", b"b"), **named),
        put(client, "parts", data(b"a", b"b"), **named),
        put(client, "parts", data(base_sequence=2, transactional=False)),
        put(client, "parts", data(base_sequence=5), **named),
        put(client, "parts", batch()),
    ]
    producer.end(3, commit=True)
    Reader(client, "parts").settled(5)
    found += [
        put(client, "parts", data(base_sequence=2, transactional=False)),
        put(client, "parts", data(base_sequence=3), **named),
    ]
    return found


def markers(client: WireClient) -> Any:
    create_and_wait(client, new_topic("ended", retention_ms="-1"))  # Its records are of 1970.
    producer = Producer(client, "ended-one")
    begin(producer, "ended")
    for _ in range(2):
        producer.write("ended", 9)
    idempotent = client.ask(
        INIT_PRODUCER_ID,
        4,
        transactional_id=None,
        transaction_timeout=1000,
        producer_id=-1,
        producer_epoch=-1,
    ).producer_id
    more: dict[str, Any] = {
        "producer_id": idempotent,
        "producer_epoch": 0,
        "base_sequence": 7,
    }
    put(client, "ended", batch(b"a", b"b", at=1000, **more))
    reader = Reader(client, "ended", producer)

    def described(topic: str = "ended", partition: int = 0) -> Any:
        topics = [{"name": topic, "partition_indexes": [partition]}]
        (row,) = client.ask(DESCRIBE_PRODUCERS, 0, topics=topics).topics[0].partitions
        producers = sorted(
            (
                reader.named(p.producer_id),
                p.producer_epoch,
                p.last_sequence,
                p.coordinator_epoch >= 0,
                p.current_txn_start_offset,
            )
            for p in row.active_producers
        )
        return row.partition_index, row.error_code, producers

    def mark(*, commit: bool = False, epoch: int = 0, coordinator: int = 0, **changes: Any) -> Any:
        marker = {
            "producer_id": producer.id,
            "producer_epoch": epoch,
            "transaction_result": commit,
            "coordinator_epoch": coordinator,
            "topics": [{"name": "ended", "partition_indexes": [0]}],
            **changes,
        }
        answer = client.ask(WRITE_TXN_MARKERS, 1, markers=[marker])
        return [
            (topic.name, partition.partition_index, partition.error_code)
            for item in answer.markers
            for topic in item.topics
            for partition in topic.partitions
        ]

    return (
        [described(), described("nope"), described("a/b"), described(partition=4)],
        [mark(topics=[]), mark(topics=[{"name": "nope", "partition_indexes": [0]}])],
        reader.seen(),
        [mark(), reader.seen(), described()],
        [
            mark(coordinator=5, commit=True),
            mark(coordinator=4),
            mark(epoch=1, coordinator=5),
            mark(coordinator=5),
            described(),
        ],
        client.ask(WRITE_TXN_MARKERS, 1, markers=[]).markers,
    )


def times_inside_batches(client: WireClient) -> Any:
    create_and_wait(
        client,
        *(new_topic(f"instant_{codec.name.lower()}") for codec in Compression),
        new_topic("instant_log", message_timestamp_type="LogAppendTime"),
        new_topic("instant_many", segment_bytes=str(1 << 20)),
    )

    base = round(time.time() * 1000) - 100_000  # Retention deletes records with old timestamps.

    def timed(codec: Compression, *times: int) -> bytes:
        records = [Record(0, base + at, b"k", b"v" * 50) for at in times]
        return bytes(encode_batch(records, compression=codec))

    def find(topic: str, at: int, isolation: int = 0) -> Any:
        row = Reader(client, topic).find(at if at < 0 else base + at, isolation=isolation)
        after = row["timestamp"] - base if row["offset"] >= 0 else row["timestamp"]
        return row["error_code"], row["offset"], after

    found: list[Any] = []
    for codec in Compression:
        topic = f"instant_{codec.name.lower()}"
        found += [
            put(client, topic, timed(codec, *times))
            for times in ((1000, 3000, 2000), (2500, 2600), (3000, 5000, 5000, 4000))
        ]
        found += [
            find(topic, at, isolation)
            for at in (0, 1000, 1001, 2000, 2550, 3000, 3001, 4500, 5000, 5001, -3)
            for isolation in (0, 1)
        ]
    for first in range(0, 200, 4):
        found.append(
            put(client, "instant_many", timed(Compression.LZ4, *range(1000 + first, 1004 + first)))
        )
    found += [find("instant_many", at)[:2] for at in range(998, 1203, 3)]
    found.append(put(client, "instant_log", timed(Compression.NONE, 1000, 2000)))
    found += [find("instant_log", at)[:2] for at in (0, 1500, -3)]
    return found


CONVERSATIONS = [isolation_levels, batches_of_transactions, markers, times_inside_batches]
