"""The topics of a case: their records in order."""

from collections import defaultdict
from dataclasses import dataclass, field

from duolog.testing.reference import SinkRecord, SourceRecord


@dataclass
class Topics:
    """Records by topic; offsets start from 0."""

    written: dict[str, list[SourceRecord]] = field(default_factory=lambda: defaultdict(list))

    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> SourceRecord:
        offset = len(self.written[topic])
        record = SourceRecord(topic, 0, offset, timestamp, key, value, headers)
        self.written[topic].append(record)
        return record

    def take(self, out: SinkRecord) -> None:
        self.write(out.topic, out.key, out.value, out.timestamp_ms, out.headers)
