"""The topics of a cluster: list, describe, create, change and delete them.

Threads: any.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeVar

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

from duolog.core.errors import ConfigError, KafkaError
from duolog.runtime.administration.wire import Wire
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.browsing.log import no_topic
from duolog.runtime.renewed_admin import RenewedAdmin
from duolog.runtime.topics import client_error
from duolog.security.clients.brokers import Brokers

_REQUEST_S: Final = 15.0
_DESCRIBE_LOG_DIRS: Final = (35, 2)
_SOURCES: Final[dict[object, str]] = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
    ConfigSource.DEFAULT_CONFIG.value: "default",
}
T = TypeVar("T")


class Replicas(NamedTuple):
    """One partition.

    Attributes:
        leader: id of a broker; -1 without one.
    """

    number: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class Figures(NamedTuple):
    """Figures of one topic; None for what is not known.

    Attributes:
        records: offsets from the beginning to the end, with markers and gaps.
        last_ms: the highest time of a record.
    """

    records: int | None
    last_ms: int | None


class Config(NamedTuple):
    """A setting of a topic.

    Attributes:
        source: `topic`, `broker` or `default`.
    """

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool


class ClusterTopics:
    """The topics of a cluster.

    Raises:
        BrokerUnavailable: no broker answers.
    """

    def __init__(self, brokers: Brokers) -> None:
        ensure_reachable(brokers)
        self._brokers = brokers
        self._admin = RenewedAdmin(brokers)

    def names(self) -> dict[str, tuple[Replicas, ...]]:
        """Return all topics with their partitions.

        Raises:
            KafkaError: the broker does not answer.
        """
        found = self._ask(
            "list the topics", lambda admin: admin.list_topics(timeout=_REQUEST_S).topics
        )
        return {name: _replicas(one) for name, one in found.items()}

    def partitions(self, topic: str) -> tuple[Replicas, ...]:
        """Return the partitions of a topic; raises KafkaError if it does not exist."""
        found = self.names()
        if topic not in found:
            raise no_topic(topic)
        return found[topic]

    def figures(self, topics: Mapping[str, Iterable[Replicas]]) -> dict[str, Figures]:
        """Return figures of topics; those that cannot be read are not known."""
        places = [
            (name, one.number) for name, parts in topics.items() for one in parts if one.leader >= 0
        ]
        low = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        high = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        last = self._offsets(places, OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
        found = {}
        for name in topics:
            mine = [place for place in places if place[0] == name]
            known = bool(mine) and all(place in low and place in high for place in mine)
            times = [last[place][1] for place in mine if place in last]
            newest = max(times, default=-1)
            found[name] = Figures(
                sum(high[place][0] - low[place][0] for place in mine) if known else None,
                newest if newest >= 0 else None,
            )
        return found

    def sizes(self, topics: Mapping[str, Iterable[Replicas]]) -> dict[str, int]:
        """Return the bytes of topics on the disk of a cluster's only broker; else none are known.

        Each broker knows its own replicas only, and a client may not reach all brokers.
        """
        holders = {one.replicas for parts in topics.values() for one in parts}
        if len(holders) != 1 or len(next(iter(holders))) != 1:
            return {}
        asked = [
            {"topic": name, "partitions": [one.number for one in parts]}
            for name, parts in topics.items()
        ]
        try:
            with Wire(self._brokers) as wire:
                answer = wire.ask(*_DESCRIBE_LOG_DIRS, topics=asked)
        except (KafkaError, ConfigError):
            return {}
        found: dict[str, int] = {}
        for directory in answer.results:
            for topic in directory.topics:
                size = sum(one.partition_size for one in topic.partitions)
                found[topic.name] = found.get(topic.name, 0) + size
        return found

    def spans(self, topic: str, parts: Iterable[Replicas]) -> dict[int, tuple[int, int]]:
        """Return the first offset and the end of each partition with a leader."""
        places = [(topic, one.number) for one in parts if one.leader >= 0]
        low = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        high = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {
            place[1]: (low[place][0], high[place][0])
            for place in places
            if place in low and place in high
        }

    def configs(self, topics: Iterable[str]) -> dict[str, list[Config]]:
        """Return the settings of topics, by name; topics that cannot be read are left out."""
        asked = {name: ConfigResource(ResourceType.TOPIC, name) for name in topics}
        if not asked:
            return {}

        def ask(admin: AdminClient) -> dict[str, list[Config]]:
            futures = admin.describe_configs(list(asked.values()), request_timeout=_REQUEST_S)
            found = {}
            for resource, future in futures.items():
                try:
                    entries = future.result(_REQUEST_S)
                except (KafkaException, TimeoutError):
                    continue
                found[resource.name] = [_config(one) for _, one in sorted(entries.items())]
            return found

        return self._ask("read the settings of topics", ask)

    def create(self, topic: str, partitions: int, replication: int, config: dict[str, str]) -> None:
        """Create a topic; `replication` -1 is the cluster's default.

        Raises:
            KafkaError: it exists, or the broker refuses.
        """
        doing = f'create topic "{topic}"'
        try:
            wanted = NewTopic(topic, partitions, replication, config=config)
            futures = self._admin.client.create_topics([wanted], request_timeout=_REQUEST_S)
        except ValueError as error:
            raise KafkaError(f"could not {doing}", code=_INVALID, detail=str(error)) from error
        self._wait(doing, futures.values())

    def delete(self, topic: str) -> None:
        """Delete a topic; raises KafkaError if the broker refuses."""
        self.partitions(topic)
        futures = self._admin.client.delete_topics([topic], request_timeout=_REQUEST_S)
        self._wait(f'delete topic "{topic}"', futures.values())

    def alter(self, topic: str, changes: Mapping[str, str | None], *, dry_run: bool) -> None:
        """Change settings of a topic; None reverts one to the broker's value.

        Raises:
            KafkaError: the broker refuses.
        """
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=(
                    AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
                ),
            )
            for name, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        futures = self._admin.client.incremental_alter_configs(
            [resource], validate_only=dry_run, request_timeout=_REQUEST_S
        )
        self._wait(f'change settings of topic "{topic}"', futures.values())

    def add_partitions(self, topic: str, partitions: int, *, dry_run: bool) -> None:
        """Set a higher number of partitions; raises KafkaError if the broker refuses."""
        futures = self._admin.client.create_partitions(
            [NewPartitions(topic, partitions)], validate_only=dry_run, request_timeout=_REQUEST_S
        )
        self._wait(f'add partitions to topic "{topic}"', futures.values())

    def _offsets(
        self, places: list[tuple[str, int]], spec: OffsetSpec
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and time by place, of those that can be read."""
        if not places:
            return {}

        def ask(admin: AdminClient) -> dict[tuple[str, int], tuple[int, int]]:
            asked = {TopicPartition(*place): spec for place in places}
            found = {}
            for at, one in admin.list_offsets(asked, request_timeout=_REQUEST_S).items():
                try:
                    result = one.result(_REQUEST_S)
                except (KafkaException, TimeoutError):
                    continue
                found[at.topic, at.partition] = (result.offset, result.timestamp)
            return found

        return self._ask("read offsets", ask)

    def _ask(self, doing: str, question: Callable[[AdminClient], T]) -> T:
        try:
            return self._admin.ask(question)
        except (KafkaException, TimeoutError) as error:
            raise _refused(doing, error) from error

    @staticmethod
    def _wait(doing: str, futures: Iterable[Future[None]]) -> None:
        try:
            for one in futures:
                one.result(_REQUEST_S)
        except (KafkaException, TimeoutError) as error:
            raise _refused(doing, error) from error


_INVALID: Final = 42


def _refused(doing: str, error: KafkaException | TimeoutError) -> KafkaError:
    found = client_error(error)
    return KafkaError(
        f"could not {doing}",
        code=found.code(),
        retriable=bool(found.retriable()),
        detail=f"{found.name()}: {found.str()}",
    )


def _replicas(topic: TopicMetadata) -> tuple[Replicas, ...]:
    return tuple(
        Replicas(number, one.leader, tuple(one.replicas), tuple(one.isrs))
        for number, one in sorted(topic.partitions.items())
    )


def _config(entry: ConfigEntry) -> Config:
    return Config(
        entry.name,
        None if entry.is_sensitive else entry.value,
        _SOURCES.get(entry.source, "broker"),
        bool(entry.is_read_only),
        bool(entry.is_sensitive),
    )
