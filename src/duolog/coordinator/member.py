"""One member of a group and its pending requests."""

from dataclasses import dataclass

from duolog.coordinator.messages import JoinRequest, MemberProtocol, ReplyTo
from duolog.coordinator.records import MemberRecord


@dataclass(slots=True, kw_only=True)
class Member:
    """A consumer, or whatever else assigns work through a group.

    Args:
        deadline_ms: the monotonic time at which the session ends without another sign of life.
        joining: the pending JoinGroup request, answered when the next generation starts.
        syncing: the pending SyncGroup request, answered when the assignment is durable.
        fresh: it has no generation yet, so only its JoinGroup shows that it is alive.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    deadline_ms: int = 0
    joining: ReplyTo | None = None
    syncing: ReplyTo | None = None
    fresh: bool = False

    @classmethod
    def from_request(cls, request: JoinRequest, member_id: str) -> "Member":
        """Return the member that `request` asks for, under the id that it was given."""
        return cls(
            member_id=member_id,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            fresh=True,
        )

    @classmethod
    def from_record(cls, record: MemberRecord, protocol_name: str, now_ms: int) -> "Member":
        """Return a member as a restart finds it: with its assignment and a whole session ahead."""
        return cls(
            member_id=record.member_id,
            instance_id=record.instance_id,
            client_id=record.client_id,
            client_host=record.client_host,
            rebalance_timeout_ms=record.rebalance_timeout_ms,
            session_timeout_ms=record.session_timeout_ms,
            protocols=(MemberProtocol(protocol_name, record.subscription),),
            assignment=record.assignment,
            deadline_ms=now_ms + record.session_timeout_ms,
        )

    def to_record(self, protocol_name: str, assignment: bytes) -> MemberRecord:
        return MemberRecord(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol_name),
            assignment,
        )

    def metadata(self, protocol_name: str) -> bytes:
        """Return what the member said for `protocol_name`, empty if it does not offer it."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""

    @property
    def protocol_names(self) -> frozenset[str]:
        return frozenset(protocol.name for protocol in self.protocols)

    def vote(self, candidates: frozenset[str]) -> str:
        """Return the member's first choice among `candidates`."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)

    def touch(self, now_ms: int) -> None:
        """Restart the session."""
        self.deadline_ms = now_ms + self.session_timeout_ms

    @property
    def session_deadline_ms(self) -> int | None:
        """The time at which the session expires; None while a request of the member is pending."""
        waiting = self.joining is not None or self.syncing is not None
        return None if waiting and not self.fresh else self.deadline_ms
