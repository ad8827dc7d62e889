"""The lag of groups in records and in milliseconds, measured once.

    lag in records         log end offset - committed offset, as Kafka's tools count it
    lag in milliseconds    age of the first record that is not consumed; 0 if there is none

The lag of a group is the sum of records, and the largest of the ages. It is unknown (None) if no
partition with a committed offset has a leader.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from confluent_kafka.admin import OffsetSpec

from duolog.runtime.consumer_groups.cluster_groups import Offsets
from duolog.runtime.consumer_groups.groups import Listed
from duolog.runtime.consumer_groups.metadata import Metadata, Place
from duolog.runtime.consumer_groups.positions import LATEST, NO_RECORD, Behind


class PartitionLag(NamedTuple):
    """One partition of a group.

    Attributes:
        end: the log end offset; None if no broker leads the partition.
        ms: the age of the first record that is not consumed; None if it was not looked at.
    """

    committed: int
    end: int | None
    ms: int | None

    @property
    def records(self) -> int | None:
        """The number of records; never negative: an end may have been read before a commit."""
        return None if self.end is None else max(0, self.end - self.committed)


class GroupLag(NamedTuple):
    """A group at one time.

    Attributes:
        at_ms: the time of measurement.
        complete: False if the age of a partition with a lag is unknown.
    """

    at_ms: int
    partitions: Mapping[Place, PartitionLag]

    @property
    def records(self) -> int | None:
        """The sum over all partitions."""
        return total([one.records for one in self.partitions.values()])

    @property
    def ms(self) -> int | None:
        """The largest age."""
        return max((one.ms for one in self.partitions.values() if one.ms is not None), default=None)

    @property
    def complete(self) -> bool:
        """True if all ages are known."""
        return all(one.ms is not None for one in self.partitions.values() if one.records)


class CommittedOffsets(Protocol):
    """Reads committed offsets; `ClusterGroups` is one."""

    def committed(self, groups: Collection[Listed]) -> dict[str, Offsets]: ...


class KnownPositions(Protocol):
    """Knows ends and times of records; `Positions` is one."""

    def metadata(self) -> Metadata: ...
    def offsets(self, places: Collection[Place], spec: OffsetSpec) -> dict[Place, int]: ...
    def first_times(self, behind: Behind) -> dict[tuple[Place, int], int]: ...


def measure(
    groups: Collection[Listed], offsets: CommittedOffsets, positions: KnownPositions, now_ms: int
) -> dict[str, GroupLag]:
    """Return the lag of each group that is still there.

    Raises:
        KafkaError: a coordinator refuses.
        BrokerUnavailable: one does not answer.
    """
    committed = offsets.committed(groups)
    led = positions.metadata().leaders
    places = {place for of_group in committed.values() for place in of_group if place in led}
    ends = positions.offsets(places, LATEST)
    behind = {
        (place, offset): ends[place]
        for of_group in committed.values()
        for place, offset in of_group.items()
        if ends.get(place, 0) > offset
    }
    times = positions.first_times(behind)

    def lag(place: Place, offset: int) -> PartitionLag:
        end = ends.get(place)
        if end is None:
            return PartitionLag(offset, None, None)
        if end <= offset:
            return PartitionLag(offset, end, 0)
        time_ms = times.get((place, offset))
        if time_ms is None:
            return PartitionLag(offset, end, None)
        return PartitionLag(offset, end, 0 if time_ms == NO_RECORD else max(0, now_ms - time_ms))

    return {
        name: GroupLag(now_ms, {place: lag(place, offset) for place, offset in of_group.items()})
        for name, of_group in committed.items()
    }


def total(numbers: Collection[int | None]) -> int | None:
    """Return the sum of the numbers that are known; None if there is none.

    Example:
        >>> total([1, None, 2]), total([None])
        (3, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
