"""Random programs of members, time, slow disks and restarts against the group coordinator."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.errors import (
    FENCED_INSTANCE_ID,
    GROUP_SUBSCRIBED_TO_TOPIC,
    NONE,
    UNKNOWN_MEMBER_ID,
    GroupError,
)
from duolog.coordinator.messages import (
    CommitRequest,
    CommittedOffset,
    DeletedReply,
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    MemberProtocol,
    Moment,
    OffsetsReply,
    OffsetsTransaction,
    Outcome,
    Producer,
    SyncReply,
    SyncRequest,
)
from duolog.coordinator.records import GroupChange, OffsetChange
from duolog.core.ids import TopicPartition

PARTITIONS = 6
T0 = TopicPartition("t", 0)
GROUP = "g"
SESSION_MS = 10_000
STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")


class Written(NamedTuple):
    """A record in the log, as bytes."""

    key: bytes
    value: bytes | None
    transaction: OffsetsTransaction | None


class Marker(NamedTuple):
    """The end of a transaction in the log."""

    transaction: OffsetsTransaction
    committed: bool


@dataclass(eq=False)
class Client:
    """A consumer as far as a group knows it."""

    name: str
    instance_id: str | None
    member_id: str = ""
    generation: int = -1
    life: int = 0
    """The number of deletions of its group; generations restart after each."""
    members: tuple[str, ...] = ()
    place: str = "out"
    asked: int = 0
    busy: bool = False
    """True while it waits for an answer: a real client sends no other request meanwhile."""


class World:
    """A group, its members, its log and its time, driven by one seed.

    What is checked at every step:

    - in one generation, a partition belongs to one member only;
    - a commit is shown when it was acknowledged, and never an older one after it;
    - what is shown, and what is unstable, is what the log says of transactions and their markers;
    - what the log holds, replayed from its bytes, is the durable state.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.coordinator = GroupCoordinator()
        self.now = Moment(1_385_000_000_000, 0)
        list(self.coordinator.store.restore(self.now))
        self.log: list[Written | Marker] = []
        self.in_flight: list[tuple[Outcome | Marker, int]] = []
        self.written = 0
        self.owners: dict[tuple[int, int, int], str] = {}
        self.acknowledged = 0
        self.committed = 0
        self.forgotten = 0
        self.lives = 0
        self.checked = -1
        self.expected: Any = None
        self.fresh = 0
        self.clients = [Client(f"c{n}", None) for n in range(3)]
        self.clients += [Client("s1", "i"), Client("s2", "i"), Client("s3", "j")]
        self.seen: Counter[str] = Counter()

    def run(self, steps: int) -> None:
        what = [
            self.act,
            self.send_random_request,
            self.time_passes,
            self.disk_catches_up,
            self.kill,
        ]
        what.append(self.transaction_ends)
        for _ in range(steps):
            (step,) = self.random.choices(what, [60, 10, 10, 20, 2, 5])
            step()
            self.check()

    def check(self) -> None:
        if self.written != self.checked:
            self.checked = self.written
            self.expected = (self.replayed().store.durable_state(), self.offset_of_the_log())
        state, (expected, waiting) = self.expected
        assert self.coordinator.store.durable_state() == state
        shown = self.coordinator.offsets.fetch(GROUP).get(T0)
        assert (shown.offset if shown else 0) >= self.acknowledged
        assert (shown.offset if shown else None) == expected
        assert (T0 in self.coordinator.offsets.unstable(GROUP)) == waiting
        self.seen["unstable"] += waiting
        described = self.coordinator.describe(GROUP)
        if described is not None:
            self.seen[described.state] += 1
            # A rebalance without members waits only for an id that was handed out.
            if described.state != "PreparingRebalance":
                assert bool(described.members) == (described.state != "Empty")

    # What clients do

    def act(self) -> None:
        """Let a client send its next regular request."""
        client = self.random.choice(self.clients)
        if client.place == "out":
            self.join(client)
        elif client.place == "joined":
            self.sync(client)
        else:
            anything = [self.heartbeat, self.commit, self.commit_in_transaction]
            self.random.choice(anything)(client)

    def send_random_request(self) -> None:
        """Let a client send any request, also an invalid one."""
        client = self.random.choice(self.clients)
        client.busy = False  # As if its connection broke and it asked again on another.
        anything = [self.join, self.sync, self.heartbeat, self.commit, self.leave]
        anything += [self.commit_in_transaction, self.delete_offset]
        anything += [self.delete_group] * 2
        self.random.choice(anything)(client)

    def join(self, client: Client) -> None:
        self.fresh += 1
        request = JoinRequest(
            group_id=GROUP,
            member_id=client.member_id,
            instance_id=client.instance_id,
            client_id=client.name,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=(MemberProtocol("range", self.random.choice([b"", b"x"])),),
            fresh_id=str(self.fresh),
            member_id_required=self.random.random() < 0.5,
            skip_assignment_known=self.random.random() < 0.5,
        )
        self.ask(client, self.coordinator.join, request)

    def sync(self, client: Client) -> None:
        members = list(client.members)
        self.random.shuffle(members)
        shares = {member: bytearray() for member in members}
        for partition in range(PARTITIONS if members else 0):
            shares[members[partition % len(members)]].append(partition)
        request = SyncRequest(
            group_id=GROUP,
            generation=client.generation,
            member_id=client.member_id,
            instance_id=client.instance_id,
            assignments={member: bytes(share) for member, share in shares.items()},
        )
        self.ask(client, self.coordinator.sync, request)

    def heartbeat(self, client: Client) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation=client.generation,
            member_id=client.member_id,
            instance_id=client.instance_id,
        )
        try:
            self.coordinator.heartbeat(request, self.now)
        except GroupError as error:
            self.rejected(client, error.code)

    def leave(self, client: Client) -> None:
        leaving = [LeavingMember(client.member_id, client.instance_id)]
        try:
            _, outcome = self.coordinator.leave(GROUP, leaving, self.now)
        except GroupError as error:
            self.rejected(client, error.code)
        else:
            self.rejected(client, UNKNOWN_MEMBER_ID)
            self.take(outcome)

    def commit(self, client: Client) -> None:
        self.committed += 1
        simple = self.random.random() < 0.1
        request = CommitRequest(
            group_id=GROUP,
            generation=-1 if simple else client.generation,
            member_id="" if simple else client.member_id,
            offsets={T0: CommittedOffset(self.committed)},
        )
        self.ask(client, self.coordinator.offsets.commit, request, offset=self.committed)

    def commit_in_transaction(self, client: Client) -> None:
        self.committed += 1
        old = self.random.random() < 0.3
        request = CommitRequest(
            group_id=GROUP,
            generation=-1 if old else client.generation,
            member_id="" if old else client.member_id,
            instance_id=None if old else client.instance_id,
            offsets={T0: CommittedOffset(self.committed)},
            producer=Producer(self.random.choice([7, 8]), 0),
        )
        self.ask(client, self.coordinator.offsets.commit, request, offset=0)

    def delete_group(self, client: Client) -> None:
        self.delete(client, self.coordinator.delete)

    def delete_offset(self, client: Client) -> None:
        delete = self.coordinator.offsets.delete
        self.delete(client, lambda group_id, to, now: delete(group_id, [T0], to, now))

    def delete(self, client: Client, call: Any) -> None:
        if client.busy:
            return
        try:
            client.asked += 1
            outcome = call(GROUP, (client, client.asked, 0), self.now)
        except GroupError:
            return
        client.busy = True
        if outcome.records:
            self.seen["deleted"] += 1
            self.acknowledged = 0
            self.forgotten = self.committed
        self.take(outcome)

    # What the world does

    def time_passes(self) -> None:
        ms = self.random.choice([1, 500, 3_000, 10_000, 40_000])
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)
        self.take(self.coordinator.expire(GROUP, self.now))
        if self.random.random() < 0.05:
            # A week without clients, by the wall clock.
            self.now = Moment(self.now.wall_ms + 8 * 24 * 3_600_000, self.now.monotonic_ms)
            outcome = self.coordinator.offsets.expire(GROUP, self.now)
            if outcome.records:
                self.seen["expired"] += 1
                self.acknowledged = 0
            self.take(outcome)

    def disk_catches_up(self) -> None:
        while self.in_flight:
            item, end = self.in_flight.pop(0)
            self.written = end
            if isinstance(item, Marker):
                self.seen["committed" if item.committed else "aborted"] += 1
                self.coordinator.store.end_transaction(item.transaction, committed=item.committed)
                continue
            for record in item.records:
                self.coordinator.store.replay(record, self.now, transaction_of(item))
            self.deliver(self.coordinator.settle(item, self.now))

    def transaction_ends(self) -> None:
        marker = Marker((0, self.random.choice([7, 8])), self.random.random() < 0.6)
        self.log.append(marker)
        self.in_flight.append((marker, len(self.log)))

    def kill(self) -> None:
        """Kill the broker: what was not durable is gone, and so are the connections."""
        del self.log[self.written :]
        self.in_flight.clear()
        self.coordinator = self.replayed()
        list(self.coordinator.store.restore(self.now))
        for client in self.clients:
            client.busy = False

    # The broker's part

    def ask(self, client: Client, call: Callable[..., Outcome], request: Any, **about: Any) -> None:
        if client.busy:
            return
        client.busy = True
        client.asked += 1
        to = (client, client.asked, about.get("offset"))
        try:
            outcome = call(request, to, self.now)
        except GroupError as error:
            client.busy = False
            self.rejected(client, error.code)
        else:
            self.take(outcome)

    def take(self, outcome: Outcome) -> None:
        transaction = transaction_of(outcome)
        self.lives += sum(1 for record in outcome.records if record == GroupChange(GROUP, None))
        self.log += (
            Written(record.encode_key(), record.encode_value(), transaction)
            for record in outcome.records
        )
        self.deliver(outcome.replies)
        if outcome.records:
            self.in_flight.append((outcome, len(self.log)))
        else:
            self.deliver(outcome.deferred)

    def deliver(self, letters: list[Any]) -> None:
        for (client, asked, offset), reply in letters:
            # What it asked on a connection that broke does not reach it any more.
            heard = asked == client.asked
            client.busy = client.busy and not heard
            if isinstance(reply, JoinReply):
                if heard:
                    self.joined(client, reply)
            elif isinstance(reply, SyncReply):
                if heard:
                    self.synced(client, reply)
            elif isinstance(reply, OffsetsReply):
                codes = set(reply.error_codes.values())
                assert codes == {NONE} or (not offset and codes == {GROUP_SUBSCRIBED_TO_TOPIC})
                if offset > self.forgotten:
                    self.acknowledged = max(self.acknowledged, offset)
            else:
                assert isinstance(reply, DeletedReply), reply

    def joined(self, client: Client, reply: JoinReply) -> None:
        client.member_id = reply.member_id
        if reply.error_code == NONE:
            client.generation = reply.generation
            client.life = self.lives
            client.members = tuple(member.member_id for member in reply.members)
            client.place = "joined"
        else:
            self.rejected(client, reply.error_code)

    def synced(self, client: Client, reply: SyncReply) -> None:
        if reply.error_code != NONE:
            self.rejected(client, reply.error_code)
            return
        client.place = "in"
        self.seen["shared"] += 0 < len(reply.assignment) < PARTITIONS
        owner = client.instance_id or client.member_id
        for partition in reply.assignment:
            assert (
                self.owners.setdefault((client.life, client.generation, partition), owner) == owner
            )

    def rejected(self, client: Client, code: int) -> None:
        client.place = "out"
        if code in {UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID}:
            client.member_id = ""
            client.members = ()

    def replayed(self) -> GroupCoordinator:
        coordinator = GroupCoordinator()
        for item in self.log[: self.written]:
            if isinstance(item, Marker):
                coordinator.store.end_transaction(item.transaction, committed=item.committed)
                continue
            record = decode_record(item.key, item.value)
            assert record is not None
            coordinator.store.replay(record, self.now, item.transaction)
        return coordinator

    def offset_of_the_log(self) -> tuple[int | None, bool]:
        """Return what the durable log says of the one offset, and whether it is unstable.

        Written apart from the product: each offset has its place in the log, and the last one wins.
        """
        shown: tuple[int, int] | None = None
        pending: dict[OffsetsTransaction, tuple[int, int]] = {}
        for place, item in enumerate(self.log[: self.written]):
            if isinstance(item, Marker):
                ended = pending.pop(item.transaction, None)
                if ended and item.committed and (shown is None or ended > shown):
                    shown = ended
                continue
            record = decode_record(item.key, item.value)
            if not isinstance(record, OffsetChange):
                continue
            if record.value is None:
                shown = None
                pending.clear()
            elif item.transaction is None:
                shown = (place, record.value.offset)
            else:
                pending[item.transaction] = (place, record.value.offset)
        return (None if shown is None else shown[1]), bool(pending)


def transaction_of(outcome: Outcome) -> OffsetsTransaction | None:
    return (0, outcome.producer.producer_id) if outcome.producer else None


@given(seed=st.integers(0, 2**32))
def test_no_program_gives_a_partition_to_two_members_or_loses_what_was_acknowledged(
    seed: int,
) -> None:
    World(seed).run(steps=300)


def test_random_programs_reach_every_case() -> None:
    """A property that nothing ever tries is worth nothing."""
    seen: Counter[str] = Counter()
    generations = 0
    for seed in range(20):
        world = World(seed)
        world.run(steps=300)
        seen += world.seen
        generations += len({generation for _, generation, _ in world.owners})

    assert min(seen[state] for state in STATES) > 20
    assert seen["shared"] > 50
    assert generations > 30
    assert min(seen[what] for what in ("unstable", "committed", "aborted")) > 20
    assert seen["deleted"] > 5
