"""Inputs and outputs of a group of the new protocol, independent of API versions."""

from dataclasses import dataclass
from typing import NamedTuple

from duolog.coordinator.consumer_groups.records import Assignment
from duolog.coordinator.errors import NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberHeartbeat:
    """ConsumerGroupHeartbeat: None, and -1 for the timeout, mean "as before".

    Args:
        member_epoch: 0 joins, -1 leaves, -2 is a static member that leaves temporarily.
        owned: the partitions that the member owns; None if they have not changed.
        fresh_id: a random text, the id of a member that does not send one.
        member_id_required: the member generates its id itself (version 1).
    """

    group_id: str
    member_id: str = ""
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Assignment | None = None
    client_id: str = ""
    client_host: str = ""
    fresh_id: str = ""
    member_id_required: bool = True

    @property
    def full(self) -> bool:
        """True for a full heartbeat, whose response must include the assignment."""
        reads = self.topics is not None or self.regex is not None
        told = self.rebalance_timeout_ms != -1 and reads and self.owned is not None
        return self.member_epoch == 0 or told


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatReply:
    """The member's epoch, and its assignment if it changed or was asked for."""

    error_code: int = NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None

    def refused(self, error_code: int) -> "HeartbeatReply":
        return HeartbeatReply(error_code=error_code)


class DescribedConsumer(NamedTuple):
    """One member as an administrator sees it; `classic` says which protocol it uses."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    regex: str
    assigned: Assignment
    target: Assignment
    classic: bool


class DescribedConsumerGroup(NamedTuple):
    """One group as an administrator sees it."""

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]
