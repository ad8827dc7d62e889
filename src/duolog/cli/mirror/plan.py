"""Decide what a mirror copies: compare source, target and progress, without changing anything."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ClusterMetadata

from duolog.cli.errors import MirrorConflict
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place, read_metadata
from duolog.cli.mirror.committed_records import read_ends
from duolog.cli.mirror.internal_topics import is_of_the_cluster, topics_of_applications
from duolog.cli.mirror.progress import Progress, TopicProgress
from duolog.cli.mirror.topic_settings import (
    WHILE_COPYING,
    Setting,
    read_settings,
    unsupported_settings,
)
from duolog.core.errors import KafkaError

Action = Literal["create", "copy", "none"]

_LEADER_NOT_AVAILABLE: Final = 5


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The work for one topic."""

    topic: str
    action: Action
    """create: the target does not have it; copy: continue; none: moved before, nothing is new."""
    source_id: str
    settings: dict[str, str]
    """Settings after the copy."""
    refused: dict[str, str]
    """Settings that the target does not accept, with its reasons."""
    while_copying: dict[str, str]
    starts: Offsets
    """The offset of the first record to copy of each partition."""
    ends: Offsets
    """The end of each source partition: its last stable offset."""
    is_new_copy: bool
    """Whether the progress of an earlier copy does not count, because its topic is gone."""
    partitions_missing: int
    """The number of partitions that an existing topic of the target lacks."""

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
    deleted: dict[Place, tuple[int, int]]
    """Offsets that the source deleted after an earlier run, before they were copied."""

    @property
    def to_copy(self) -> list[TopicPlan]:
        return [topic for topic in self.topics if topic.action != "none"]


class Planner:
    """Makes plans for one source and one target.

    Args:
        pattern: expression that the whole name of a topic must match; None for all topics.
    """

    def __init__(
        self,
        source: tuple[AdminClient, Cluster],
        target: tuple[AdminClient, Cluster],
        pattern: re.Pattern[str] | None,
    ) -> None:
        self._source, self._target, self._pattern = source, target, pattern
        self._refused: dict[Setting, str] = {}
        self._validated: set[Setting] = set()
        self._left_out: tuple[list[str], dict[str, str]] = ([], {})

    def plan(self, progress: Progress) -> Plan:
        """Return what is to be copied now.

        Raises:
            MirrorConflict: a topic cannot be copied without mixing its records with others.
            KafkaError: a cluster cannot be read.
        """
        source = read_metadata(*self._source)
        target = read_metadata(*self._target)
        names = [name for name in sorted(source.topics) if not is_of_the_cluster(name)]
        left_out = self._internal(names)
        names = [name for name in names if name not in left_out and self._is_chosen(name)]
        _ensure_led(source, names)
        places = [(name, number) for name in names for number in source.topics[name].partitions]
        with self._source[1].errors("read the offsets of the source"):
            first = read_ends(*self._source, places, EARLIEST)
            ends = read_ends(*self._source, places)
        settings = read_settings(*self._source, names)
        refused = self._unsupported(settings)
        ids = _read_ids(*self._source, names)
        plans = [
            _plan(
                _Found(name, ids[name], settings[name], target, progress),
                refused,
                {place: first[place] for place in places if place[0] == name},
                {place: ends[place] for place in places if place[0] == name},
            )
            for name in names
        ]
        return Plan(
            plans,
            {name: owner for name, owner in left_out.items() if self._is_chosen(name)},
            _deleted(progress, first, [plan.topic for plan in plans if not plan.is_new_copy]),
        )

    def _is_chosen(self, name: str) -> bool:
        return self._pattern is None or self._pattern.fullmatch(name) is not None

    def _unsupported(self, settings: Mapping[str, Mapping[str, str]]) -> dict[Setting, str]:
        wanted = {pair for of in settings.values() for pair in of.items()}
        wanted |= set(WHILE_COPYING.items())
        if new := wanted - self._validated:
            self._refused |= unsupported_settings(*self._target, new)
            self._validated |= new
        return self._refused

    def _internal(self, names: list[str]) -> dict[str, str]:
        """Return the internal topics of applications; they are read again if a topic is new."""
        if self._left_out[0] != names:
            self._left_out = names, topics_of_applications(self._source[1], names)
        return self._left_out[1]


@dataclass(frozen=True, slots=True)
class _Found:
    topic: str
    source_id: str
    settings: Mapping[str, str]
    target: ClusterMetadata
    progress: Progress


def _plan(
    found: _Found, refused: Mapping[Setting, str], first: Offsets, ends: Offsets
) -> TopicPlan:
    topic, progress = found.topic, found.progress
    there = found.target.topics.get(topic)
    known = progress.topics.get(topic)
    is_new_copy = there is None and known is not None
    if known is not None and there is not None:
        _ensure_same_source(topic, known, found.source_id)
    missing = 0 if there is None else len(ends) - len(there.partitions)
    if there is not None and (missing < 0 or (missing > 0 and known is None)):
        raise MirrorConflict(
            f'topic "{topic}" has {len(there.partitions)} partition(s) on the target and '
            f"{len(ends)} on the source",
            hint="Delete the topic on the target, or leave it out with --topics.",
        )
    starts = dict(first)
    if there is not None:
        copied = {place: progress.partition(place).source_next for place in ends}
        starts = {place: max(low, copied[place]) for place, low in first.items()}
        if beyond := [place for place, end in ends.items() if copied[place] > end]:
            raise _recreated(topic, f"Partition {beyond[0][1]} ends before the copied records.")
    is_moved = (
        there is not None
        and known is not None
        and known.moved
        and known.ends == tuple(ends[place] for place in sorted(ends))
    )
    return TopicPlan(
        topic=topic,
        action="none" if is_moved else "create" if there is None else "copy",
        source_id=found.source_id,
        settings={n: v for n, v in found.settings.items() if (n, v) not in refused},
        refused={n: refused[n, v] for n, v in found.settings.items() if (n, v) in refused},
        while_copying={n: v for n, v in WHILE_COPYING.items() if (n, v) not in refused},
        starts=starts,
        ends=ends,
        is_new_copy=is_new_copy,
        partitions_missing=missing,
    )


def _ensure_same_source(topic: str, known: TopicProgress, source_id: str) -> None:
    if known.source_id != source_id:
        raise _recreated(topic, f"Its id was {known.source_id} and is {source_id}.")


def _recreated(topic: str, detail: str) -> MirrorConflict:
    return MirrorConflict(
        f'topic "{topic}" of the source was deleted and created again after it was copied',
        detail=detail,
        hint="To copy it again, delete the topic on the target. Otherwise leave it out with "
        "--topics.",
    )


def _ensure_led(metadata: ClusterMetadata, names: Iterable[str]) -> None:
    """Ensure that every partition can be read.

    Raises:
        KafkaError: a partition has no leader.
    """
    for name in names:
        for number, partition in metadata.topics[name].partitions.items():
            if partition.leader < 0:
                raise KafkaError(
                    f'partition {number} of topic "{name}" of the source has no leader',
                    code=_LEADER_NOT_AVAILABLE,
                    retriable=True,
                    hint="Read the broker's log: the partition may be damaged. To copy the other "
                    "topics, leave this one out with --topics.",
                )


def _read_ids(client: AdminClient, cluster: Cluster, names: list[str]) -> dict[str, str]:
    if not names:
        return {}
    with cluster.errors("describe topics"):
        futures = client.describe_topics(TopicCollection(names))
        return {name: str(cluster.first_result([of]).topic_id) for name, of in futures.items()}


def _deleted(progress: Progress, first: Offsets, topics: list[str]) -> dict[Place, tuple[int, int]]:
    found = {}
    for place, low in first.items():
        copied = progress.partitions[place].source_next if place in progress.partitions else -1
        if place[0] in topics and 0 <= copied < low:
            found[place] = (copied, low)
    return found
