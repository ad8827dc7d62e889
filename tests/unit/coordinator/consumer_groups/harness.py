"""Harness for groups of the new protocol: topics, a log, a clock that a test moves."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from duolog.coordinator.consumer_groups.coordinator import ConsumerGroups
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.messages import HeartbeatReply, MemberHeartbeat
from duolog.coordinator.consumer_groups.records import (
    Assignment,
    ConsumerGroupRecord,
    decode_record,
)
from duolog.coordinator.consumer_groups.topics import TopicInfo
from duolog.coordinator.messages import Moment, Outcome
from duolog.coordinator.settings import ConsumerGroupSettings

NAMESPACE = UUID(int=1)


class FakeTopics:
    """Topics that are created, deleted and grown by a test."""

    def __init__(self, **partitions: int) -> None:
        self.version = 0
        self._found: dict[str, TopicInfo] = {}
        for name, count in partitions.items():
            self.create(name, count)

    def create(self, name: str, partitions: int) -> None:
        self.version += 1
        topic_id = uuid5(NAMESPACE, f"{name} {self.version}")
        self._found[name] = TopicInfo(topic_id, name, partitions)

    def delete(self, name: str) -> None:
        self.version += 1
        del self._found[name]

    def grow(self, name: str, partitions: int) -> None:
        self.version += 1
        self._found[name] = self._found[name]._replace(partitions=partitions)

    def find(self, name: str) -> TopicInfo | None:
        return self._found.get(name)

    def name_of(self, topic_id: UUID) -> str | None:
        return next((t.name for t in self._found.values() if t.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._found

    def plain(self, assignment: Assignment | None) -> dict[str, list[int]] | None:
        """Return an assignment by the topics' names; a deleted topic is `gone`."""
        if assignment is None:
            return None
        found = {self.name_of(topic_id) or "gone": sorted(p) for topic_id, p in assignment.items()}
        return dict(sorted(found.items()))


@dataclass
class Member:
    """A consumer as far as the protocol requires: it owns its assignment from its next heartbeat on."""

    harness: "ConsumerGroupHarness"
    member_id: str
    topics: tuple[str, ...] | None = ("t",)
    regex: str | None = None
    instance_id: str | None = None
    assignor: str | None = None
    epoch: int = 0
    owned: Assignment = field(default_factory=dict)

    def beat(self, **changes: Any) -> HeartbeatReply:
        """Send a client's heartbeat, and apply the reply."""
        joining = self.epoch == 0
        fields: dict[str, Any] = {
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
            "owned": {} if joining else self.owned,
        }
        if joining:
            fields |= {
                "topics": self.topics,
                "regex": self.regex,
                "assignor": self.assignor,
                "rebalance_timeout_ms": 60_000,
            }
        reply = self.harness.ask(**(fields | changes))
        self.epoch = reply.member_epoch
        if reply.assignment is not None:
            self.owned = reply.assignment
        return reply

    @property
    def has(self) -> dict[str, list[int]] | None:
        return self.harness.topics.plain(self.owned)

    def leave(self, epoch: int = -1) -> HeartbeatReply:
        return self.harness.ask(
            member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )


class ConsumerGroupHarness:
    """The part of a broker that serves groups of the new protocol."""

    def __init__(self, settings: ConsumerGroupSettings | None = None, **partitions: int) -> None:
        self.settings = settings or ConsumerGroupSettings()
        self.topics = FakeTopics(**(partitions or {"t": 4}))
        self.now = Moment(1_385_000_000_000, 0)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.open()

    def open(self) -> None:
        self.groups: dict[str, Any] = {}
        self.front = ConsumerGroups(self.groups, self.settings)
        self.front.topics = self.topics

    @property
    def group(self) -> ConsumerGroup:
        group: ConsumerGroup = self.groups["g"]
        return group

    def member(self, member_id: str, **fields: Any) -> Member:
        return Member(self, member_id, **fields)

    def joined(self, member_id: str, **fields: Any) -> Member:
        member = self.member(member_id, **fields)
        member.beat()
        return member

    def ask(self, **fields: Any) -> HeartbeatReply:
        """Send a heartbeat; what it wrote is in the log, and replayed."""
        request = MemberHeartbeat(**({"group_id": "g", "client_id": "c"} | fields))
        outcome = self.front.heartbeat(request, "member", self.now)
        self.take(outcome)
        reply = outcome.deferred[0].reply
        assert isinstance(reply, HeartbeatReply)
        return reply

    def take(self, outcome: Outcome) -> None:
        self.log += ((record.encode_key(), record.encode_value()) for record in outcome.records)
        self.front.stage(outcome)

    def advance(self, ms: int) -> None:
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)

    def tick(self, ms: int) -> None:
        """Let time pass, and what is due happen."""
        self.advance(ms)
        self.take(self.front.expire(self.group, self.now))

    def restart(self) -> None:
        self.open()
        for key, value in self.log:
            self.front.replay(decoded(key, value))
        for group in self.groups.values():
            group.restore(self.now)

    def settle(self, *members: Member) -> None:
        """Let all members send heartbeats until the group is stable."""
        for _ in range(20):
            before = len(self.log)
            for member in members:
                member.beat()
            if len(self.log) == before:
                return
        raise AssertionError("the group does not settle")


def decoded(key: bytes, value: bytes | None) -> ConsumerGroupRecord:
    return decode_record(key, value)
