"""What a broker says about topics: how many partitions, and where they end.

Asked through a Kafka client, so that any broker answers. The engine asks at a start and for the lag,
not on a hot path.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.engine.errors import BrokerUnreachable, SourceTopicMissing

TIMEOUT_S: Final = 15.0
# Where the answer is only shown, nobody waits long for it.
_GLANCE_S: Final = 3.0

EndOffsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> the offset that the next record gets."""


class TopicReader:
    """Answers about the topics of one broker. Threads: any."""

    def __init__(self, bootstrap_servers: str, client_options: Mapping[str, str]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._options = dict(client_options)
        self._opened: AdminClient | None = None

    def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of each topic.

        Raises:
            SourceTopicMissing: a topic does not exist.
            BrokerUnreachable: no broker answers.
        """
        wanted = list(topics)
        found = self._list_partitions(TIMEOUT_S)
        missing = sorted(set(wanted) - set(found))
        if missing:
            names = ", ".join(f'"{name}"' for name in missing)
            raise SourceTopicMissing(
                f"source topic {names} does not exist",
                detail=f"The broker at {self._bootstrap_servers} has {len(found)} topics.",
                hint=f"Create it: `duolog topics create {missing[0]}`.",
            )
        return {topic: found[topic] for topic in wanted}

    def known_partition_counts(self, topics: Iterable[str]) -> dict[str, int] | None:
        """Return the partitions of those topics that exist; None where no broker answers soon."""
        try:
            found = self._list_partitions(_GLANCE_S)
        except BrokerUnreachable:
            return None
        return {topic: found[topic] for topic in topics if topic in found}

    def end_offsets(self, partition_counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
        """Return where each partition ends: the offset of the next record."""
        asked = {
            TopicPartition(topic, partition): OffsetSpec.latest()  # type: ignore[no-untyped-call]
            for topic, count in partition_counts.items()
            for partition in range(count)
        }
        ends: dict[str, dict[int, int]] = {topic: {} for topic in partition_counts}
        answers = self._client().list_offsets(asked, request_timeout=TIMEOUT_S)
        for topic_partition, answer in answers.items():
            ends[topic_partition.topic][topic_partition.partition] = answer.result(TIMEOUT_S).offset
        return ends

    def _list_partitions(self, timeout_s: float) -> dict[str, int]:
        try:
            metadata = self._client().list_topics(timeout=timeout_s)
        except KafkaException as error:
            raise BrokerUnreachable(
                f"no broker answers at {self._bootstrap_servers}",
                detail=f"{error.args[0].str()}." if error.args else "",
                hint="Start one: `duolog broker --data DIR`.",
            ) from error
        return {name: len(topic.partitions) for name, topic in metadata.topics.items()}

    def _client(self) -> AdminClient:
        # Kept: the answers of a client that is gone never come.
        if self._opened is None:
            options: dict[str, str | int | float | bool] = {**self._options}
            options |= {"bootstrap.servers": self._bootstrap_servers, "log_level": 0}
            self._opened = AdminClient(options)
        return self._opened
