"""The topics of a case: their records in order."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from duolog.testing.reference import SinkRecord, SourceRecord


def first(_topic: str, _key: bytes | None) -> int:
    """Return the only partition of a topic in Kafka Streams' TopologyTestDriver."""
    return 0


@dataclass
class Topics:
    """Records by topic; offsets of a partition start from 0.

    `partition` returns the partition of a record by its topic and key.
    """

    written: dict[str, list[SourceRecord]] = field(default_factory=lambda: defaultdict(list))
    partition: Callable[[str, bytes | None], int] = first
    _ends: Counter[tuple[str, int]] = field(default_factory=Counter)

    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> SourceRecord:
        partition = self.partition(topic, key)
        offset = self._ends[topic, partition]
        self._ends[topic, partition] += 1
        record = SourceRecord(topic, partition, offset, timestamp, key, value, headers)
        self.written[topic].append(record)
        return record

    def take(self, out: SinkRecord) -> None:
        self.write(out.topic, out.key, out.value, out.timestamp_ms, out.headers)
