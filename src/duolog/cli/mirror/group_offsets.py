"""Move the committed offsets of groups, so that each continues with its next unread record.

An offset is translated exactly, see `offset_map`. A group whose offset on the target is not one
that the mirror has committed has started there, and is not changed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.groups import read_groups
from duolog.cli.kafka.topics import Offsets, Place
from duolog.cli.mirror.progress import Entry, Progress, group_entry
from duolog.core.errors import KafkaError

_NO_OFFSET: Final = -1
_WITH_MEMBERS: Final = frozenset({25, 27, 68})
"""UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS and NON_EMPTY_GROUP."""
_GROUP_ID_NOT_FOUND: Final = 69
_TYPES: Final = frozenset(
    {ConsumerGroupType.CLASSIC, ConsumerGroupType.CONSUMER, ConsumerGroupType.UNKNOWN}
)
"""Apache Kafka before 3.8 does not report a type. Unknown groups without offsets do not matter."""

Groups = dict[str, dict[Place, TopicPartition]]
"""The committed offsets of each group, with their metadata."""


@dataclass(slots=True)
class MovedGroups:
    """The result of one step."""

    moved: dict[str, int] = field(default_factory=dict)
    """The number of partitions of each group whose offsets were committed."""
    started: list[str] = field(default_factory=list)
    """Groups that already continue on the target."""
    with_members: list[str] = field(default_factory=list)
    """Groups that have members on the target, which prevents a commit."""


def read_committed_groups(
    client: AdminClient, cluster: Cluster, pattern: re.Pattern[str] | None
) -> Groups:
    """Return the groups whose whole name matches, with their committed offsets.

    Raises:
        KafkaError: the cluster cannot be read.
    """
    names = [
        name
        for name, group in sorted(read_groups(client, cluster).items())
        if group.type in _TYPES and (pattern is None or pattern.fullmatch(name))
    ]
    return {name: committed for name in names if (committed := _committed(client, cluster, name))}


def translated(
    progress: Progress,
    committed: Mapping[Place, TopicPartition],
    ends: Offsets,
    *,
    is_complete: bool,
) -> dict[Place, TopicPartition]:
    """Return the offsets of the target, for the partitions in `ends`.

    Args:
        progress: the map of each partition's offsets.
        committed: source offsets of a group.
        ends: target offsets at which a group continues that has read every record.
        is_complete: whether every record is copied. Otherwise, a partition is left out if its
            record at the committed offset may come later.
    """
    found = {}
    for place, at in committed.items():
        if place in ends:
            partition = progress.partition(place)
            offset = partition.offsets.translate(at.offset)
            if offset is None and (at.offset <= partition.read_to or is_complete):
                offset = ends[place]
            if offset is not None:
                found[place] = TopicPartition(*place, offset, at.metadata or "")
    return found


def move_groups(
    client: AdminClient,
    target: Cluster,
    progress: Progress,
    wanted: Mapping[str, Mapping[Place, TopicPartition]],
    store: Callable[[Iterable[Entry]], None],
) -> MovedGroups:
    """Commit the offsets of groups on the target.

    `store` writes to the progress topic before each commit, so that after a kill the offset is
    known as the mirror's.

    Raises:
        KafkaError: the target refuses.
    """
    result = MovedGroups()
    existing = read_groups(client, target)
    for group, offsets in wanted.items():
        there = _committed(client, target, group) if group in existing else {}
        ours = {
            place: at for place, at in offsets.items() if _is_ours(progress, group, place, there)
        }
        if len(ours) < len(offsets):
            result.started.append(group)
        changed = {
            place: at
            for place, at in ours.items()
            if place not in there or there[place].offset != at.offset
        }
        if not changed:
            continue
        store(
            group_entry(group, place, (_offset(there, place), at.offset))
            for place, at in changed.items()
        )
        try:
            _commit(client, target, group, list(changed.values()))
        except KafkaError as error:
            if error.code not in _WITH_MEMBERS:
                raise
            result.with_members.append(group)
        else:
            result.moved[group] = len(changed)
    return result


def _is_ours(
    progress: Progress, group: str, place: Place, there: Mapping[Place, TopicPartition]
) -> bool:
    known = progress.groups.get((group, *place), ())
    return place not in there or there[place].offset in known


def _offset(there: Mapping[Place, TopicPartition], place: Place) -> int:
    return there[place].offset if place in there else _NO_OFFSET


def _committed(client: AdminClient, cluster: Cluster, group: str) -> dict[Place, TopicPartition]:
    """Return the committed offsets; none if the group was deleted, or is not one with offsets."""
    with cluster.errors(f'read the offsets of group "{group}"'):
        asked = [ConsumerGroupTopicPartitions(group)]
        try:
            found = cluster.first_result(client.list_consumer_group_offsets(asked).values())
        except KafkaException as error:
            if error.args[0].code() != _GROUP_ID_NOT_FOUND:
                raise
            return {}
    places = found.topic_partitions or ()
    for at in places:
        if at.error is not None:
            raise KafkaError(
                f'could not read the offset of group "{group}" for "{at.topic}-{at.partition}"',
                code=at.error.code(),
                retriable=bool(at.error.retriable()),
                detail=f"{at.error.name()}: {at.error.str()}",
            )
    return {(at.topic, at.partition): at for at in places if at.offset >= 0}


def _commit(
    client: AdminClient, cluster: Cluster, group: str, offsets: list[TopicPartition]
) -> None:
    doing = f'commit the offsets of group "{group}"'
    with cluster.errors(doing):
        request = [ConsumerGroupTopicPartitions(group, offsets)]
        done = cluster.first_result(client.alter_consumer_group_offsets(request).values())
    for at in done.topic_partitions or ():
        if at.error is not None:
            raise KafkaError(
                f'could not {doing} for "{at.topic}-{at.partition}"',
                code=at.error.code(),
                detail=f"{at.error.name()}: {at.error.str()}",
            )
