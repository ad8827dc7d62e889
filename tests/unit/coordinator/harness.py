"""Harness for the group coordinator: a log, a disk, a clock that a test moves."""

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.messages import (
    CommitRequest,
    CommittedOffset,
    HeartbeatRequest,
    JoinRequest,
    LeavingMember,
    LeftMember,
    MemberProtocol,
    Moment,
    OffsetsTransaction,
    Outcome,
    Producer,
    SyncRequest,
)
from duolog.coordinator.records import NO_TOPIC_ID
from duolog.coordinator.settings import GroupSettings
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.coordinator.records import CoordinatorRecord

OLD, NEW = UUID(int=1), UUID(int=2)
"""Ids of two topics of one name."""


class Ended(NamedTuple):
    """A marker in the log."""

    transaction: OffsetsTransaction
    committed: bool


def _transaction(outcome: Outcome) -> OffsetsTransaction | None:
    return (0, outcome.producer.producer_id) if outcome.producer else None


class CoordinatorHarness:
    """The part of a broker that serves a coordinator; replies are put in `inbox` by the name of their request.

    `durable` set to False delays the sync of records until `flush`. A request returns its reply, or
    None while it is parked.
    """

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.coordinator = GroupCoordinator(self.settings)
        self.now = Moment(1_385_000_000_000, 0)
        list(self.coordinator.store.restore(self.now))
        self.inbox: dict[Any, Any] = {}
        self.log: list[tuple[CoordinatorRecord, OffsetsTransaction | None] | Ended] = []
        self.durable = True
        self.waiting: list[Outcome] = []
        self.ids = 0

    def advance(self, ms: int) -> None:
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)

    def take(self, outcome: Outcome) -> None:
        self.inbox.update({letter.to: letter.reply for letter in outcome.replies})
        self.log += ((record, _transaction(outcome)) for record in outcome.records)
        self.coordinator.stage(outcome)
        self.waiting.append(outcome)
        if self.durable:
            self.flush()

    def flush(self) -> None:
        waiting, self.waiting = self.waiting, []
        for outcome in waiting:
            for record in outcome.records:
                self.coordinator.store.replay(record, self.now, _transaction(outcome))
            for letter in self.coordinator.settle(outcome, self.now):
                self.inbox[letter.to] = letter.reply

    def fail(self, error_code: int) -> None:
        waiting, self.waiting = self.waiting, []
        for outcome in waiting:
            self.take(self.coordinator.abandon(outcome, error_code, self.now))

    def tick(self, ms: int, group_id: str = "g") -> None:
        self.advance(ms)
        self.take(self.coordinator.expire(group_id, self.now))

    def restart(self) -> None:
        self.coordinator = GroupCoordinator(self.settings)
        for item in self.log:
            if isinstance(item, Ended):
                self.coordinator.store.end_transaction(item.transaction, committed=item.committed)
            else:
                record, transaction = item
                self.coordinator.store.replay(record, self.now, transaction)
        list(self.coordinator.store.restore(self.now))
        self.inbox.clear()
        self.waiting.clear()

    def join(self, to: str, member_id: str = "", **changes: Any) -> Any:
        self.ids += 1
        fields: dict[str, Any] = {
            "group_id": "g",
            "member_id": member_id,
            "client_id": "c",
            "client_host": "/127.0.0.1",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": (MemberProtocol("range", b"meta"),),
            "fresh_id": str(self.ids),
            "member_id_required": False,
        }
        request = JoinRequest(**(fields | changes))
        self.inbox.pop(to, None)
        self.take(self.coordinator.join(request, to, self.now))
        return self.inbox.get(to)

    def sync(
        self,
        to: str,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        **changes: Any,
    ) -> Any:
        request = SyncRequest(
            group_id="g",
            generation=generation,
            member_id=member_id,
            assignments=assignments or {},
            **changes,
        )
        self.inbox.pop(to, None)
        self.take(self.coordinator.sync(request, to, self.now))
        return self.inbox.get(to)

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> None:
        request = HeartbeatRequest(
            group_id="g", generation=generation, member_id=member_id, instance_id=instance_id
        )
        self.coordinator.heartbeat(request, self.now)

    def leave(self, *leaving: LeavingMember) -> tuple[LeftMember, ...]:
        left, outcome = self.coordinator.leave("g", leaving, self.now)
        self.take(outcome)
        return left

    def commit(
        self,
        to: str = "commit",
        offset: int = 1,
        topic_id: UUID = NO_TOPIC_ID,
        **changes: Any,
    ) -> Any:
        committed = CommittedOffset(offset, topic_id=topic_id)
        fields: dict[str, Any] = {
            "group_id": "g",
            "offsets": {TopicPartition("t", 0): committed},
        }
        self.inbox.pop(to, None)
        request = CommitRequest(**(fields | changes))
        self.take(self.coordinator.offsets.commit(request, to, self.now))
        return self.inbox.get(to)

    def commit_in_transaction(self, producer_id: int, offset: int, **changes: Any) -> Any:
        return self.commit("txn", offset, producer=Producer(producer_id, 0), **changes)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.flush()
        self.log.append(Ended((0, producer_id), commit))
        self.coordinator.store.end_transaction((0, producer_id), committed=commit)

    def offset(self) -> int | None:
        """Return the offset of group `g` in partition 0 of `t`."""
        found = self.coordinator.offsets.fetch("g").get(TopicPartition("t", 0))
        return found.offset if found else None

    def unstable(self) -> bool:
        return TopicPartition("t", 0) in self.coordinator.offsets.unstable("g")

    def delete(self, group_id: str = "g") -> Any:
        self.inbox.pop("delete", None)
        self.take(self.coordinator.delete(group_id, "delete", self.now))
        return self.inbox.get("delete")

    def delete_offsets(self, *asked: TopicPartition) -> dict[TopicPartition, int]:
        self.take(self.coordinator.offsets.delete("g", asked, "delete", self.now))
        codes: dict[TopicPartition, int] = self.inbox["delete"].error_codes
        return codes

    def forget_offsets(self, **topic_ids: UUID) -> None:
        """Forget what is of topics that are not among these."""
        found = {name: frozenset((topic_id,)) for name, topic_id in topic_ids.items()}
        for group_id in self.coordinator.store.ids():
            keys = self.coordinator.offsets.keys(group_id)
            outcome = self.coordinator.offsets.forget(
                group_id, keys, lambda name: found.get(name, frozenset()), self.now
            )
            self.take(outcome)

    def expire_offsets(self) -> None:
        for group_id in self.coordinator.store.ids():
            self.take(self.coordinator.offsets.expire(group_id, self.now))

    def state(self) -> str:
        described = self.coordinator.describe("g")
        return "Dead" if described is None else described.state

    def stable(self, **changes: Any) -> Any:
        """Make a stable group of one member, who leads it."""
        reply = self.join("a", **changes)
        self.sync("a", reply.member_id, reply.generation, {reply.member_id: b"all"})
        return reply

    def stable_pair(self) -> tuple[str, str, int]:
        """Make a stable group of a leader `a` and a follower `b`; return ids and generation."""
        first = self.join("a")
        self.join("b")
        self.join("a", first.member_id)
        a, b = self.inbox["a"], self.inbox["b"]
        self.sync("b", b.member_id, b.generation)
        halves = {a.member_id: b"half-a", b.member_id: b"half-b"}
        self.sync("a", a.member_id, a.generation, halves)
        return a.member_id, b.member_id, a.generation
