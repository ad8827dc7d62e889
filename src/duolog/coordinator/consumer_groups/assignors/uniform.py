"""The uniform assignor: everybody gets as many partitions as the others, and keeps what it has.

    keep      what a member was to own and still reads
    hand out  free partitions, each to the reader that has the fewest
    level     move a partition from a reader that has two more than another reader of its topic

No move could make the result more even, also when members read different topics. Topics that are
read by the same members are handled together.

Source: Kafka `UniformAssignor`, for what is promised; how it is reached is Duolog's own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from uuid import UUID

from duolog.coordinator.consumer_groups.assignors.spec import MemberSpec
from duolog.coordinator.consumer_groups.records import Assignment

TopicIdPartition = tuple[UUID, int]
Readers = tuple[str, ...]


def assign_uniform(
    members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]
) -> dict[str, Assignment]:
    """Return what each member shall own; `partitions` counts the partitions of each topic."""
    plan = _Plan(members, partitions)
    # Topics that few can read come first: who can read everything makes up for them.
    classes = sorted(plan.topics_by_readers, key=lambda readers: (len(readers), readers))
    for readers in classes:
        plan.hand_out(readers)
    while any(plan.level(readers) for readers in classes):
        pass
    return plan.assignments()


class _Plan:
    """An assignment in the making."""

    def __init__(self, members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> None:
        self._members = members
        self._partitions = partitions
        self.topics_by_readers = _topics_by_readers(members)
        self._readers_of = {
            topic_id: readers
            for readers, topics in self.topics_by_readers.items()
            for topic_id in topics
        }
        self._load = dict.fromkeys(members, 0)
        self._owned: dict[tuple[str, Readers], list[TopicIdPartition]] = defaultdict(list)
        self._taken: set[TopicIdPartition] = set()
        for member_id in sorted(members):
            self._keep(member_id, members[member_id])

    def hand_out(self, readers: Readers) -> None:
        """Give each free partition of these readers' topics to the one that has the fewest."""
        heap = [(self._load[member_id], member_id) for member_id in readers]
        heapify(heap)
        for topic_id in sorted(self.topics_by_readers[readers]):
            for index in range(self._partitions[topic_id]):
                if (topic_id, index) not in self._taken:
                    _, member_id = heappop(heap)
                    self._take(member_id, (topic_id, index))
                    heappush(heap, (self._load[member_id], member_id))

    def level(self, readers: Readers) -> bool:
        """Move partitions among these readers until no move helps; tell whether one was made."""
        low = [(self._load[member_id], member_id) for member_id in readers]
        high = [(-self._load[m], m) for m in readers if self._owned.get((m, readers))]
        heapify(low)
        heapify(high)
        moved = False
        while high:
            load, giver = high[0]
            if -load != self._load[giver] or not self._owned[giver, readers]:
                heappop(high)
                if self._owned[giver, readers]:
                    heappush(high, (-self._load[giver], giver))
                continue
            while low[0][0] != self._load[low[0][1]]:
                _, stale = heappop(low)
                heappush(low, (self._load[stale], stale))
            taker = low[0][1]
            if self._load[giver] - self._load[taker] < 2:
                break
            moved = True
            self._load[giver] -= 1
            self._take(taker, self._owned[giver, readers].pop())
            heappush(high, (-self._load[taker], taker))
        return moved

    def assignments(self) -> dict[str, Assignment]:
        found: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in self._members}
        for (member_id, _), owned in self._owned.items():
            for topic_id, index in owned:
                found[member_id].setdefault(topic_id, set()).add(index)
        return {
            member_id: {topic_id: frozenset(indexes) for topic_id, indexes in topics.items()}
            for member_id, topics in found.items()
        }

    def _keep(self, member_id: str, spec: MemberSpec) -> None:
        for topic_id in sorted(spec.topics & spec.previous.keys()):
            for index in sorted(spec.previous[topic_id]):
                partition = topic_id, index
                if index < self._partitions[topic_id] and partition not in self._taken:
                    self._take(member_id, partition)

    def _take(self, member_id: str, partition: TopicIdPartition) -> None:
        self._taken.add(partition)
        self._owned[member_id, self._readers_of[partition[0]]].append(partition)
        self._load[member_id] += 1


def _topics_by_readers(members: Mapping[str, MemberSpec]) -> dict[Readers, list[UUID]]:
    readers: dict[UUID, list[str]] = defaultdict(list)
    for member_id in sorted(members):
        for topic_id in members[member_id].topics:
            readers[topic_id].append(member_id)
    found: dict[Readers, list[UUID]] = defaultdict(list)
    for topic_id, ids in _ordered(readers.items()):
        found[tuple(ids)].append(topic_id)
    return found


def _ordered(items: Iterable[tuple[UUID, list[str]]]) -> list[tuple[UUID, list[str]]]:
    return sorted(items, key=lambda item: item[0])
