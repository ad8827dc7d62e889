"""`__consumer_offsets`: where the records of groups lie, and how they come back at a start.

A group's records lie in the partition that Kafka's hash gives it. The topic is made with the first
record. Offsets of a transaction are transactional batches, decided by a later marker.

Durable records are applied in log order, which can take several rounds. The end of a transaction
with offsets is answered when the offsets are visible, not when its markers are on disk.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.coordinator.decoding import decode_record
from duolog.coordinator.messages import OffsetsTransaction, Producer
from duolog.coordinator.records import CoordinatorRecord
from duolog.core.units import KIB, MIB
from duolog.record.control import decode_marker
from duolog.record.records import BatchProducer, Record, decode_records, encode_batch

if TYPE_CHECKING:
    from duolog.broker.groups.needs import Broker

OFFSETS_TOPIC: Final = "__consumer_offsets"
OFFSETS_TOPIC_CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 * MIB),
}

_BATCH_BYTES_USUAL: Final = 256 * KIB


def partition_of(group_id: str, partitions: int) -> int:
    """Return the partition that holds a group: Java's hash of the id, as in Kafka.

    Example:
        >>> partition_of("hello", 50)  # "hello".hashCode() is 99162322
        22
    """
    code = 0
    data = group_id.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    # Kafka's Utils.abs: the smallest int has no positive twin and becomes 0.
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


class Marker(NamedTuple):
    """The end of a transaction that had offsets in a partition."""

    transaction: OffsetsTransaction
    committed: bool


class Replayed(NamedTuple):
    """A record as the log brings it back, with the transaction that it is part of."""

    record: CoordinatorRecord
    transaction: OffsetsTransaction | None


class OffsetsTopic:
    """The topic of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def partition_of(self, group_id: str) -> int:
        """Return the partition that holds a group; the topic is made if it is not there."""
        return partition_of(group_id, self._ensure_partitions())

    def by_partition(
        self, records: Iterable[CoordinatorRecord]
    ) -> dict[int, list[CoordinatorRecord]]:
        """Return the records in the partitions that they belong to; the topic is made."""
        count = self._ensure_partitions()
        found: dict[int, list[CoordinatorRecord]] = defaultdict(list)
        partitions: dict[str, int] = {}
        for record in records:
            group_id = record.group_id
            if group_id not in partitions:
                partitions[group_id] = partition_of(group_id, count)
            found[partitions[group_id]].append(record)
        return found

    def append(
        self,
        partition: int,
        records: Iterable[CoordinatorRecord],
        producer: Producer | None,
        on_durable: Callable[[Exception | None], None],
    ) -> None:
        """Append one batch; `on_durable` is called with None when it is on the disk.

        Raises:
            KafkaError: the batch is refused.
        """
        now_ms = self._broker.clock.now_ms()
        rows = (Record(0, now_ms, item.encode_key(), item.encode_value()) for item in records)
        sent_by = (
            BatchProducer(producer.producer_id, producer.producer_epoch, transactional=True)
            if producer
            else BatchProducer()
        )
        batch = encode_batch(rows, producer=sent_by)
        self._broker.append_internal(OFFSETS_TOPIC, partition, batch, on_durable)

    def replayed(self) -> Iterator[Replayed | Marker | None]:
        """Yield what the log holds in its order, None for what is not kept here."""
        topic = self._broker.topics.get(OFFSETS_TOPIC)
        for partition in range(len(topic.partitions)) if topic else ():
            for header, batch in self._broker.replay_batches(OFFSETS_TOPIC, partition):
                transaction = (partition, header.producer_id) if header.transactional else None
                if header.control:
                    marker = decode_marker(batch)
                    yield Marker(transaction, marker.commit) if transaction and marker else None
                    continue
                for record in decode_records(batch):
                    kept = record.key and decode_record(record.key, record.value)
                    yield Replayed(kept, transaction) if kept else None

    def _ensure_partitions(self) -> int:
        topics = self._broker.topics
        if OFFSETS_TOPIC not in topics:
            count = self._broker.settings.integer("offsets.topic.num.partitions")
            self._broker.create_topic(OFFSETS_TOPIC, count, dict(OFFSETS_TOPIC_CONFIGS))
        return len(topics.find(OFFSETS_TOPIC).partitions)


def batches(records: Iterable[CoordinatorRecord]) -> Iterator[list[CoordinatorRecord]]:
    """Yield the records in lists that fit a batch, but for a record that does not fit alone."""
    batch: list[CoordinatorRecord] = []
    size_bytes = 0
    for record in records:
        record_bytes = len(record.encode_key()) + len(record.encode_value() or b"")
        if batch and size_bytes + record_bytes > _BATCH_BYTES_USUAL:
            yield batch
            batch, size_bytes = [], 0
        batch.append(record)
        size_bytes += record_bytes
    yield batch
