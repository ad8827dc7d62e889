"""One side of a mirror: answers the admin client's requests from a table of topics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar, cast

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST

CLUSTER: Final = Cluster("127.0.0.1:1", {})
UNKNOWN_TOPIC: Final = 3

T = TypeVar("T")


class Log(NamedTuple):
    """The offsets of a partition; no open transaction by default."""

    start: int
    stable: int
    end: int = -1


@dataclass
class Topic:
    """A topic with the logs of its partitions and its settings, each with its source."""

    id: str
    logs: list[Log]
    settings: dict[str, tuple[str, ConfigSource]] = field(default_factory=dict)
    leader: int = 1
    error: KafkaError | None = None


class _Offset(NamedTuple):
    offset: int


class _Described(NamedTuple):
    topic_id: str


class _Partition(NamedTuple):
    leader: int


class _Metadata(NamedTuple):
    topics: Mapping[str, "_Metadata"]
    partitions: Mapping[int, _Partition]
    error: KafkaError | None = None


class _Entry(NamedTuple):
    value: str
    source: int


class FakeKafka:
    """Answers requests; `requests` counts what was asked for, `refused` has errors by start of NAME=VALUE."""

    def __init__(self, **topics: Topic) -> None:
        self.topics = topics
        self.requests: Counter[str] = Counter()
        self.refused: dict[str, int] = {}

    @property
    def side(self) -> tuple[AdminClient, Cluster]:
        return cast("AdminClient", self), CLUSTER

    def list_topics(self, timeout: float) -> _Metadata:
        del timeout
        return _Metadata(
            {
                name: _Metadata(
                    {},
                    {number: _Partition(topic.leader) for number in range(len(topic.logs))},
                    topic.error,
                )
                for name, topic in self.topics.items()
            },
            {},
        )

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], isolation_level: IsolationLevel
    ) -> dict[TopicPartition, Future[_Offset]]:
        found = {}
        for place, spec in asked.items():
            log = self.topics[place.topic].logs[place.partition]
            if spec is EARLIEST:
                self.requests["earliest"] += 1
                found[place] = _done(_Offset(log.start))
            elif isolation_level == IsolationLevel.READ_UNCOMMITTED:
                found[place] = _done(_Offset(max(log.stable, log.end)))
            else:
                found[place] = _done(_Offset(log.stable))
        return found

    def describe_topics(self, asked: TopicCollection) -> dict[str, Future[_Described]]:
        return {
            name: _done(_Described(self.topics[name].id))
            if name in self.topics
            else _failed(UNKNOWN_TOPIC)
            for name in asked.topic_names
        }

    def describe_configs(
        self, asked: Iterable[ConfigResource]
    ) -> dict[ConfigResource, Future[dict[str, _Entry]]]:
        found = {}
        for resource in asked:
            self.requests["settings"] += 1
            settings = self.topics[str(resource.name)].settings
            entries = {name: _Entry(text, of.value) for name, (text, of) in settings.items()}
            found[resource] = _done(entries)
        return found

    def create_topics(
        self, new: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, Future[None]]:
        assert validate_only
        found = {}
        for topic in new:
            settings = [f"{name}={value}" for name, value in (topic.config or {}).items()]
            codes = [
                code
                for start, code in self.refused.items()
                if any(setting.startswith(start) for setting in settings)
            ]
            codes += [self.refused["*"]] if "*" in self.refused else []
            found[topic.topic] = _failed(codes[0]) if codes else _done(None)
        return found


def _done(result: T) -> "Future[T]":
    future: Future[T] = Future()
    future.set_result(result)
    return future


def _failed(code: int) -> "Future[T]":
    future: Future[T] = Future()
    future.set_exception(KafkaException(KafkaError(code, "refused by the test")))
    return future
