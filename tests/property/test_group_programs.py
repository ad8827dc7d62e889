"""Random programs of members, time, slow disks and restarts against the group coordinator."""

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.errors import (
    FENCED_INSTANCE_ID,
    NONE,
    UNKNOWN_MEMBER_ID,
    GroupError,
)
from duolog.coordinator.messages import (
    CommitRequest,
    CommittedOffset,
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    MemberProtocol,
    Moment,
    OffsetsReply,
    Outcome,
    SyncReply,
    SyncRequest,
)
from duolog.core.ids import TopicPartition

PARTITIONS = 6
GROUP = "g"
SESSION_MS = 10_000
STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")


@dataclass(eq=False)
class Client:
    """A consumer as far as a group knows it."""

    name: str
    instance_id: str | None
    member_id: str = ""
    generation: int = -1
    members: tuple[str, ...] = ()
    place: str = "out"
    busy: bool = False
    """It waits for an answer, as a real client does before it asks for the next thing."""


class World:
    """A group, its members, its log and its time, driven by one seed.

    What is checked at every step:

    - in one generation, a partition belongs to one member only;
    - a commit is shown when it was acknowledged, and never an older one after it;
    - what the log holds, replayed from its bytes, is the durable state.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.coordinator = GroupCoordinator()
        self.now = Moment(1_385_000_000_000, 0)
        list(self.coordinator.restore(self.now))
        self.log: list[tuple[bytes, bytes | None]] = []
        self.in_flight: list[tuple[Outcome, int]] = []
        self.written = 0
        self.owners: dict[tuple[int, int], str] = {}
        self.acknowledged = 0
        self.committed = 0
        self.fresh = 0
        self.clients = [Client(f"c{n}", None) for n in range(3)]
        self.clients += [Client("s1", "i"), Client("s2", "i"), Client("s3", "j")]
        self.seen: Counter[str] = Counter()

    def run(self, steps: int) -> None:
        what = [self.act, self.misbehave, self.time_passes, self.disk_catches_up, self.kill]
        for _ in range(steps):
            (step,) = self.random.choices(what, [60, 8, 10, 20, 2])
            step()
            self.check()

    def check(self) -> None:
        assert self.replayed().durable_state() == self.coordinator.durable_state()
        shown = self.coordinator.offsets(GROUP).get(TopicPartition("t", 0))
        assert (shown.offset if shown else 0) >= self.acknowledged
        described = self.coordinator.describe(GROUP)
        if described is not None:
            self.seen[described.state] += 1
            # A rebalance may wait for nobody but an id that was handed out.
            if described.state != "PreparingRebalance":
                assert bool(described.members) == (described.state != "Empty")

    # What clients do

    def act(self) -> None:
        """Let a client do what a client does next."""
        client = self.random.choice(self.clients)
        if client.place == "out":
            self.join(client)
        elif client.place == "joined":
            self.sync(client)
        else:
            self.random.choice([self.heartbeat, self.commit])(client)

    def misbehave(self) -> None:
        """Let a client do anything at all, also what it should not."""
        client = self.random.choice(self.clients)
        client.busy = False  # As if its connection broke and it asked again on another.
        anything = [self.join, self.sync, self.heartbeat, self.commit, self.leave]
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
        self.ask(client, "join", request)

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
        self.ask(client, "sync", request)

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
            self.told_off(client, error.code)

    def leave(self, client: Client) -> None:
        leaving = [LeavingMember(client.member_id, client.instance_id)]
        try:
            _, outcome = self.coordinator.leave(GROUP, leaving, self.now)
        except GroupError as error:
            self.told_off(client, error.code)
        else:
            self.told_off(client, UNKNOWN_MEMBER_ID)
            self.take(outcome)

    def commit(self, client: Client) -> None:
        self.committed += 1
        simple = self.random.random() < 0.1
        request = CommitRequest(
            group_id=GROUP,
            generation=-1 if simple else client.generation,
            member_id="" if simple else client.member_id,
            offsets={TopicPartition("t", 0): CommittedOffset(self.committed)},
        )
        self.ask(client, "commit", request, offset=self.committed)

    # What the world does

    def time_passes(self) -> None:
        ms = self.random.choice([1, 500, 3_000, 10_000, 40_000])
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)
        self.take(self.coordinator.expire(GROUP, self.now))
        if self.random.random() < 0.05:
            # Nobody was here for a week, as far as the wall clock says.
            self.now = Moment(self.now.wall_ms + 8 * 24 * 3_600_000, self.now.monotonic_ms)
            outcome = self.coordinator.expire_offsets(GROUP, self.now)
            if outcome.records:
                self.seen["expired"] += 1
                self.acknowledged = 0
            self.take(outcome)

    def disk_catches_up(self) -> None:
        while self.in_flight:
            outcome, end = self.in_flight.pop(0)
            self.written = end
            for record in outcome.records:
                self.coordinator.replay(record, self.now)
            self.deliver(self.coordinator.settle(outcome, self.now))

    def kill(self) -> None:
        """Kill the broker: what was not durable is gone, and so are the connections."""
        del self.log[self.written :]
        self.in_flight.clear()
        self.coordinator = self.replayed()
        list(self.coordinator.restore(self.now))
        for client in self.clients:
            client.busy = False

    # The broker's part

    def ask(self, client: Client, what: str, request: Any, **about: Any) -> None:
        if client.busy:
            return
        client.busy = True
        to = (client, about.get("offset"))
        try:
            outcome = getattr(self.coordinator, what)(request, to, self.now)
        except GroupError as error:
            client.busy = False
            self.told_off(client, error.code)
        else:
            self.take(outcome)

    def take(self, outcome: Outcome) -> None:
        self.log += ((record.encode_key(), record.encode_value()) for record in outcome.records)
        self.deliver(outcome.replies)
        if outcome.records:
            self.in_flight.append((outcome, len(self.log)))
        else:
            self.deliver(outcome.deferred)

    def deliver(self, letters: list[Any]) -> None:
        for (client, offset), reply in letters:
            client.busy = False
            if isinstance(reply, JoinReply):
                self.joined(client, reply)
            elif isinstance(reply, SyncReply):
                self.synced(client, reply)
            elif isinstance(reply, OffsetsReply):
                assert set(reply.error_codes.values()) == {NONE}
                self.acknowledged = max(self.acknowledged, offset)

    def joined(self, client: Client, reply: JoinReply) -> None:
        client.member_id = reply.member_id
        if reply.error_code == NONE:
            client.generation = reply.generation
            client.members = tuple(member.member_id for member in reply.members)
            client.place = "joined"
        else:
            self.told_off(client, reply.error_code)

    def synced(self, client: Client, reply: SyncReply) -> None:
        if reply.error_code != NONE:
            self.told_off(client, reply.error_code)
            return
        client.place = "in"
        self.seen["shared"] += 0 < len(reply.assignment) < PARTITIONS
        owner = client.instance_id or client.member_id
        for partition in reply.assignment:
            assert self.owners.setdefault((client.generation, partition), owner) == owner

    def told_off(self, client: Client, code: int) -> None:
        client.place = "out"
        if code in {UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID}:
            client.member_id = ""
            client.members = ()

    def replayed(self) -> GroupCoordinator:
        coordinator = GroupCoordinator()
        for key, value in self.log[: self.written]:
            record = decode_record(key, value)
            assert record is not None
            coordinator.replay(record, self.now)
        return coordinator


@given(seed=st.integers(0, 2**32))
def test_no_program_gives_a_partition_to_two_members_or_loses_what_was_acknowledged(
    seed: int,
) -> None:
    World(seed).run(steps=300)


def test_the_programs_reach_what_they_are_to_judge() -> None:
    """A property that nothing ever tries is worth nothing."""
    seen: Counter[str] = Counter()
    generations = 0
    for seed in range(20):
        world = World(seed)
        world.run(steps=300)
        seen += world.seen
        generations += len({generation for generation, _ in world.owners})

    assert min(seen[state] for state in STATES) > 20
    assert seen["shared"] > 50
    assert generations > 30
