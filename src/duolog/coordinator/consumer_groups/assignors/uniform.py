"""The uniform assignor: balances partition counts across members and keeps assignments sticky.

    keep     the partitions of a member's previous target whose topics it still subscribes to
    assign   each free partition to the subscriber with the fewest partitions
    balance  move a partition if its owner has at least two more than another subscriber

The result is as even as possible, even if members subscribe to different topics. Topics with the
same subscribers are handled together.

Source: Kafka `UniformAssignor` for the guarantees; the algorithm is Duolog's own.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from duolog.coordinator.consumer_groups.assignors.spec import MemberSpec
from duolog.coordinator.consumer_groups.records import Assignment

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
    """An assignment in the making. Partitions are numbered over all topics: numbers hash fast."""

    def __init__(self, members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> None:
        self._members = members
        self._partitions = partitions
        self.topics_by_readers = _topics_by_readers(members)
        self._load = dict.fromkeys(members, 0)
        self._owned: dict[Readers, dict[str, list[int]]] = {}
        self._first: dict[UUID, int] = {}
        self._owned_of: dict[UUID, dict[str, list[int]]] = {}
        total = 0
        for readers, topics in self.topics_by_readers.items():
            owned = self._owned[readers] = {member_id: [] for member_id in readers}
            for topic_id in topics:
                self._first[topic_id] = total
                self._owned_of[topic_id] = owned
                total += partitions[topic_id]
        self._taken = bytearray(total)
        for member_id in sorted(members):
            self._keep(member_id, members[member_id])

    def hand_out(self, readers: Readers) -> None:
        """Give each free partition of these readers' topics to the one that has the fewest."""
        heap = [(self._load[member_id], member_id) for member_id in readers]
        heapify(heap)
        owned = self._owned[readers]
        for topic_id in self.topics_by_readers[readers]:
            first = self._first[topic_id]
            for number in range(first, first + self._partitions[topic_id]):
                if not self._taken[number]:
                    load, member_id = heap[0]
                    owned[member_id].append(number)
                    self._load[member_id] = load + 1
                    heapreplace(heap, (load + 1, member_id))

    def level(self, readers: Readers) -> bool:
        """Move partitions among these readers until no move helps; return whether one was made."""
        owned = self._owned[readers]
        low = [(self._load[member_id], member_id) for member_id in readers]
        high = [(-self._load[member_id], member_id) for member_id in readers if owned[member_id]]
        heapify(low)
        heapify(high)
        moved = False
        while high:
            load, giver = high[0]
            if not owned[giver]:
                heappop(high)
                continue
            if -load != self._load[giver]:
                heapreplace(high, (-self._load[giver], giver))
                continue
            while low[0][0] != self._load[low[0][1]]:
                heapreplace(low, (self._load[low[0][1]], low[0][1]))
            taker = low[0][1]
            if self._load[giver] - self._load[taker] < 2:
                break
            moved = True
            owned[taker].append(owned[giver].pop())
            self._load[giver] -= 1
            self._load[taker] += 1
            heappush(high, (-self._load[taker], taker))
        return moved

    def assignments(self) -> dict[str, Assignment]:
        found: dict[str, dict[UUID, frozenset[int]]] = {
            member_id: {} for member_id in self._members
        }
        for readers, topics in self.topics_by_readers.items():
            starts = [self._first[topic_id] for topic_id in topics]
            for member_id, numbers in self._owned[readers].items():
                numbers.sort()
                low = 0
                while low < len(numbers):
                    place = bisect_right(starts, numbers[low]) - 1
                    start, topic_id = starts[place], topics[place]
                    high = bisect_left(numbers, start + self._partitions[topic_id])
                    indexes = frozenset(number - start for number in numbers[low:high])
                    found[member_id][topic_id] = indexes
                    low = high
        return dict(found)

    def _keep(self, member_id: str, spec: MemberSpec) -> None:
        for topic_id in sorted(spec.previous.keys() & spec.topics):
            first, count = self._first[topic_id], self._partitions[topic_id]
            mine = self._owned_of[topic_id][member_id]
            for index in sorted(spec.previous[topic_id]):
                if index < count and not self._taken[first + index]:
                    self._taken[first + index] = 1
                    mine.append(first + index)
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
