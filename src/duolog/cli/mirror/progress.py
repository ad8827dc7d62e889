"""The progress of a mirror, stored in a topic of the target.

The topic `duolog-mirror-<cluster id of the source>` has one partition and is compacted. A record's
key is a JSON array, its value a JSON object:

    ["topic", TOPIC]                     ids on both sides, partitions, moved, settled, ends
    ["copied", TOPIC, PARTITION, FIRST]  records of one transaction, from source offset FIRST on
    ["read", TOPIC, PARTITION]           source offset to continue at, if it is not in "copied"
    ["lost", TOPIC, PARTITION]           source offsets that were deleted before they were copied
    ["checked", TOPIC, PARTITION]        last verification, and where the next one starts
    ["reset", TOPIC]                     the target has another topic: the copy starts again
    ["group", GROUP, TOPIC, PARTITION]   offsets that the mirror has committed or is committing

A "copied" record is in the same transaction as the records that it describes. After a kill at any
point, the topic therefore says exactly which records the target has.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from duolog.cli.kafka.topics import Place
from duolog.cli.mirror.offset_map import OffsetMap

CONFIGS: Final = {
    "cleanup.policy": "compact",
    "retention.ms": "-1",
}
_PREFIX: Final = "duolog-mirror-"
RUNS_MAX: Final = 15_000
"""Limit of the runs of a partition in one transaction.

A record with them has less than 1 MB, the default limit of a topic.
"""

Entry = tuple[str, str]
"""Key and value of a record of the progress topic."""
Json = dict[str, Any]  # the values of one kind have the fields that its function writes


def progress_topic(cluster_id: str) -> str:
    """Return the progress topic of a source cluster, which is also the transactional id."""
    return f"{_PREFIX}{cluster_id}"


def is_progress_topic(topic: str) -> bool:
    return topic.startswith(_PREFIX)


@dataclass(slots=True)
class PartitionProgress:
    """The copied records of one partition."""

    source_next: int = -1
    """The source offset after the last copied record; -1 before the first one."""
    last: int = 0
    """The checksum of the last copied record alone."""
    read_to: int = -1
    """The source offset to continue at; -1 before the mirror has taken over the topic.

    It is after markers and aborted records, which `source_next` may not be.
    """
    lost: list[tuple[int, int]] = field(default_factory=list)
    """Source offsets that were deleted before they were copied, each until before the second."""
    target_next: int = -1
    """The target offset after the last copied record; -1 before the first one."""
    records: int = 0
    """The number of copied records since the last completed verification."""
    checksum: int = 0
    """Their checksum."""
    checked_to: int = 0
    """The target offset at which the next verification starts."""
    checked: tuple[int, int] = (0, 0)
    """Number and checksum of the records that the last completed verification compared."""
    offsets: OffsetMap = field(default_factory=OffsetMap)

    @property
    def target_end(self) -> int:
        """The target offset at which a group continues that has read every copied record."""
        return max(self.target_next, self.checked_to, 0)


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """A topic that the mirror has taken over."""

    source_id: str
    target_id: str
    partitions: int
    moved: bool = False
    """Whether it was copied and verified."""
    settled: bool = False
    """Whether it then got its own settings."""
    ends: tuple[int, ...] = ()
    """The end offsets of the source partitions when it was moved."""


@dataclass(slots=True)
class Progress:
    """The replayed content of the progress topic."""

    topics: dict[str, TopicProgress] = field(default_factory=dict)
    partitions: dict[Place, PartitionProgress] = field(default_factory=dict)
    groups: dict[tuple[str, str, int], tuple[int, ...]] = field(default_factory=dict)
    """Offsets that a group may have on the target because of this mirror."""

    def partition(self, place: Place) -> PartitionProgress:
        return self.partitions.setdefault(place, PartitionProgress())

    def replay_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.replay(entry)

    def replay(self, entry: Entry) -> None:
        """Apply a record of the topic."""
        key, value = json.loads(entry[0]), json.loads(entry[1])
        match key:
            case ["topic", str(topic)]:
                self.topics[topic] = TopicProgress(
                    value["source_id"],
                    value["target_id"],
                    value["partitions"],
                    value["moved"],
                    value["settled"],
                    tuple(value["ends"]),
                )
            case ["reset", str(topic)]:
                self._forget(topic)
            case ["copied", str(topic), int(number), int()]:
                self._replay_copied(self.partition((topic, number)), value)
            case ["read", str(topic), int(number)]:
                at = self.partition((topic, number))
                at.read_to = max(at.read_to, value["to"])
            case ["lost", str(topic), int(number)]:
                at = self.partition((topic, number))
                at.lost = [(first, end) for first, end in value["offsets"]]
                at.read_to = max(at.read_to, at.lost[-1][1])
            case ["checked", str(topic), int(number)]:
                at = self.partition((topic, number))
                at.checked = value["records"], value["checksum"]
                at.records, at.checksum, at.checked_to = 0, 0, value["to"]
            case ["group", str(group), str(topic), int(number)]:
                self.groups[group, topic, number] = tuple(value["offsets"])

    def _forget(self, topic: str) -> None:
        self.topics.pop(topic, None)
        self.partitions = {at: of for at, of in self.partitions.items() if at[0] != topic}
        # Committed offsets of groups may outlive the topic: they are still the mirror's.

    def _replay_copied(self, at: PartitionProgress, value: Json) -> None:
        runs = value["runs"]
        at.offsets.add(value["target"], runs)
        at.source_next = runs[-2] + runs[-1]
        at.read_to = max(at.read_to, at.source_next)
        at.target_next = value["target"] + sum(runs[1::2])
        at.records, at.checksum, at.last = value["records"], value["checksum"], value["last"]


def topic_entry(topic: str, of: TopicProgress) -> Entry:
    value = {
        "source_id": of.source_id,
        "target_id": of.target_id,
        "partitions": of.partitions,
        "moved": of.moved,
        "settled": of.settled,
        "ends": list(of.ends),
    }
    return _entry(["topic", topic], value)


def copied_entry(
    place: Place, target: int, runs: list[int], *, records: int, checksum: int, last: int
) -> Entry:
    value = {
        "target": target,
        "runs": runs,
        "records": records,
        "checksum": checksum,
        "last": last,
    }
    return _entry(["copied", *place, runs[0]], value)


def read_entry(place: Place, to: int) -> Entry:
    return _entry(["read", *place], {"to": to})


def lost_entry(place: Place, offsets: Iterable[tuple[int, int]]) -> Entry:
    return _entry(["lost", *place], {"offsets": [list(pair) for pair in offsets]})


def checked_entry(place: Place, to: int, of: PartitionProgress) -> Entry:
    value = {"to": to, "records": of.records, "checksum": of.checksum}
    return _entry(["checked", *place], value)


def reset_entry(topic: str) -> Entry:
    return _entry(["reset", topic], {})


def group_entry(group: str, place: Place, offsets: Iterable[int]) -> Entry:
    return _entry(["group", group, *place], {"offsets": sorted(set(offsets))})


def _entry(key: list[str | int], value: Json) -> Entry:
    return json.dumps(key), json.dumps(value, separators=(",", ":"))
