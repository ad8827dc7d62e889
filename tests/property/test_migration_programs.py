"""Random programs of members of both protocols in one group, which changes its protocol as they join and leave."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from struct import pack
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.consumer_groups.classic import to_ids, to_names
from duolog.coordinator.consumer_groups.consumer_bytes import read_assignment, write_assignment
from duolog.coordinator.consumer_groups.messages import HeartbeatReply, MemberHeartbeat
from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.errors import NONE, REBALANCE_IN_PROGRESS, GroupError
from duolog.coordinator.messages import (
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    MemberProtocol,
    Moment,
    Outcome,
    SyncReply,
    SyncRequest,
)
from unit.coordinator.consumer_groups.harness import FakeTopics

GROUP = "g"
PARTITIONS = 5


@dataclass(eq=False)
class Client:
    """A consumer that reads `t`; a classic one puts everything down before it joins."""

    name: str
    modern: bool
    place: str = "out"
    member_id: str = ""
    epoch: int = 0
    others: tuple[str, ...] = ()
    assigned: frozenset[int] = frozenset()
    working: set[int] = field(default_factory=set)
    busy: bool = False

    def stop(self) -> None:
        self.place, self.epoch, self.assigned = "out", 0, frozenset()
        self.working.clear()


class World:
    """One group of both kinds of members, its log and its time, driven by one seed.

    What is checked at every step: no partition is worked on by two clients. At the end, each is
    worked on by one, and the log gives a group of the same kind.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.topics = FakeTopics(t=PARTITIONS)
        self.now = Moment(1_385_000_000_000, 0)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.in_flight: list[Outcome] = []
        self.durable = 0
        self.ids = 0
        self.coordinator = self.replayed()
        self.clients = [Client(f"c{n}", modern=n % 2 == 0) for n in range(4)]
        self.active = set(self.clients[:2])
        self.seen: Counter[str] = Counter()

    def run(self, steps: int) -> None:
        what = [self.act, self.join_or_leave, self.time_passes, self.disk_catches_up, self.kill]
        for _ in range(steps):
            (step,) = self.random.choices(what, [70, 4, 5, 25, 1])
            step()
            self.check()
        self.settle()

    def check(self) -> None:
        workers = Counter(index for client in self.clients for index in client.working)
        assert all(count == 1 for count in workers.values())
        for group in self.coordinator.list_groups():
            self.seen[group.group_type] += 1

    def settle(self) -> None:
        self.active |= {self.clients[0]}
        for _ in range(70):
            for client in self.active:
                self.beat(client)
            self.disk_catches_up()
            self.pass_ms(1_000)
            self.check()
        assert sorted(i for c in self.clients for i in c.working) == list(range(PARTITIONS))
        kinds = [
            [g.group_type for g in c.list_groups()] for c in (self.coordinator, self.replayed())
        ]
        assert kinds == [["consumer"], ["consumer"]]

    # What clients do

    def act(self) -> None:
        if self.active:
            self.beat(self.random.choice(sorted(self.active, key=lambda client: client.name)))

    def join_or_leave(self) -> None:
        client = self.random.choice(self.clients)
        if client not in self.active:
            self.active.add(client)
        elif not client.busy:
            self.active.remove(client)
            if client.place == "in" and self.random.random() < 0.7:
                self.leave(client)
            client.stop()
            client.member_id = ""

    def leave(self, client: Client) -> None:
        client.working.clear()
        try:
            if client.modern:
                request = MemberHeartbeat(
                    group_id=GROUP, member_id=client.member_id, member_epoch=-1
                )
                self.take(self.coordinator.consumer_heartbeat(request, None, self.now))
            else:
                leaving = [LeavingMember(client.member_id)]
                _, outcome = self.coordinator.leave(GROUP, leaving, self.now)
                self.take(outcome)
        except GroupError as error:
            self.seen[type(error).__name__] += 1

    def beat(self, client: Client) -> None:
        """Do what the client does next."""
        if client.busy:
            return
        client.busy = True
        try:
            if client.modern:
                self.modern_beat(client)
            elif client.place == "out":
                self.join(client)
            elif client.place == "joined":
                self.sync(client)
            else:
                client.busy = False
                self.classic_beat(client)
        except GroupError as error:
            client.busy = False
            self.rejected(client, error.code)

    def modern_beat(self, client: Client) -> None:
        client.working &= client.assigned
        if client.epoch == 0:
            self.ids += 1
            client.member_id = f"{client.name}-{self.ids}"
        owned = to_ids({"t": frozenset(client.working)}, self.topics)
        request = MemberHeartbeat(
            group_id=GROUP,
            member_id=client.member_id,
            member_epoch=client.epoch,
            rebalance_timeout_ms=60_000,
            topics=("t",),
            owned=owned,
        )
        self.take(self.coordinator.consumer_heartbeat(request, client, self.now))

    def join(self, client: Client) -> None:
        client.working.clear()
        self.ids += 1
        data = pack(">hih", 1, 1, 1) + b"t" + pack(">ii", -1, 0)
        request = JoinRequest(
            group_id=GROUP,
            member_id=client.member_id,
            client_id=client.name,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=(MemberProtocol("range", data),),
            fresh_id=str(self.ids),
            member_id_required=False,
        )
        self.take(self.coordinator.join(request, client, self.now))

    def sync(self, client: Client) -> None:
        shares: dict[str, set[int]] = {member_id: set() for member_id in client.others}
        for index in range(PARTITIONS if shares else 0):
            shares[client.others[index % len(shares)]].add(index)
        request = SyncRequest(
            group_id=GROUP,
            generation=client.epoch,
            member_id=client.member_id,
            assignments={
                member_id: write_assignment(1, {"t": share} if share else {})
                for member_id, share in shares.items()
            },
        )
        self.take(self.coordinator.sync(request, client, self.now))

    def classic_beat(self, client: Client) -> None:
        request = HeartbeatRequest(
            group_id=GROUP, generation=client.epoch, member_id=client.member_id
        )
        self.coordinator.heartbeat(request, self.now)

    # What the world does

    def time_passes(self) -> None:
        self.pass_ms(self.random.choice([1, 1_000, 3_000]))

    def pass_ms(self, ms: int) -> None:
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)
        self.take(self.coordinator.expire(GROUP, self.now))

    def disk_catches_up(self) -> None:
        while self.in_flight:
            outcome = self.in_flight.pop(0)
            self.durable += len(outcome.records)
            for record in outcome.records:
                self.coordinator.store.replay(record, self.now)
            self.deliver(self.coordinator.settle(outcome, self.now))
            self.take(self.coordinator.change_protocol(GROUP, self.now))

    def kill(self) -> None:
        del self.log[self.durable :]
        self.in_flight.clear()
        self.coordinator = self.replayed()
        for client in self.clients:
            if client.busy:
                # It does not know the outcome of its request, and starts again.
                client.stop()
                client.busy = False
                client.member_id = ""
        self.take(self.coordinator.change_protocol(GROUP, self.now))
        self.seen["killed"] += 1

    # The broker's part

    def take(self, outcome: Outcome) -> None:
        self.log += ((record.encode_key(), record.encode_value()) for record in outcome.records)
        self.coordinator.stage(outcome)
        self.deliver(outcome.replies)
        if outcome.records:
            self.in_flight.append(outcome)
        else:
            self.deliver(outcome.deferred)

    def deliver(self, letters: list[Any]) -> None:
        for client, reply in letters:
            if client is None:
                continue
            client.busy = False
            if isinstance(reply, HeartbeatReply):
                client.place, client.epoch = "in", reply.member_epoch
                if reply.assignment is not None:
                    names = to_names(reply.assignment, self.topics)
                    fresh = names.get("t", frozenset()) - client.assigned
                    client.assigned = names.get("t", frozenset())
                    client.working |= fresh
            elif isinstance(reply, JoinReply):
                self.joined(client, reply)
            elif isinstance(reply, SyncReply):
                self.synced(client, reply)

    def joined(self, client: Client, reply: JoinReply) -> None:
        client.member_id = reply.member_id
        if reply.error_code != NONE:
            self.rejected(client, reply.error_code)
            return
        client.place, client.epoch = "joined", reply.generation
        client.others = tuple(member.member_id for member in reply.members)

    def synced(self, client: Client, reply: SyncReply) -> None:
        if reply.error_code != NONE:
            self.rejected(client, reply.error_code)
            return
        client.place = "in"
        client.working = set(read_assignment(reply.assignment).get("t", ()))
        self.seen["synced"] += bool(client.working)

    def rejected(self, client: Client, code: int) -> None:
        self.seen[str(code)] += 1
        keep = code == REBALANCE_IN_PROGRESS
        member_id = client.member_id
        client.stop()
        client.member_id = member_id if keep else ""

    def replayed(self) -> GroupCoordinator:
        coordinator = GroupCoordinator()
        coordinator.consumer.topics = self.topics
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            coordinator.store.replay(record, self.now)
        list(coordinator.store.restore(self.now))
        return coordinator


@given(seed=st.integers(0, 2**32))
def test_no_program_of_both_protocols_gives_a_partition_to_two_members(seed: int) -> None:
    World(seed).run(steps=200)


def test_random_programs_reach_every_case() -> None:
    """A property that nothing ever tries is worth nothing."""
    seen: Counter[str] = Counter()
    for seed in range(20):
        world = World(seed)
        world.run(steps=200)
        seen += world.seen

    assert min(seen[name] for name in ("classic", "consumer", "synced", "killed")) > 20
