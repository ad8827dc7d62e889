"""One member of a group of the new protocol."""

from dataclasses import dataclass, field, replace

from duolog.coordinator.consumer_groups.messages import MemberHeartbeat
from duolog.coordinator.consumer_groups.records import (
    CurrentAssignment,
    MemberMetadata,
    MemberState,
)


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member: its identity, subscription and state."""

    member_id: str
    metadata: MemberMetadata = field(default_factory=MemberMetadata)
    current: CurrentAssignment = field(default_factory=CurrentAssignment)

    def told(self, request: MemberHeartbeat) -> MemberMetadata:
        """Return the metadata, updated by `request`."""
        old = self.metadata
        topics = old.topics if request.topics is None else tuple(sorted(set(request.topics)))
        timeout_ms = request.rebalance_timeout_ms
        return replace(
            old,
            instance_id=old.instance_id if request.instance_id is None else request.instance_id,
            rack_id=old.rack_id if request.rack_id is None else request.rack_id,
            client_id=request.client_id,
            client_host=request.client_host,
            topics=topics,
            regex=old.regex if request.regex is None else request.regex,
            rebalance_timeout_ms=old.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            assignor=old.assignor if request.assignor is None else request.assignor,
            classic=None,
        )

    def reconciled(self, epoch: int) -> bool:
        """Return whether the member has all of its target of `epoch`."""
        return self.current.state is MemberState.STABLE and self.current.epoch == epoch
