"""A Kafka cluster as a test describes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from duolog.core.errors import KafkaError
from duolog.runtime.impact.records import StoredRecord


@dataclass
class FakeCluster:
    """Topics with one partition each."""

    records: dict[str, list[StoredRecord]] = field(default_factory=dict)
    more_topics: tuple[str, ...] = ()
    configs_of: dict[str, dict[str, str]] = field(default_factory=dict)
    committed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Topics by consumer group."""
    away: bool = False

    def topics(self) -> Mapping[str, int]:
        if self.away:
            raise KafkaError("no broker answers", code=-195)
        return dict.fromkeys([*self.records, *self.more_topics], 1)

    def configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return {topic: self.configs_of.get(topic, {}) for topic in topics}

    def groups(self, topics: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        read = {
            group: tuple(sorted(set(committed) & set(topics)))
            for group, committed in self.committed.items()
        }
        return {group: found for group, found in read.items() if found}

    def last_records(self, topic: str, count: int) -> list[StoredRecord]:
        return self.records.get(topic, [])[-count:] if count else []
