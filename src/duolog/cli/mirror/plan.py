"""Decide what a mirror copies: compare source, target and progress, without changing anything."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from confluent_kafka.admin import AdminClient, ClusterMetadata

from duolog.cli.errors import MirrorConflict
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place, read_metadata
from duolog.cli.mirror.committed_records import read_ends
from duolog.cli.mirror.internal_topics import is_of_the_cluster, topics_of_applications
from duolog.cli.mirror.progress import PartitionProgress, Progress, TopicProgress
from duolog.cli.mirror.topic_ids import read_ids
from duolog.cli.mirror.topic_settings import (
    WHILE_COPYING,
    Setting,
    read_settings,
    unsupported_settings,
)
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

Action = Literal["create", "copy", "none"]

Counts = dict[str, int]
"""The number of partitions of each topic."""

_LEADER_NOT_AVAILABLE: Final = 5
_RECORD_SIZE: Final = "max.message.bytes"


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The work for one topic."""

    topic: str
    action: Action
    """create: the target does not have it; copy: continue; none: moved before, nothing is new."""
    source_id: str
    target_id: str | None
    """None if the target does not have it."""
    settings: dict[str, str]
    """Settings after the copy."""
    refused: dict[str, str]
    """Settings that the target does not accept, with its reasons."""
    while_copying: dict[str, str]
    refused_while_copying: dict[str, str]
    """Settings that would protect the records until they are verified."""
    starts: Offsets
    """The offset of the first record to copy of each partition."""
    last_copied: Offsets
    """The offset of the last copied record, for partitions with new offsets that still have it."""
    ends: Offsets
    """The end of each source partition: its last stable offset."""
    is_new_copy: bool
    """Whether the progress of an earlier copy does not count: its topic is gone, or another."""
    partitions_missing: int
    """The number of partitions that an existing topic of the target lacks."""
    lost: dict[Place, tuple[int, int]]
    """Offsets that the source deleted after an earlier run, before they were copied."""
    target_nexts: Offsets
    """Target offsets after the copied records, for the partitions that the target has."""

    @property
    def places(self) -> list[Place]:
        return sorted(self.ends)

    @property
    def offsets_to_copy(self) -> int:
        return sum(max(0, end - self.starts[place]) for place, end in self.ends.items())


@dataclass(frozen=True, slots=True)
class Plan:
    """The topics to copy, in order of their names."""

    topics: list[TopicPlan]
    left_out: dict[str, str]
    """Internal topics of applications, with their owner."""
    gone: dict[str, bool]
    """Topics that were deleted on the source, and whether their copy had been verified."""

    @property
    def to_copy(self) -> list[TopicPlan]:
        return [topic for topic in self.topics if topic.action != "none"]

    def notes(self) -> Iterator[str]:
        """Yield what users should know: losses, refused settings, and deleted topics."""
        if not self.topics:
            yield "the source has no topic to copy"
        for of in self.topics:
            for (topic, number), (first, end) in sorted(of.lost.items()):
                yield (
                    f'partition {number} of topic "{topic}": the source deleted offsets {first} to '
                    f"{end - 1} before they were copied"
                )
            for name, reason in of.refused.items():
                yield f'topic "{of.topic}": the target does not accept setting {name}: {reason}'
        for name, reason in dict(
            pair for of in self.to_copy for pair in of.refused_while_copying.items()
        ).items():
            yield (
                f"the target does not accept {name}={WHILE_COPYING[name]}, which protects records "
                f"while they are copied: {reason}"
            )
        for name in self.gone:
            yield f'topic "{name}" was deleted on the source; its copy stays as it is'


class Planner:
    """Makes plans for one source and one target.

    Args:
        pattern: expression that the whole name of a topic must match; None for all topics.
        replication_factor: of new topics, for the validation of their settings.
    """

    def __init__(
        self,
        source: tuple[AdminClient, Cluster],
        target: tuple[AdminClient, Cluster],
        pattern: re.Pattern[str] | None,
        replication_factor: int = -1,
    ) -> None:
        self._source, self._target, self._pattern = source, target, pattern
        self._replication_factor = replication_factor
        self._refused: dict[Setting, str] = {}
        self._validated: set[Setting] = set()
        self._left_out: tuple[Counts, dict[str, str]] = ({}, {})
        self._settings: dict[str, dict[str, str]] = {}

    def places(self) -> list[Place]:
        """Return all partitions of the source to copy; raises as `plan`."""
        source = read_metadata(*self._source)
        names, _ = self._names(source)
        _ensure_led(source, names)
        return _places(source, names)

    def plan(self, progress: Progress, *, reads_settings: bool = True) -> Plan:
        """Return what is to be copied now.

        Args:
            progress: what earlier runs have copied.
            reads_settings: whether to read the settings of known topics again.

        Raises:
            MirrorConflict: a topic cannot be copied without mixing its records with others.
            KafkaError: a cluster cannot be read.
        """
        source = read_metadata(*self._source)
        target = read_metadata(*self._target)
        names, left_out = self._names(source)
        _ensure_led(source, names)
        places = _places(source, names)
        source_ids = read_ids(*self._source, names)
        target_ids = read_ids(*self._target, [name for name in names if name in target.topics])
        copied = {name: _copy_of(progress, name, target_ids.get(name)) for name in names}
        with self._source[1].errors("read the offsets of topics"):
            ends = read_ends(*self._source, places)
            # Partitions without new offsets are not asked for: --follow plans all the time.
            new = [place for place in places if ends[place] > copied[place[0]].at(place).read_to]
            first = read_ends(*self._source, new, EARLIEST)
        self._read_settings(names, reads_settings=reads_settings)
        refused = self._unsupported(names)
        plans = [
            _plan(
                _Found(name, source_ids[name], target_ids.get(name), target, copied[name]),
                self._settings[name],
                refused,
                first,
                {(name, number): ends[name, number] for number in source.topics[name].partitions},
            )
            for name in names
        ]
        return Plan(
            plans,
            {name: owner for name, owner in left_out.items() if self._is_chosen(name)},
            {
                name: of.moved
                for name, of in sorted(progress.topics.items())
                if name not in source.topics and name in target.topics and self._is_chosen(name)
            },
        )

    def _names(self, source: ClusterMetadata) -> tuple[list[str], dict[str, str]]:
        """Return the topics to copy, and those of applications that are left out."""
        counts = {
            name: len(topic.partitions)
            for name, topic in sorted(source.topics.items())
            if not is_of_the_cluster(name)
        }
        left_out = self._internal(counts)
        names = [name for name in counts if name not in left_out and self._is_chosen(name)]
        return names, left_out

    def _is_chosen(self, name: str) -> bool:
        return self._pattern is None or self._pattern.fullmatch(name) is not None

    def _read_settings(self, names: list[str], *, reads_settings: bool) -> None:
        unknown = (
            names if reads_settings else [name for name in names if name not in self._settings]
        )
        self._settings |= read_settings(*self._source, unknown)

    def _unsupported(self, names: Iterable[str]) -> dict[Setting, str]:
        wanted = {pair for name in names for pair in self._settings[name].items()}
        wanted |= set(WHILE_COPYING.items())
        if new := wanted - self._validated:
            self._refused |= unsupported_settings(*self._target, new, self._replication_factor)
            self._validated |= new
        return self._refused

    def _internal(self, counts: Counts) -> dict[str, str]:
        """Return the internal topics of applications; they are read again if a topic is new."""
        if self._left_out[0] != counts:
            self._left_out = counts, topics_of_applications(self._source[1], counts)
        return self._left_out[1]


@dataclass(frozen=True, slots=True)
class _Copy:
    """The progress of a topic; none if the target has deleted it, or has another of this name."""

    known: TopicProgress | None
    partitions: Mapping[Place, PartitionProgress]
    is_gone: bool

    def at(self, place: Place) -> PartitionProgress:
        return self.partitions.get(place, _NOTHING)


_NOTHING: Final = PartitionProgress()


def _copy_of(progress: Progress, topic: str, target_id: str | None) -> _Copy:
    known = progress.topics.get(topic)
    if known is None or known.target_id == target_id:
        return _Copy(known, progress.partitions, is_gone=False)
    return _Copy(None, {}, is_gone=True)


@dataclass(frozen=True, slots=True)
class _Found:
    topic: str
    source_id: str
    target_id: str | None
    target: ClusterMetadata
    copy: _Copy


def _plan(
    found: _Found,
    settings: Mapping[str, str],
    refused: Mapping[Setting, str],
    first: Offsets,
    ends: Offsets,
) -> TopicPlan:
    topic, known = found.topic, found.copy.known
    there = None if found.target_id is None else found.target.topics[topic]
    if known is not None:
        _ensure_same_source(topic, known, found.source_id)
    missing = 0 if there is None else len(ends) - len(there.partitions)
    if there is not None and (missing < 0 or (missing > 0 and known is None)):
        raise other_partitions(topic, len(there.partitions), len(ends))
    read_to = {place: found.copy.at(place).read_to for place in ends}
    if beyond := [place for place, end in ends.items() if read_to[place] > end]:
        end = ends[beyond[0]]
        raise truncated(
            beyond[0], f"It was copied to offset {read_to[beyond[0]]}, and ends at {end}."
        )
    is_moved = (
        known is not None
        and known.moved
        and known.ends == tuple(ends[place] for place in sorted(ends))
    )
    while_copying, refused_while_copying = _while_copying(settings, refused)
    return TopicPlan(
        topic=topic,
        action="none" if is_moved else "create" if there is None else "copy",
        source_id=found.source_id,
        target_id=found.target_id,
        settings={n: v for n, v in settings.items() if (n, v) not in refused},
        refused={n: refused[n, v] for n, v in settings.items() if (n, v) in refused},
        while_copying=while_copying,
        refused_while_copying=refused_while_copying,
        starts={place: max(at, first.get(place, at)) for place, at in read_to.items()},
        last_copied={
            place: found.copy.at(place).source_next - 1
            for place in ends
            if 0 <= first.get(place, ends[place]) < found.copy.at(place).source_next
        },
        ends=ends,
        is_new_copy=found.copy.is_gone,
        partitions_missing=missing,
        lost={
            place: (at, first[place])
            for place, at in read_to.items()
            if 0 <= at < first.get(place, at)
        },
        target_nexts={
            (topic, number): max(0, found.copy.at((topic, number)).target_next)
            for number in (() if there is None else there.partitions)
        },
    )


def _while_copying(
    settings: Mapping[str, str], refused: Mapping[Setting, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings for the copy, and those that the target does not accept."""
    accepted = {n: v for n, v in WHILE_COPYING.items() if (n, v) not in refused}
    limit = settings.get(_RECORD_SIZE)
    if limit is not None and _RECORD_SIZE not in accepted and (_RECORD_SIZE, limit) not in refused:
        accepted[_RECORD_SIZE] = limit
    return accepted, {n: refused[n, v] for n, v in WHILE_COPYING.items() if n not in accepted}


def other_partitions(topic: str, there: int, here: int) -> MirrorConflict:
    return MirrorConflict(
        f'topic "{topic}" has {counted(there, "partition")} on the target and {here} on the source',
        hint="Delete the topic on the target, or leave it out with --topics.",
    )


def _ensure_same_source(topic: str, known: TopicProgress, source_id: str) -> None:
    if known.source_id != source_id:
        raise recreated(topic, f"Its id was {known.source_id} and is {source_id}.")


def recreated(topic: str, detail: str) -> MirrorConflict:
    return MirrorConflict(
        f'topic "{topic}" of the source was deleted and created again after it was copied',
        detail=detail,
        hint="To copy it again, delete the topic on the target. Otherwise leave it out with "
        "--topics.",
    )


def truncated(place: Place, detail: str) -> MirrorConflict:
    return MirrorConflict(
        f'partition {place[1]} of topic "{place[0]}" of the source has lost records that were '
        "copied",
        detail=f"{detail} Its broker has crashed, or its data were restored from a backup.",
        hint="To copy the topic again, delete it on the target. Otherwise leave it out with "
        "--topics.",
    )


def _places(source: ClusterMetadata, names: Iterable[str]) -> list[Place]:
    return [(name, number) for name in names for number in source.topics[name].partitions]


def _ensure_led(metadata: ClusterMetadata, names: Iterable[str]) -> None:
    """Ensure that every partition can be read.

    Raises:
        KafkaError: a partition has no leader, or the broker cannot describe a topic.
    """
    for name in names:
        topic = metadata.topics[name]
        if topic.error is not None or not topic.partitions:
            raise KafkaError(
                f'topic "{name}" of the source cannot be read',
                code=_LEADER_NOT_AVAILABLE if topic.error is None else topic.error.code(),
                retriable=True,
                detail="It has no partitions." if topic.error is None else str(topic.error),
                hint="To copy the other topics, leave this one out with --topics.",
            )
        for number, partition in topic.partitions.items():
            if partition.leader < 0:
                raise KafkaError(
                    f'partition {number} of topic "{name}" of the source has no leader',
                    code=_LEADER_NOT_AVAILABLE,
                    retriable=True,
                    hint="Read the broker's log: the partition may be damaged. To copy the other "
                    "topics, leave this one out with --topics.",
                )
