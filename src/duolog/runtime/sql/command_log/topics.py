"""List, create and delete topics for statements."""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.renewed_admin import RenewedAdmin
from duolog.runtime.topics import client_error, create, metadata, partition_counts
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0


class Topics:
    """Client of one broker. Threads: any."""

    def __init__(self, bootstrap: Brokers | str) -> None:
        self._bootstrap = bootstrap
        self._opened: RenewedAdmin | None = None

    def partitions(self) -> dict[str, int]:
        """Return all topics with their numbers of partitions.

        Raises:
            BrokerUnavailable: no broker answers.
        """
        return partition_counts(self._admin, self._bootstrap)

    def replicas(self) -> dict[str, list[int]]:
        """Return the number of replicas of each partition, by topic; raises as `partitions`."""
        found = metadata(self._admin, self._bootstrap)
        return {
            name: [len(one.replicas) for _, one in sorted(topic.partitions.items())]
            for name, topic in found.items()
        }

    def create(
        self, name: str, partitions: int, replicas: int | None, config: Mapping[str, str]
    ) -> None:
        """Create a topic.

        Raises:
            KafkaError: the broker refuses it.
        """
        wanted = (
            NewTopic(name, partitions, config=dict(config))
            if replicas is None
            else NewTopic(name, partitions, replication_factor=replicas, config=dict(config))
        )
        create(self._admin, [wanted])

    def delete(self, name: str) -> None:
        """Delete a topic, if it exists.

        Raises:
            KafkaError: the broker refuses.
        """
        try:
            self._admin.delete_topics([name])[name].result(_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            refusal = client_error(error)
            if refusal.code() != refusal.UNKNOWN_TOPIC_OR_PART:
                raise KafkaError(
                    f'could not delete topic "{name}"', code=refusal.code(), detail=refusal.str()
                ) from error

    def ends(self, topics: Iterable[str], counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
        """Return the log end offsets of existing topics, by topic and partition.

        Raises:
            KafkaError: the broker does not answer.
        """
        asked = {
            TopicPartition(topic, number): OffsetSpec.latest()  # type: ignore[no-untyped-call]
            for topic in topics
            for number in range(counts.get(topic, 0))
        }
        if not asked:
            return {}

        def listed(admin: AdminClient) -> dict[str, dict[int, int]]:
            found: dict[str, dict[int, int]] = {}
            for at, answer in admin.list_offsets(asked, request_timeout=_TIMEOUT_S).items():
                found.setdefault(at.topic, {})[at.partition] = answer.result(_TIMEOUT_S).offset
            return found

        try:
            return self._renewed.ask(listed)
        except (KafkaException, TimeoutError) as error:
            refusal = client_error(error)
            raise KafkaError(
                "cannot read the end offsets of topics", code=refusal.code(), detail=refusal.str()
            ) from error

    def spans(self, topics: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Return the numbers of offsets before, and up to the end of, topics: of all partitions.

        Topics that do not exist, or whose offsets the broker refuses, are missing.

        Raises:
            KafkaError: the broker does not answer.
        """
        counts = self.partitions()
        asked = [
            TopicPartition(topic, number)
            for topic in sorted(set(topics))
            for number in range(counts.get(topic, 0))
        ]
        found: list[dict[str, int]] = []
        refused: set[str] = set()
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
            sums: dict[str, int] = dict.fromkeys((at.topic for at in asked), 0)
            wanted = {at: spec for at in asked if at.topic not in refused}
            answers = self._admin.list_offsets(wanted, request_timeout=_TIMEOUT_S) if wanted else {}
            for at, answer in answers.items():
                try:
                    sums[at.topic] += answer.result(_TIMEOUT_S).offset
                except (KafkaException, TimeoutError):
                    refused.add(at.topic)
            found.append(sums)
        first, last = found
        return {name: (first[name], end) for name, end in last.items() if name not in refused}

    @property
    def _admin(self) -> AdminClient:
        return self._renewed.client

    @property
    def _renewed(self) -> RenewedAdmin:
        if self._opened is None:
            # The client itself would retry for as long as a request may take.
            ensure_reachable(self._bootstrap)
            self._opened = RenewedAdmin(Brokers.of(self._bootstrap))
        return self._opened
