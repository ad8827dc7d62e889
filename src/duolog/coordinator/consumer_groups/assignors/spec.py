"""The input of an assignor for each member."""

from dataclasses import dataclass, field
from uuid import UUID

from duolog.coordinator.consumer_groups.records import Assignment


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """One member.

    Args:
        topics: the topics that it reads, of those that exist.
        previous: what it was to own until now, for assignors that move little.
    """

    topics: frozenset[UUID]
    instance_id: str | None = None
    previous: Assignment = field(default_factory=dict)
