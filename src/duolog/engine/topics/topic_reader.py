"""Read facts about topics from a broker: partition counts, offsets, ids and configurations.

Uses a Kafka client, so any broker works. The engine calls it at a start and for the lag,
not on a hot path.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Final

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import (
    ConfigResource,
    ListOffsetsResultInfo,
    OffsetSpec,
)

from duolog.engine.errors import BrokerUnreachable
from duolog.engine.topics.offsets import LogEnd
from duolog.engine.topics.record_checks import RecordChecks
from duolog.engine.topics.record_sampler import Position, RecordSampler
from duolog.engine.topics.topic_client import (
    GLANCE_S,
    TIMEOUT_S,
    TopicClient,
    code_of,
    leaderless_in,
)
from duolog.engine.topics.unread_records import UnreadRecords

_TOPIC_IS_GONE: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - librdkafka names its own codes like this
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)

# The caller is not authorized, or the broker does not reveal it to anyone.
_NOT_TOLD: Final = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
    }
)

_NO_ID: Final = str(Uuid(0, 0))

# A client sees these if its leaders or their epochs predate the last start of the broker, and from
# a leader that was just elected: until its followers have answered it does not know the end
# (KIP-207).
_LEADER_CHANGES: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError._NOENT,  # noqa: SLF001
    }
)
_AGAIN_S: Final = 0.2


class TopicReader:
    """Answers questions about the topics of one cluster. Threads: any."""

    def __init__(self, bootstrap_servers: str, client_options: Mapping[str, str]) -> None:
        self._client = TopicClient(bootstrap_servers, client_options)
        self.looks: Final = RecordChecks(bootstrap_servers, client_options)
        """Checks of records that were read before."""
        sampler = RecordSampler(bootstrap_servers, client_options)
        self.unread: Final = UnreadRecords(sampler, self.looks)
        """Records that were not read yet."""

    def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of each topic.

        Raises:
            SourceTopicMissing: a topic does not exist.
            LeaderMissing: no broker serves a partition.
            BrokerUnreachable: no broker answers.
        """
        wanted = list(topics)
        deadline = time.monotonic() + GLANCE_S
        while True:
            found = self._client.list_topics(TIMEOUT_S)
            if missing := sorted(set(wanted) - set(found)):
                raise self._client.missing_among(missing, found)
            leaderless = leaderless_in(found[topic] for topic in wanted)
            if not leaderless:
                return {topic: len(found[topic].partitions) for topic in wanted}
            if time.monotonic() > deadline:  # An election takes less time.
                raise self._client.leaderless(leaderless)
            time.sleep(_AGAIN_S)

    def names(self) -> list[str]:
        """Return the names of all topics.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        return list(self._client.list_topics(TIMEOUT_S))

    def existing_partition_counts(self, topics: Collection[str]) -> dict[str, int]:
        """Return the number of partitions of those of `topics` that exist.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        found = self._client.list_topics(TIMEOUT_S)
        return {topic: len(found[topic].partitions) for topic in topics if topic in found}

    def known_partition_counts(self, is_wanted: Callable[[str], bool]) -> dict[str, int] | None:
        """Return the partition counts of wanted topics; None if no broker answers soon.

        For display only: a decision must not take a missing answer for an answer.
        """
        try:
            found = self._client.list_topics(GLANCE_S)
        except BrokerUnreachable:
            return None
        return {topic: len(of.partitions) for topic, of in found.items() if is_wanted(topic)}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the ids that distinguish topics from earlier ones of the same names.

        Empty if no broker answers soon, or if it assigns no topic ids (before Kafka 2.8).
        """
        found: dict[str, str] = {}
        wanted = list(topics)
        if not wanted:
            return found
        described = self._client.admin().describe_topics(
            TopicCollection(wanted), request_timeout=GLANCE_S
        )
        for topic, answer in described.items():
            with contextlib.suppress(KafkaException, TimeoutError):
                found[topic] = str(answer.result(GLANCE_S).topic_id)
        return {topic: found[topic] for topic in found if found[topic] != _NO_ID}

    def gone(self, topics: Iterable[str]) -> list[str]:
        """Return those of `topics` that a broker reports as missing; none if none answers soon."""
        wanted = set(topics)
        there = self.known_partition_counts(wanted.__contains__)
        return [] if there is None else sorted(wanted - set(there))

    def answers(self) -> bool:
        """Return whether a broker answers soon."""
        return self.known_partition_counts(lambda _topic: False) is not None

    def end_offsets(
        self, partition_counts: Mapping[str, int], timeout_s: float = TIMEOUT_S
    ) -> dict[str, dict[int, int]]:
        """Return where each partition ends for a query: before its first open transaction.

        Raises:
            BrokerUnreachable: no broker answers in time, or none serves a partition.
            SourceTopicMissing: a topic does not exist any more.
        """
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return self._offsets(partition_counts, latest, timeout_s)

    def begin_offsets(self, partition_counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
        """Return the first available offset of each partition; raises as `end_offsets`."""
        earliest: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        return self._offsets(partition_counts, earliest, TIMEOUT_S)

    def open_partitions(self, partition_counts: Mapping[str, int]) -> list[str]:
        """Return the partitions with an open transaction, such as `totals-3` for topic "totals".

        Records after its first one are not readable yet, committed or not; raises as `end_offsets`.
        """
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        # In this order, so that a transaction that ends in between is not reported.
        all_of_it = IsolationLevel.READ_UNCOMMITTED
        written = self._offsets(partition_counts, latest, TIMEOUT_S, isolation=all_of_it)
        readable = self.end_offsets(partition_counts)
        return [
            f"{topic}-{partition}"
            for topic, ends in written.items()
            for partition, end in sorted(ends.items())
            if readable[topic][partition] < end
        ]

    def offsets_at(
        self, partition_counts: Mapping[str, int], time_ms: int
    ) -> dict[str, dict[int, int]]:
        """Return the first offset of each partition with this time or a later one; else its end.

        Raises:
            BrokerUnreachable, SourceTopicMissing: as `end_offsets`.
        """
        at_time = OffsetSpec.for_timestamp(time_ms)
        found = self._offsets(partition_counts, at_time, TIMEOUT_S)
        ends = self.end_offsets(partition_counts)
        return {
            topic: {
                number: ends[topic][number] if offset < 0 else offset
                for number, offset in offsets.items()
            }
            for topic, offsets in found.items()
        }

    def _offsets(
        self,
        partition_counts: Mapping[str, int],
        spec: OffsetSpec,
        timeout_s: float,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[str, dict[int, int]]:
        wanted = [(topic, n) for topic, count in partition_counts.items() for n in range(count)]
        ends: dict[str, dict[int, int]] = {topic: {} for topic in partition_counts}
        for (topic, number), found in self._list_offsets(
            wanted, spec, timeout_s, isolation
        ).items():
            ends[topic][number] = found.offset
        return ends

    def log_ends(
        self, partitions: Collection[Position], *, committed: bool, timeout_s: float = TIMEOUT_S
    ) -> dict[Position, LogEnd]:
        """Return where logs end, or, if `committed`, where open transactions begin.

        Raises as `end_offsets`.
        """
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._list_offsets(partitions, latest, timeout_s, isolation)

    def log_begins(self, partitions: Collection[Position]) -> dict[Position, int]:
        """Return the first available offset of each log; raises as `end_offsets`."""
        earliest: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        found = self._list_offsets(partitions, earliest, TIMEOUT_S, IsolationLevel.READ_UNCOMMITTED)
        return {at: begin.offset for at, begin in found.items()}

    def _list_offsets(
        self,
        partitions: Collection[Position],
        spec: OffsetSpec,
        timeout_s: float,
        isolation: IsolationLevel,
    ) -> dict[Position, LogEnd]:
        ends: dict[Position, LogEnd] = {}
        asked = [TopicPartition(*at) for at in partitions]
        deadline = time.monotonic() + timeout_s
        while asked:
            again = []
            left_s = max(_AGAIN_S, deadline - time.monotonic())
            for at, answer in self._ask_offsets(asked, spec, left_s, isolation):
                try:
                    found = answer.result(timeout_s)
                    ends[at.topic, at.partition] = LogEnd.of(found)
                except (KafkaException, TimeoutError) as error:
                    if code_of(error) in _TOPIC_IS_GONE:
                        told = f"The broker at {self._client.bootstrap_servers} no longer knows it."
                        raise self._client.missing([at.topic], told) from error
                    if code_of(error) not in _LEADER_CHANGES or time.monotonic() > deadline:
                        raise self._client.no_ends({at[0] for at in partitions}, error) from error
                    again.append(at)
            if asked := again:
                time.sleep(_AGAIN_S)
                # The client caches leaders until all topics are requested.
                self._client.list_topics(max(_AGAIN_S, deadline - time.monotonic()))
        return ends

    def _ask_offsets(
        self,
        asked: Iterable[TopicPartition],
        spec: OffsetSpec,
        timeout_s: float,
        isolation: IsolationLevel,
    ) -> Iterable[tuple[TopicPartition, Future[ListOffsetsResultInfo]]]:
        return (
            self._client.admin()
            .list_offsets(
                dict.fromkeys(asked, spec), isolation_level=isolation, request_timeout=timeout_s
            )
            .items()
        )

    def record_batch_bytes_max(self, topics: Iterable[str]) -> int | None:
        """Return the largest record batch that all topics accept; None if no topic limits it."""
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not asked:
            return None
        found = []
        for answer in (
            self._client.admin().describe_configs(asked, request_timeout=GLANCE_S).values()
        ):
            with contextlib.suppress(KafkaException, TimeoutError):
                found.append(int(answer.result(GLANCE_S)["max.message.bytes"].value))
        return min(found, default=None)

    def cleanup_policies(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the cleanup policy of each topic whose configuration the broker reveals.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        found = {}
        answers = (
            self._client.admin().describe_configs(asked, request_timeout=TIMEOUT_S) if asked else {}
        )
        for resource, answer in answers.items():
            try:
                found[resource.name] = str(answer.result(TIMEOUT_S)["cleanup.policy"].value)
            except (KafkaException, TimeoutError) as error:
                if code_of(error) not in _NOT_TOLD:
                    raise self._client.unreachable(error) from error
        return found
