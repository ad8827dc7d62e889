"""Read facts about topics from a broker: partition counts, offsets, ids and configurations.

Uses a Kafka client, so any broker works. The engine calls it at a start and for the lag,
not on a hot path.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import get_close_matches
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
    AdminClient,
    ConfigResource,
    ListOffsetsResultInfo,
    OffsetSpec,
    TopicMetadata,
)

from duolog.engine.errors import BrokerUnreachable, LeaderMissing, SourceTopicMissing
from duolog.engine.topics.batch_bounds import Backlog
from duolog.engine.topics.record_checks import RecordChecks
from duolog.engine.topics.record_sampler import Position, RecordSampler

TIMEOUT_S: Final = 15.0
# The timeout for answers that are only displayed.
GLANCE_S: Final = 3.0
# Enough records of each partition to estimate their size.
_SAMPLE_RECORDS: Final = 200
# A broker that is starting or busy may need a while; without sizes the micro-batches are small.
_SAMPLE_S: Final = 10.0

# How many existing topics a message about a missing one lists.
_SHOWN_MAX: Final = 10

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

EndOffsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> the offset that the next record gets."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """An offset at one end of a log, and the leader epoch returned with it (-1: none)."""

    offset: int
    leader_epoch: int = -1

    @classmethod
    def of(cls, found: ListOffsetsResultInfo) -> "LogEnd":
        return cls(found.offset, -1 if found.leader_epoch is None else found.leader_epoch)


class TopicReader:
    """Answers questions about the topics of one cluster. Threads: any."""

    def __init__(self, bootstrap_servers: str, client_options: Mapping[str, str]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._options = dict(client_options)
        self._opened: AdminClient | None = None
        self._opening = threading.Lock()
        self._sampler = RecordSampler(bootstrap_servers, client_options)
        self.looks: Final = RecordChecks(bootstrap_servers, client_options)
        """Checks of records that were read before."""
        self._behind: dict[Position, int] = {}
        # Partitions with nothing left to read: the position, and the end that this holds for.
        self._empty: dict[Position, tuple[int, int]] = {}

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
            found = self._list_topics(TIMEOUT_S)
            if missing := sorted(set(wanted) - set(found)):
                raise self._missing(missing, f"{_nearest(missing, found)}{self._has(found)}")
            leaderless = _leaderless(found[topic] for topic in wanted)
            if not leaderless:
                return {topic: len(found[topic].partitions) for topic in wanted}
            if time.monotonic() > deadline:  # An election takes less time.
                raise self._leaderless(leaderless)
            time.sleep(_AGAIN_S)

    def names(self) -> list[str]:
        """Return the names of all topics.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        return list(self._list_topics(TIMEOUT_S))

    def existing_partition_counts(self, topics: Collection[str]) -> dict[str, int]:
        """Return the number of partitions of those of `topics` that exist.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        found = self._list_topics(TIMEOUT_S)
        return {topic: len(found[topic].partitions) for topic in topics if topic in found}

    def known_partition_counts(self, is_wanted: Callable[[str], bool]) -> dict[str, int] | None:
        """Return the partition counts of wanted topics; None if no broker answers soon.

        For display only: a decision must not take a missing answer for an answer.
        """
        try:
            found = self._list_topics(GLANCE_S)
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
        described = self._client().describe_topics(
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
                    if _code(error) in _TOPIC_IS_GONE:
                        told = f"The broker at {self._bootstrap_servers} no longer knows it."
                        raise self._missing([at.topic], told) from error
                    if _code(error) not in _LEADER_CHANGES or time.monotonic() > deadline:
                        raise self._no_ends({at[0] for at in partitions}, error) from error
                    again.append(at)
            if asked := again:
                time.sleep(_AGAIN_S)
                # The client caches leaders until all topics are requested.
                self._list_topics(max(_AGAIN_S, deadline - time.monotonic()))
        return ends

    def _ask_offsets(
        self,
        asked: Iterable[TopicPartition],
        spec: OffsetSpec,
        timeout_s: float,
        isolation: IsolationLevel,
    ) -> Iterable[tuple[TopicPartition, Future[ListOffsetsResultInfo]]]:
        return (
            self._client()
            .list_offsets(
                dict.fromkeys(asked, spec), isolation_level=isolation, request_timeout=timeout_s
            )
            .items()
        )

    def skip_non_records(
        self, positions: EndOffsets, ends: EndOffsets
    ) -> dict[str, dict[int, int]]:
        """Return `positions`, each moved to the end of its partition if no record is left to read.

        A position is sampled once it has not moved for two calls: while records arrive, it moves.
        """
        behind = {
            (topic, partition): positions.get(topic, {}).get(partition, 0)
            for topic, offsets in ends.items()
            for partition, end in offsets.items()
            if positions.get(topic, {}).get(partition, 0) < end
        }
        stayed = {at: offset for at, offset in behind.items() if self._behind.get(at) == offset}
        self._behind = behind
        unknown = {
            at: offset
            for at, offset in stayed.items()
            if self._empty.get(at) != (offset, ends[at[0]][at[1]])
        }
        for at, ahead in self._sampler.sample(unknown, records_max=1).items():
            if ahead.reached_end and not ahead.records:
                self._empty[at] = (unknown[at], ends[at[0]][at[1]])
        moved = {topic: dict(offsets) for topic, offsets in positions.items()}
        for (topic, partition), offset in behind.items():
            end = ends[topic][partition]
            if self._empty.get((topic, partition)) == (offset, end):
                moved.setdefault(topic, {})[partition] = end
        return moved

    def backlogs(self, positions: EndOffsets, ends: EndOffsets) -> dict[str, Backlog]:
        """Return the backlog of each topic, estimated from a sample of each partition."""
        offsets = {
            (topic, partition): positions.get(topic, {}).get(partition, 0)
            for topic, partitions in ends.items()
            for partition in partitions
        }
        behind = {at: offset for at, offset in offsets.items() if offset < ends[at[0]][at[1]]}
        seen = self._sampler.sample(behind, _SAMPLE_RECORDS, _SAMPLE_S)
        found = {}
        for topic, partitions in ends.items():
            parts = [ahead for (name, _), ahead in seen.items() if name == topic]
            records = sum(part.records for part in parts)
            found[topic] = Backlog(
                sum(max(0, end - offsets[topic, number]) for number, end in partitions.items()),
                sum(part.bytes for part in parts) / records if records else 0.0,
            )
        return found

    def event_time_left_ms(self, positions: EndOffsets, ends: EndOffsets) -> int | None:
        """Return the time from the first unread record to the last of all; None without samples."""
        behind = {
            (topic, number): positions.get(topic, {}).get(number, 0)
            for topic, offsets in ends.items()
            for number, end in offsets.items()
            if positions.get(topic, {}).get(number, 0) < end
        }
        ahead = self._sampler.sample(behind, records_max=1).values()
        firsts = [one.first_ms for one in ahead if one.first_ms is not None]
        lasts = self.looks.last_before({at: ends[at[0]][at[1]] for at in behind}).values()
        if not firsts or not lasts:
            return 0 if ahead and all(one.reached_end for one in ahead) else None
        return max(0, max(last.timestamp_ms for last in lasts) - min(firsts))

    def record_batch_bytes_max(self, topics: Iterable[str]) -> int | None:
        """Return the largest record batch that all topics accept; None if no topic limits it."""
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not asked:
            return None
        found = []
        for answer in self._client().describe_configs(asked, request_timeout=GLANCE_S).values():
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
        answers = self._client().describe_configs(asked, request_timeout=TIMEOUT_S) if asked else {}
        for resource, answer in answers.items():
            try:
                found[resource.name] = str(answer.result(TIMEOUT_S)["cleanup.policy"].value)
            except (KafkaException, TimeoutError) as error:
                if _code(error) not in _NOT_TOLD:
                    raise self._unreachable(error) from error
        return found

    def _list_topics(self, timeout_s: float) -> dict[str, TopicMetadata]:
        try:
            return self._client().list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise self._unreachable(error) from error

    def _has(self, topics: Collection[str]) -> str:
        visible = sorted(name for name in topics if not name.startswith("__"))
        shown = ", ".join(f'"{name}"' for name in visible[:_SHOWN_MAX])
        more = f" and {len(visible) - _SHOWN_MAX} more" if len(visible) > _SHOWN_MAX else ""
        return f"The broker at {self._bootstrap_servers} has {shown or 'no topics'}{more}."

    def _missing(self, topics: list[str], detail: str) -> SourceTopicMissing:
        names = ", ".join(f'"{name}"' for name in topics)
        many = len(topics) > 1
        return SourceTopicMissing(
            f"source topics {names} do not exist"
            if many
            else f"source topic {names} does not exist",
            detail=detail,
            hint=f"Create {'each' if many else 'it'}: `duolog topics create {topics[0]} "
            f"-b {self._bootstrap_servers}`, or give `duolog run` the option --create-topics.",
        )

    def _leaderless(self, partitions: list[str]) -> LeaderMissing:
        names = ", ".join(f'"{name}"' for name in partitions[:_SHOWN_MAX])
        many = len(partitions) > 1
        return LeaderMissing(
            f"source partition{'s' if many else ''} {names} {'have' if many else 'has'} no leader",
            detail=f"The broker at {self._bootstrap_servers} knows the topic, but no broker "
            "leads this partition.",
            hint="Its log may be damaged or its disk missing: see the broker's log.",
        )

    def _no_ends(self, topics: Iterable[str], error: Exception) -> BrokerUnreachable:
        """Return the cause: for a partition without a leader the client reports only a timeout."""
        with contextlib.suppress(BrokerUnreachable):
            found = self._list_topics(GLANCE_S)
            if leaderless := _leaderless(found[topic] for topic in topics if topic in found):
                return self._leaderless(leaderless)
        return self._unreachable(error)

    def _unreachable(self, error: Exception) -> BrokerUnreachable:
        told = error.args[0] if error.args else ""
        return BrokerUnreachable(
            f"no broker answers at {self._bootstrap_servers}",
            detail=f"{told.str() if isinstance(told, KafkaError) else told}.",
            hint="Start one: `duolog broker --data DIR`.",
        )

    def _client(self) -> AdminClient:
        # Kept open: answers to a closed client never arrive.
        with self._opening:
            return self._client_of_all()

    def _client_of_all(self) -> AdminClient:
        if self._opened is None:
            options: dict[str, str | int | float | bool] = {**self._options}
            options |= {"bootstrap.servers": self._bootstrap_servers, "log_level": 0}
            self._opened = AdminClient(options)
        return self._opened


def _code(error: Exception) -> int | None:
    told = error.args[0] if error.args else None
    return told.code() if isinstance(told, KafkaError) else None


def _leaderless(topics: Iterable[TopicMetadata]) -> list[str]:
    return sorted(
        f"{topic.topic}-{partition.id}"
        for topic in topics
        for partition in topic.partitions.values()
        if partition.leader < 0
    )


def _nearest(missing: Iterable[str], there: Iterable[str]) -> str:
    """Return a question for each missing topic whose name is similar to an existing one.

    Example:
        >>> _nearest(["oders", "visits"], ["orders", "customers"])
        'Instead of "oders", is "orders" meant? '
    """
    known = list(there)
    nearest = {name: get_close_matches(name, known, n=1) for name in missing}
    return "".join(
        f'Instead of "{name}", is "{found[0]}" meant? ' for name, found in nearest.items() if found
    )
