"""The base of both kinds of groups: an id, offsets, and deletion.

A group id belongs to one group, of the classic or of the new protocol. Code that commits, fetches
or deletes offsets, lists groups or deletes one need not know which kind it is.

Source: Kafka `org.apache.kafka.coordinator.group.Group`.
"""

from typing import Protocol

from duolog.coordinator.messages import CommitRequest, ListedGroup, Moment
from duolog.coordinator.records import CoordinatorRecord, OffsetRecord
from duolog.coordinator.step import Step


class AnyGroup(Protocol):
    """A group of either kind."""

    @property
    def group_id(self) -> str: ...

    @property
    def empty(self) -> bool:
        """Return whether the group has no members and no pending joins."""

    @property
    def forgettable(self) -> bool:
        """Return whether the group is empty and has no records in the log except offsets."""

    def listed(self) -> ListedGroup:
        """Return the group's entry in ListGroups."""

    def check_commit(self, request: CommitRequest, step: Step) -> None:
        """Check that the member may commit offsets, and restart its session.

        Raises:
            GroupError: no commit is allowed now, or not by this member.
        """

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check that the member may fetch offsets.

        Raises:
            GroupError: the member is unknown, or not at this epoch.
        """

    def check_offset_delete(self) -> None:
        """Check that offsets may be deleted.

        Raises:
            NonEmptyGroup: the group has members, and their subscriptions are unknown.
        """

    def check_delete(self) -> None:
        """Check that the group may be deleted.

        Raises:
            NonEmptyGroup: it has members.
        """

    def subscribes_to(self, topic: str) -> bool:
        """Return whether a member subscribes to the topic, so that its offsets do not expire."""

    def retained_since_ms(self, offset: OffsetRecord) -> int | None:
        """Return the wall time at which the retention of an offset starts; None for never."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the tombstones that remove the group from the log, without its offsets."""

    def restore(self, now: Moment) -> None:
        """Restore the state in the log after a restart; each session starts again."""

    def next_deadline_ms(self) -> int | None:
        """Return the monotonic time of the next timeout of the group."""
