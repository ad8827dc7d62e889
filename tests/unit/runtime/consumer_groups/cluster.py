"""A cluster in memory, as groups see it: committed offsets, ends, and times of records."""

from collections.abc import Collection

from confluent_kafka.admin import OffsetSpec

from duolog.runtime.consumer_groups.cluster_groups import GroupList, Offsets
from duolog.runtime.consumer_groups.groups import CLASSIC, Described, Listed, Member
from duolog.runtime.consumer_groups.metadata import Metadata, Place
from duolog.runtime.consumer_groups.positions import EARLIEST, LATEST, NO_RECORD, Behind

BROKER = "127.0.0.1:9092"


def listed(name: str, state: str = "Empty", protocol: str = CLASSIC) -> Listed:
    return Listed(name, state, protocol, "consumer", BROKER)


class FakePositions:
    """Partitions whose record at offset N has the time `1000 * N`."""

    def __init__(self, ends: dict[Place, int], begins: dict[Place, int] | None = None) -> None:
        self.ends = ends
        self.begins = begins or {}
        self.only_markers: set[Place] = set()
        self.unread: set[Place] = set()
        self.leaderless: set[Place] = set()

    def metadata(self) -> Metadata:
        return Metadata({0: BROKER}, dict.fromkeys(self.ends.keys() - self.leaderless, 0))

    def offsets(self, places: Collection[Place], spec: OffsetSpec) -> dict[Place, int]:
        asked = [place for place in places if place in self.ends]
        if spec is LATEST:
            return {place: self.ends[place] for place in asked}
        if spec is EARLIEST:
            return {place: self.begins.get(place, 0) for place in asked}
        at_ms = spec._value  # noqa: SLF001 - it has no other way
        found = {}
        for place in asked:
            offset = max(-(-at_ms // 1000), self.begins.get(place, 0))
            found[place] = offset if offset < self.ends[place] else -1
        return found

    def first_times(self, behind: Behind) -> dict[tuple[Place, int], int]:
        return {
            (place, offset): NO_RECORD if place in self.only_markers else 1000 * offset
            for place, offset in behind
            if place not in self.unread
        }


class FakeGroups:
    """Groups with committed offsets and members; it notes changes."""

    def __init__(self, groups: Collection[Listed], committed: dict[str, Offsets]) -> None:
        self.groups = {group.name: group for group in groups}
        self.offsets = committed
        self.members: dict[str, tuple[Member, ...]] = {}
        self.problems: list[str] = []
        self.changes: list[object] = []

    def listed(self) -> GroupList:
        return GroupList(dict(self.groups), self.problems)

    def described(self, groups: Collection[Listed]) -> dict[str, Described]:
        return {
            group.name: Described(
                *(group.name, group.state, group.protocol, "range", None),
                self.members.get(group.name, ()),
            )
            for group in groups
            if group.name in self.groups
        }

    def committed(self, groups: Collection[Listed]) -> dict[str, Offsets]:
        return {
            group.name: dict(self.offsets.get(group.name, {}))
            for group in groups
            if group.name in self.groups
        }

    def commit(self, group: Listed, offsets: Offsets) -> None:
        self.changes.append((group.name, offsets))
        self.offsets.setdefault(group.name, {}).update(offsets)

    def delete(self, group: Listed) -> None:
        self.changes.append(("delete", group.name))

    def delete_offsets(self, group: Listed, places: Collection[Place]) -> None:
        self.changes.append(("delete offsets", group.name, list(places)))


def member(client_id: str, *assigned: Place, host: str = "10.0.0.7") -> Member:
    return Member(f"{client_id}-1", "", client_id, host, assigned)
