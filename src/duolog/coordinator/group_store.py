"""The groups of a broker with their committed offsets, and the records in flight.

On start: `replay` every record and `end_transaction` for every marker of `__consumer_offsets` in
the order of the log, then `restore` to its end. Until then every request is refused with
COORDINATOR_LOAD_IN_PROGRESS.

A record is in flight from the step that created it until it is replayed or abandoned. A group is
dropped when it is empty and has no record in flight.

Source: Kafka `GroupCoordinatorShard`.
"""

from collections import Counter
from collections.abc import Iterator

from duolog.coordinator.any_group import AnyGroup
from duolog.coordinator.consumer_groups.coordinator import ConsumerGroups
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.records import ConsumerGroupRecord
from duolog.coordinator.errors import (
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    InvalidGroupId,
    UnknownMemberId,
)
from duolog.coordinator.group import Group
from duolog.coordinator.messages import Moment, OffsetsTransaction, Outcome
from duolog.coordinator.offset_store import OffsetStore
from duolog.coordinator.records import (
    TEXT_BYTES_MAX,
    CoordinatorRecord,
    GroupChange,
    GroupRecord,
    OffsetChange,
)
from duolog.coordinator.settings import GroupSettings
from duolog.coordinator.step import Step


class GroupStore:
    """All groups by id.

    Attributes:
        by_id: the groups of both protocols.
        consumer: those of the new protocol.
        offsets: the committed offsets of all groups.
        loading: True until `restore` has ended.
    """

    def __init__(self, settings: GroupSettings) -> None:
        self.by_id: dict[str, AnyGroup] = {}
        self.consumer = ConsumerGroups(self.by_id, settings.consumer)
        self.offsets = OffsetStore()
        self.loading = True
        # The number of records in flight by group.
        self._in_flight: Counter[str] = Counter()

    # Lookups

    def ids(self) -> list[str]:
        """Return the id of every group, for work that is done group by group."""
        return list(self.by_id)

    def known(self, group_id: str) -> AnyGroup:
        """Return the group called `group_id`.

        Raises:
            GroupError: there is no such group, or groups are still being loaded.
        """
        self.ensure_loaded()
        group = self.by_id.get(group_id)
        if group is None:
            raise GroupIdNotFound(f'there is no group "{group_id}"')
        return group

    def of_members(self, group_id: str) -> Group:
        """Return the classic group of a member that sends a request.

        Raises:
            GroupError: there is none, or groups are still being loaded.
        """
        self.ensure_ready(group_id)
        group = self.by_id.get(group_id)
        if not isinstance(group, Group):
            raise UnknownMemberId(f'there is no classic group "{group_id}"')
        return group

    def is_modern(self, group_id: str) -> bool:
        """Return whether the group uses the new protocol. Raises as `ensure_ready`."""
        self.ensure_ready(group_id)
        return isinstance(self.by_id.get(group_id), ConsumerGroup)

    def ensure_ready(self, group_id: str) -> None:
        """Return if requests to this group can be answered.

        Raises:
            InvalidGroupId: the id is empty or too long.
            CoordinatorLoadInProgress: groups are still being loaded.
        """
        if not group_id:
            raise InvalidGroupId("the group id is empty")
        check_length(group_id)
        self.ensure_loaded()

    def ensure_loaded(self) -> None:
        """Return if the groups are loaded.

        Raises:
            CoordinatorLoadInProgress: they are not: try again.
        """
        if self.loading:
            raise CoordinatorLoadInProgress("groups are still being loaded")

    # Records in flight

    def in_flight(self, group_id: str) -> bool:
        """Return whether a record of the group is on its way to the log."""
        return bool(self._in_flight[group_id])

    def sent(self, step: Step) -> Outcome:
        """Return the outcome of a step; its records are in flight from now on."""
        for record in step.outcome.records:
            self._in_flight[record.group_id] += 1
            if isinstance(record, OffsetChange):
                self.offsets.sent(record)
            elif isinstance(record, ConsumerGroupRecord):
                self.consumer.held.sent(record.group_id)
        return step.outcome

    def landed(self, record: CoordinatorRecord) -> None:
        """Count a record as not in flight any more."""
        if isinstance(record, OffsetChange):
            self.offsets.landed(record)
        elif isinstance(record, ConsumerGroupRecord):
            self.consumer.held.landed(record.group_id)
        self._in_flight[record.group_id] -= 1
        assert self._in_flight[record.group_id] >= 0, record
        if not self._in_flight[record.group_id]:
            del self._in_flight[record.group_id]

    # The log

    def replay(
        self,
        record: CoordinatorRecord,
        now: Moment,
        transaction: OffsetsTransaction | None = None,
    ) -> None:
        """Apply a record that the log has accepted."""
        if not self.loading:
            self.landed(record)
        if isinstance(record, OffsetChange):
            self._replay_offset(record, transaction)
        elif isinstance(record, GroupChange):
            self._replay_group(record, now)
        elif self.loading and isinstance(record, ConsumerGroupRecord):
            self.consumer.replay(record)

    def end_transaction(self, transaction: OffsetsTransaction, *, committed: bool) -> None:
        """Apply a marker that the log has accepted: commit or drop the transaction's offsets."""
        for group_id in self.offsets.end_transaction(transaction, committed=committed):
            self.maybe_forget(self.by_id.get(group_id))

    def restore(self, now: Moment) -> Iterator[str]:
        """End the loading, group by group; yield each group's id when it is as it was."""
        assert self.loading
        for group_id, group in list(self.by_id.items()):
            group.restore(now)
            self._forget_if_nothing(group)
            yield group_id
        self.loading = False

    def durable_state(self) -> tuple[dict[str, GroupRecord], object]:
        """Return what the log holds: a replay of it from the start gives the same."""
        groups = {
            group_id: group.persisted
            for group_id, group in self.by_id.items()
            if isinstance(group, Group) and group.persisted is not None
        }
        return groups, self.offsets.durable_state()

    def maybe_forget(self, group: AnyGroup | None) -> None:
        """Drop a group without state, but not while loading: more of its records may follow."""
        if group is not None and not self.loading:
            self._forget_if_nothing(group)

    def _forget_if_nothing(self, group: AnyGroup) -> None:
        if (
            group.forgettable
            and group.group_id not in self.offsets
            and not self._in_flight[group.group_id]
        ):
            del self.by_id[group.group_id]

    def _replay_offset(self, record: OffsetChange, transaction: OffsetsTransaction | None) -> None:
        self.offsets.replay(record, transaction)
        if record.value is not None:
            # A simple consumer's group is known by its offsets alone.
            self.by_id.setdefault(record.group_id, Group(record.group_id))
        else:
            self.maybe_forget(self.by_id.get(record.group_id))

    def _replay_group(self, record: GroupChange, now: Moment) -> None:
        group = self.by_id.get(record.group_id)
        if record.value is None:
            if isinstance(group, Group):
                group.persisted = None
                self.maybe_forget(group)
            return
        if isinstance(group, ConsumerGroup) and not self.loading:
            return  # It has replaced the classic group while this record was in flight.
        if not isinstance(group, Group):
            group = self.by_id[record.group_id] = Group(record.group_id)
        if self.loading:
            group.persisted = record.value
        else:
            group.accept(record.value, now.wall_ms)


def check_length(group_id: str) -> None:
    """Let through an id that fits into a record.

    Raises:
        InvalidGroupId: it does not.
    """
    if len(group_id.encode()) > TEXT_BYTES_MAX:
        raise InvalidGroupId(f"the group id is longer than {TEXT_BYTES_MAX} bytes")
