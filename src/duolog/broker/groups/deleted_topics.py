"""Topics that were deleted, and whose committed offsets still have to be removed.

The offsets of a topic that is gone get tombstones, so that a topic recreated under its name has
none. The groups are searched in time slices, again until no topic was deleted meanwhile.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Final

from duolog.broker.groups.group_timers import moment
from duolog.coordinator.records import NO_TOPIC_ID

if TYPE_CHECKING:
    from uuid import UUID

    from duolog.broker.groups.needs import Broker
    from duolog.coordinator.coordinator import GroupCoordinator
    from duolog.coordinator.messages import Outcome

KEYS_A_STEP: Final = 250


class DeletedTopics:
    """The deleted topics of one broker.

    Attributes:
        sweeping: True while the groups are being searched.
    """

    def __init__(self, broker: "Broker", coordinator: "GroupCoordinator") -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._deleted: dict[str, int] = {}
        """Topics that were deleted and whose offsets were not looked for since, in order."""
        self._deletions = count()
        self.sweeping = False

    def add(self, topic: str) -> None:
        """Take note of a deletion; `sweep` does the work."""
        self._deleted[topic] = next(self._deletions)

    def topic_ids(self, name: str) -> "frozenset[UUID]":
        """Return the topic ids under which offsets of this name count.

        There is none if there is no such topic. An offset without an id, from before ids were kept,
        counts for whatever topic has the name, unless one of this name was deleted.
        """
        topic = self._broker.topics.known(name)
        if topic is None:
            return frozenset()
        return frozenset((topic.id,) if name in self._deleted else (topic.id, NO_TOPIC_ID))

    def sweep(self, carry_out: "Callable[[Outcome], None]") -> Iterator[None]:
        """Write tombstones for all offsets of topics that are gone, until none goes meanwhile."""
        self.sweeping = True
        try:
            yield from self._sweep_all(carry_out)
        finally:
            self.sweeping = False

    def _sweep_all(self, carry_out: "Callable[[Outcome], None]") -> Iterator[None]:
        offsets = self._coordinator.offsets
        while True:
            last = next(self._deletions)
            for group_id in self._coordinator.store.ids():
                keys = offsets.keys(group_id)
                for start in range(0, len(keys), KEYS_A_STEP):
                    some = keys[start : start + KEYS_A_STEP]
                    now = moment(self._broker.clock)
                    carry_out(offsets.forget(group_id, some, self.topic_ids, now))
                    yield
                yield
            self._deleted = {name: at for name, at in self._deleted.items() if at > last}
            if not self._deleted:
                return
