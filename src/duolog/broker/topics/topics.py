"""The topics that the broker serves, by name and by id, with what each request needs ready.

Topics and their partitions are objects that live as long as the topic: the produce path finds a
partition by the bytes of the name, without decoding them. A topic's part of a Metadata answer
is kept as bytes for each version, and dropped when the topic changes.
"""

import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from duolog.broker.controller import Change, carry_out
from duolog.broker.errors import InvalidTopic, UnknownTopic
from duolog.broker.topics.topic_config import TopicConfig, TopicConfigs
from duolog.broker.topics.topic_names import INTERNAL_TOPICS, check_topic_name
from duolog.core.errors import KafkaError
from duolog.core.ids import TopicPartition
from duolog.core.names import metric_name
from duolog.log.errors import PartitionRefused, TopicRefused
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.produce_single import single_answer

if TYPE_CHECKING:
    from uuid import UUID

    from duolog.log.data_directory.topics import TopicEntry
    from duolog.log.log_manager import LogManager
    from duolog.log.partition.partition_log import PartitionLog

PARTITIONS_MAX: Final = 10_000
_NEVER: Final = -(2**63)
_FREEZE_AFTER: Final = 500
"""Partitions. They stay: a collection with 10,000 of them would hold the loop for 250 ms."""
_PARTITIONS_A_STEP: Final = 100
_ANSWER_NAME_BYTES_MAX: Final = 126


class Waiter(Protocol):
    """Callbacks that wait for a partition to grow."""

    def check(self) -> None:
        """Look whether there is enough by now."""


class Partition:
    """One partition as the broker serves it: its log and who waits for it to grow."""

    __slots__ = ("index", "log", "refused", "topic", "waiters")

    def __init__(self, topic: "Topic", index: int, log: "PartitionLog | PartitionRefused") -> None:
        self.topic = topic
        self.index = index
        self.refused: PartitionRefused | None = None
        """The reason why this partition is not served; reading `log` then raises it."""
        if isinstance(log, PartitionRefused):
            self.refused = log
        else:
            self.log = log
        self.waiters: set[Waiter] = set()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> "PartitionLog":
            # Called for `log` alone, where it was not set: a partition that is served pays nothing.
            raise self.refused

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic.name, self.index)


class Topic:
    """One incarnation of a topic."""

    def __init__(self, entry: "TopicEntry", config: TopicConfig) -> None:
        self.name: Final = entry.name
        self.name_bytes: Final = entry.name.encode()
        self.id: Final[UUID] = entry.id
        self.internal: Final = entry.name in INTERNAL_TOPICS
        self.configs: Mapping[str, str] = entry.configs
        self.refused = entry.damage and TopicRefused(entry.name, entry.damage)
        """The reason why the configs of this topic are unknown and none of its partitions is
        served.
        """
        self.partitions: list[Partition] = []
        self.metadata_bytes: dict[tuple[int, int], bytes] = {}
        """The topic's part of a Metadata answer, by its form; cleared when the topic changes."""
        self.write_answer = single_answer(self.name_bytes[:_ANSWER_NAME_BYTES_MAX])
        self.fetched_bytes = 0
        """Bytes of record batches that clients have fetched."""
        self.configure(config)

    def configure(self, config: TopicConfig) -> None:
        """Use another config from the next request on."""
        self.config = config
        self.newest_time = _NEVER
        """Batches up to this time need no look at the clock; see `produce_burst`."""

    def allow_times_at(self, now_ms: int) -> None:
        """Let batches that are not later than what is allowed now take the short way."""
        config = self.config
        if (
            not (self.internal or config.log_append_time or config.opens_records)
            and len(self.name_bytes) <= _ANSWER_NAME_BYTES_MAX
        ):
            self.newest_time = now_ms + config.trusted_ahead_ms

    @property
    def served(self) -> Iterator[Partition]:
        """The partitions but those whose log is damaged."""
        return (partition for partition in self.partitions if partition.refused is None)

    def partition(self, index: int) -> Partition | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Topics:
    """All topics of the broker."""

    def __init__(
        self,
        log_manager: "LogManager",
        configs: TopicConfigs,
        run_in_background: Callable[[Callable[[], None]], None],
        *,
        closed: Collection[str] = (),
    ) -> None:
        """Open all topics; clients can neither read nor write those that are `closed`."""
        self._closed = closed
        self.configs = configs
        self._log_manager = log_manager
        self._run_in_background = run_in_background
        self._by_metric_name: dict[str, str] = {}
        self._by_name: dict[str, Topic] = {}
        self._going: dict[str, Topic] = {}
        """Topics whose deletion is being written: it may still fail, or be cut off by a crash."""
        self.by_name_bytes: dict[bytes, Topic] = {}
        """The topics that clients can read and write, by name and by id."""
        self.by_id: dict[UUID, Topic] = {}
        self._opened = 0
        self.version = 0
        """Grows whenever a topic is created, deleted or grows."""
        for entry in log_manager.topics.entries():
            for _ in self._add(entry):
                pass

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def known(self, name: str) -> Topic | None:
        """Return the topic called `name`, also while its deletion is being written."""
        return self._by_name.get(name) or self._going.get(name)

    def find(self, name: str) -> Topic:
        """Return the topic called `name`.

        Raises:
            UnknownTopic: there is none.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownTopic(f'topic "{name}" does not exist') from None

    def partition(self, name: str, index: int) -> Partition:
        """Return one partition.

        Raises:
            UnknownTopic: there is no such topic, or it has no such partition.
        """
        found = self.find(name).partition(index)
        if found is None:
            raise UnknownTopic(f'topic "{name}" has no partition {index}')
        return found

    def check_new(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Refuse what `create` would refuse.

        Raises:
            KafkaError: the name is invalid or taken, or the partition count is out of range.
            ConfigError: a config is unknown or has a value that is not allowed.
        """
        check_topic_name(name)
        if name in self._by_name:
            raise KafkaError(f'topic "{name}" already exists', code=ErrorCode.TOPIC_ALREADY_EXISTS)
        like = self._by_metric_name.get(metric_name(name))
        if like is not None:
            raise InvalidTopic(f'topic "{name}" collides with topic "{like}"')
        _check_partitions(partitions)
        self.configs.check(configs)

    # Changes: each is made of what the log does on the disk, and what is put in place here.

    def creating(self, name: str, partitions: int, configs: Mapping[str, str]) -> Change:
        """Return the change that creates a topic. Raises as `check_new`."""
        self.check_new(name, partitions, configs)
        change = self._log_manager.topics.creating(name, partitions, dict(configs))

        def apply() -> Iterator[None]:
            change.place()
            yield from self._add(change.entry)

        return Change(change.write, change.settle, apply)

    def deleting(self, name: str) -> Change:
        """Return the change that deletes a topic and its records; it is not served any more.

        Raises:
            UnknownTopic: there is none.
        """
        topic = self.find(name)
        change = self._log_manager.topics.deleting(name, remove=self._run_in_background)
        # At once: a write to a directory that is being renamed would be lost.
        self._going[name] = self._by_name.pop(name)
        self._by_metric_name.pop(metric_name(name), None)
        self.by_name_bytes.pop(topic.name_bytes, None)
        self.by_id.pop(topic.id, None)
        self.version += 1

        def apply() -> Iterator[None]:
            change.place()
            del self._going[name]
            # What is old is hardly ever collected, and each of them knows the topic.
            while topic.partitions:
                del topic.partitions[-_PARTITIONS_A_STEP:]
                yield

        def undo() -> None:
            del self._going[name]
            self._serve(topic)

        return Change(change.write, change.settle, apply, undo)

    def growing(self, name: str, count: int) -> Change:
        """Return the change that grows a topic to `count` partitions."""
        topic = self.find(name)
        _check_partitions(count)
        change = self._log_manager.topics.growing(name, count)

        def apply() -> Iterator[None]:
            change.place()
            yield from self._open_partitions(topic, count)

        return Change(change.write, change.settle, apply)

    def altering(self, name: str, configs: Mapping[str, str]) -> Change:
        """Return the change that replaces what is set for a topic."""
        topic = self.find(name)
        self.configs.check(configs)
        change = self._log_manager.topics.altering(name, dict(configs))

        def apply() -> Iterator[None]:
            change.place()
            topic.configs = dict(configs)
            self._configure(topic)
            yield

        return Change(change.write, change.settle, apply)

    def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        """Create a topic; when this returns it is on the disk."""
        carry_out(self.creating(name, partitions, configs))
        return self._by_name[name]

    def delete(self, name: str) -> Topic:
        """Delete a topic and its records; return what it was."""
        topic = self.find(name)
        carry_out(self.deleting(name))
        return topic

    def reconfigure(self, topic: Topic) -> None:
        """Let a topic follow settings of the broker that have changed."""
        self._log_manager.topics.configure(topic.name)
        self._configure(topic)

    def _configure(self, topic: Topic) -> None:
        topic.configure(self.configs.for_produce(topic.configs))
        topic.metadata_bytes.clear()

    def _add(self, entry: "TopicEntry") -> Iterator[None]:
        topic = Topic(entry, self.configs.for_produce(entry.configs))
        yield from self._open_partitions(topic, entry.partitions)
        self._serve(topic)

    def _serve(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_metric_name[metric_name(topic.name)] = topic.name
        if topic.name not in self._closed:
            self.by_name_bytes[topic.name_bytes] = topic
            self.by_id[topic.id] = topic
        self.version += 1

    def _open(self, topic: Topic, index: int) -> "PartitionLog | PartitionRefused":
        try:
            return self._log_manager.log(topic.name, index)
        except PartitionRefused as refused:
            if topic.internal:  # Groups and transactions would look as if they were new.
                raise
            return refused

    def _open_partitions(self, topic: Topic, count: int) -> Iterator[None]:
        new = []
        for index in range(len(topic.partitions), count):
            new.append(Partition(topic, index, self._open(topic, index)))
            self._opened += 1
            if self._opened % _FREEZE_AFTER == 0:
                gc.freeze()
            yield
        # All at once: no client sees a topic with only some of its new partitions.
        topic.partitions += new
        topic.metadata_bytes.clear()
        self.version += 1


def _check_partitions(count: int) -> None:
    if not 0 < count <= PARTITIONS_MAX:
        raise KafkaError(
            f"a topic cannot have {count} partitions",
            code=ErrorCode.INVALID_PARTITIONS,
            hint=f"A topic has 1 to {PARTITIONS_MAX} partitions.",
        )
