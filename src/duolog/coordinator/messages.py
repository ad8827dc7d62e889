"""Inputs and outputs of the coordinator, independent of API versions.

`ReplyTo` is any object by which the caller identifies the request. The coordinator only stores it
while a request is pending, and returns it with the reply.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self
from uuid import UUID

from duolog.coordinator.errors import NONE
from duolog.coordinator.records import NO_TOPIC_ID, CoordinatorRecord
from duolog.core.ids import TopicPartition

ReplyTo = object


class Moment(NamedTuple):
    """The current time. Records store `wall_ms`; deadlines use `monotonic_ms`."""

    wall_ms: int
    monotonic_ms: int


class Reply(Protocol):
    """A reply that can turn into a refusal when its records could not be made durable."""

    def refused(self, error_code: int) -> Self: ...


class MemberProtocol(NamedTuple):
    """One way of assigning partitions that a member offers, with its metadata for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """A member requests to join the next generation.

    Args:
        fresh_id: a random text, the coordinator's only source of new member ids.
        member_id_required: a new dynamic member receives its id first (JoinGroup v4 and later).
        skip_assignment_known: the client understands `skip_assignment` (JoinGroup v9 and later).
    """

    group_id: str
    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    fresh_id: str
    member_id_required: bool = True
    skip_assignment_known: bool = False


class JoinedMember(NamedTuple):
    """The information about each member that the leader receives."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinReply:
    """The generation that a member belongs to and, for the leader, all its members."""

    error_code: int = NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False

    def refused(self, error_code: int) -> "JoinReply":
        return JoinReply(error_code=error_code, member_id=self.member_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A member requests its assignment; the leader's request has those of all members."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReply:
    """The assignment of one member in the current generation."""

    error_code: int = NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""

    def refused(self, error_code: int) -> "SyncReply":
        return SyncReply(error_code=error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """A member reports that it is alive."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None


class LeavingMember(NamedTuple):
    """A member to remove; an administrator gives an instance id and an empty member id."""

    member_id: str
    instance_id: str | None = None


class LeftMember(NamedTuple):
    """The result for one `LeavingMember`."""

    member_id: str
    instance_id: str | None
    error_code: int


class CommittedOffset(NamedTuple):
    """An offset that a client has committed, and the id of its topic."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    topic_id: UUID = NO_TOPIC_ID


class Producer(NamedTuple):
    """The producer of a transactional offset commit."""

    producer_id: int
    producer_epoch: int


OffsetsTransaction = tuple[int, int]
"""A transaction as `__consumer_offsets` knows it: the partition there, and the producer's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """Offsets to keep for a group.

    Args:
        generation: the member's generation, or its epoch in a group of the new protocol.
        retention_ms: kept for this long instead of the group's retention (OffsetCommit v2 to v4).
        producer: they count when its transaction commits (TxnOffsetCommit).
        version: of the API; what the group refuses depends on it.
    """

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
    offsets: dict[TopicPartition, CommittedOffset]
    retention_ms: int | None = None
    producer: Producer | None = None
    version: int = 8

    @property
    def transactional(self) -> bool:
        return self.producer is not None


@dataclass(frozen=True, slots=True)
class OffsetsReply:
    """An error code for each partition; 0 if the offset is stored."""

    error_codes: dict[TopicPartition, int]

    def refused(self, error_code: int) -> "OffsetsReply":
        codes = {key: code or error_code for key, code in self.error_codes.items()}
        return replace(self, error_codes=codes)


@dataclass(frozen=True, slots=True)
class DeletedReply:
    """The result of deleting a group."""

    error_code: int = NONE

    def refused(self, error_code: int) -> "DeletedReply":
        return DeletedReply(error_code)


class ListedGroup(NamedTuple):
    """One entry of ListGroups."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class DescribedMember(NamedTuple):
    """One member as an administrator sees it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    """One group as an administrator sees it."""

    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    members: tuple[DescribedMember, ...] = ()


class Letter(NamedTuple):
    """A reply and the request that it answers."""

    to: ReplyTo
    reply: Reply


def _nothing() -> None:
    """Do nothing."""


@dataclass(slots=True)
class Outcome:
    """The effects of a request or of a timer.

    `replies` are sent at once. `records` are appended and replayed when they are durable; only then
    `deferred` are sent. With a `producer`, the records are part of its transaction. `when_staged`
    changes soft state when the records are staged.
    """

    replies: list[Letter] = field(default_factory=list)
    records: list[CoordinatorRecord] = field(default_factory=list)
    deferred: list[Letter] = field(default_factory=list)
    producer: Producer | None = None
    when_staged: Callable[[], None] = _nothing

    def reply(self, to: ReplyTo | None, reply: Reply) -> None:
        """Send `reply` at once, if a request waits for it."""
        if to is not None:
            self.replies.append(Letter(to, reply))
