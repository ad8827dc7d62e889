"""Random programs of members, topics, time, slow disks and kills against groups of the new protocol."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from duolog.coordinator.consumer_groups.coordinator import ConsumerGroups
from duolog.coordinator.consumer_groups.group import ConsumerGroup
from duolog.coordinator.consumer_groups.messages import HeartbeatReply, MemberHeartbeat
from duolog.coordinator.consumer_groups.records import Assignment, decode_record
from duolog.coordinator.errors import GroupError
from duolog.coordinator.messages import Moment, Outcome
from unit.coordinator.consumer_groups.harness import FakeTopics

GROUP = "g"
TOPICS = ("t", "u", "v")
SESSION_MS = 45_000
STATES = ("Empty", "Assigning", "Reconciling", "Stable")
TopicIdPartition = tuple[UUID, int]


@dataclass(eq=False)
class Client:
    """A consumer: `working` has the partitions that it reads, until it has released them."""

    name: str
    instance_id: str | None = None
    member_id: str = ""
    epoch: int = 0
    assigned: Assignment = field(default_factory=dict)
    working: set[TopicIdPartition] = field(default_factory=set)
    reads: dict[str, Any] = field(default_factory=dict)
    busy: bool = False
    unsure: bool = False
    beat_at_ms: int = 0

    def stop(self) -> None:
        self.epoch = 0
        self.assigned = {}
        self.working.clear()

    def owned(self) -> Assignment:
        found: dict[UUID, set[int]] = {}
        for topic_id, index in self.working:
            found.setdefault(topic_id, set()).add(index)
        return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}


class World:
    """A group, its members, its topics, its log and its time, driven by one seed.

    What is checked at every step: no partition is worked on by two clients; the log, replayed
    from its bytes, gives the same group. At the end of all: everything is assigned, to one.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.topics = FakeTopics(t=3, u=2)
        self.now = Moment(1_385_000_000_000, 0)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.in_flight: list[tuple[int, Client, HeartbeatReply]] = []
        self.durable = 0
        self.fresh = 0
        self.calm = False
        self.front, self.groups = self.replayed()
        clients = [Client(f"c{n}") for n in range(3)]
        clients += [Client("s1", "i"), Client("s2", "i"), Client("s3", "j")]
        self.clients = self.random.sample(clients, self.random.randint(1, len(clients)))
        self.seen: Counter[str] = Counter()

    def run(self, steps: int) -> None:
        what = [
            self.act,
            self.leave,
            self.change_topics,
            self.time_passes,
            self.disk_catches_up,
            self.kill,
        ]
        for _ in range(steps):
            (step,) = self.random.choices(what, [70, 5, 3, 8, 25, 2])
            step()
            self.check()
        self.disk_catches_up()
        self.quit()
        self.settle()

    def check(self) -> None:
        workers = Counter(part for client in self.clients for part in client.working)
        assert all(count == 1 for count in workers.values())
        if self.random.random() < 0.05:
            assert plain(self.replayed()[1]) == plain(self.groups)
        if GROUP in self.groups:
            self.seen[self.groups[GROUP].state.value] += 1

    def settle(self) -> None:
        """Let all members send heartbeats until the group is stable, and check who owns what."""
        self.calm = True
        for _ in range(60):
            for client in self.clients:
                self.beat(client)
            self.disk_catches_up()
            self.pass_ms(1_000)
        assert plain(self.replayed()[1]) == plain(self.groups)
        inside = [client for client in self.clients if client.epoch > 0]
        group: ConsumerGroup = self.groups[GROUP]
        assert group.state.value == "Stable"
        assert {c.member_id for c in inside} == group.members.keys() == group.soft.sessions.keys()
        infos = [self.topics.find(name) for name in group.subscribed_topics()]
        wanted = {(t.topic_id, index) for t in infos if t for index in range(t.partitions)}
        assert {part for client in inside for part in client.working} == wanted

    # What clients do

    def act(self) -> None:
        self.beat(self.random.choice(self.clients))

    def beat(self, client: Client) -> None:
        """Send the next heartbeat, after putting down what was taken away, or some of it."""
        if client.busy:
            return
        gone = [part for part in client.working if not holds(client.assigned, part)]
        for part in gone:
            if self.random.random() < 0.7:
                client.working.remove(part)
        fields: dict[str, Any] = {"owned": client.owned()}
        if client.epoch == 0:
            self.fresh += 1
            client.member_id = client.member_id or f"{client.name}-{self.fresh}"
            fields["assignor"] = self.assignor()
        changes = not self.calm and self.random.random() < 0.05
        if changes or not client.reads or (self.calm and client.reads["regex"] == "("):
            client.reads = self.subscription()
        # After an answer that was lost, a client says all, to hear all.
        if changes or client.epoch == 0 or client.unsure:
            fields |= {"rebalance_timeout_ms": 60_000, **client.reads}
        self.ask(client, client.epoch, **fields)

    def leave(self) -> None:
        client = self.random.choice(self.clients)
        if client.epoch > 0 and not client.busy:
            away = client.instance_id is not None and self.random.random() < 0.7
            client.working.clear()
            self.ask(client, -2 if away else -1)
            client.stop()
            client.member_id = ""

    def subscription(self) -> dict[str, Any]:
        topics = tuple(self.random.sample(TOPICS, self.random.randint(1, 3)))
        # The last one is none, so that the step is rejected.
        return {"topics": topics, "regex": self.random.choice(["", "", "", "[tu]", "("])}

    def assignor(self) -> str | None:
        return self.random.choice([None, "uniform", "range"])

    def quit(self) -> None:
        """Remove some clients for good, with a leave request or without one; the others get their work."""
        for client in self.random.sample(
            self.clients, self.random.randint(0, len(self.clients) - 1)
        ):
            if client.instance_id is not None and client.epoch > 0 and self.random.random() < 0.5:
                self.ask(client, -2)
            self.try_to_join_as(client.instance_id)
            client.stop()
            self.clients.remove(client)
            self.seen["quit"] += 1

    def try_to_join_as(self, instance_id: str | None) -> None:
        """Be rejected, at the very end of a step."""
        stranger = Client("stranger", instance_id, "stranger")
        self.ask(stranger, 0, owned={}, topics=(), regex="(", rebalance_timeout_ms=60_000)
        assert not stranger.busy

    # What the world does

    def change_topics(self) -> None:
        name = self.random.choice(TOPICS)
        info = self.topics.find(name)
        if info is None:
            self.topics.create(name, self.random.randint(1, 4))
        elif self.random.random() < 0.4:
            self.topics.delete(name)
        else:
            self.topics.grow(name, info.partitions + 1)

    def time_passes(self) -> None:
        self.pass_ms(self.random.choice([1, 3_000, 12_000, 30_000]))

    def pass_ms(self, ms: int) -> None:
        self.now = Moment(self.now.wall_ms + ms, self.now.monotonic_ms + ms)
        for client in self.clients:
            # A consumer that hears nothing for so long puts its work down before its place is lost.
            if self.now.monotonic_ms - client.beat_at_ms >= SESSION_MS:
                client.stop()
        group = self.groups.get(GROUP)
        if group is not None:
            before = len(group.members)
            self.take(self.front.expire(group, self.now))
            self.seen["expired"] += before - len(self.groups[GROUP].members)
        for client in self.clients:
            # The time to give up partitions is long over for who is fenced here; it knows as well.
            if client.epoch > 0 and client.member_id not in self.groups[GROUP].members:
                client.stop()

    def disk_catches_up(self) -> None:
        self.durable = len(self.log)
        letters, self.in_flight = self.in_flight, []
        for _, client, reply in letters:
            self.receive(client, reply)

    def kill(self) -> None:
        """Kill the broker: what was not durable is gone, and so are the connections."""
        del self.log[self.durable :]
        for _, client, _ in self.in_flight:
            client.busy = False
            client.unsure = True
        self.in_flight.clear()
        self.front, self.groups = self.replayed()
        for group in self.groups.values():
            group.restore(self.now)
        self.seen["killed"] += 1

    # The broker's part

    def ask(self, client: Client, epoch: int, **fields: Any) -> None:
        request = MemberHeartbeat(
            group_id=GROUP,
            member_id=client.member_id,
            member_epoch=epoch,
            instance_id=client.instance_id,
            **fields,
        )
        client.beat_at_ms = self.now.monotonic_ms
        try:
            outcome = self.front.heartbeat(request, client, self.now)
        except GroupError as error:
            self.seen[type(error).__name__] += 1
            client.stop()
            return
        if outcome.records and not self.calm and self.random.random() < 0.06:
            self.seen["refused"] += 1
            self.refuse(outcome)
            client.stop()
            return
        self.take(outcome)
        client.busy = True
        reply = outcome.deferred[0].reply
        assert isinstance(reply, HeartbeatReply)
        self.in_flight.append((len(self.log), client, reply))

    def take(self, outcome: Outcome) -> None:
        self.log += ((record.encode_key(), record.encode_value()) for record in outcome.records)
        self.front.stage(outcome)

    def refuse(self, outcome: Outcome) -> None:
        """Do what a broker does whose log does not take the records."""
        for record in outcome.records:
            self.front.held.sent(record.group_id)
            self.front.held.landed(record.group_id)
        self.front.abandoned(outcome.records, self.now)

    def receive(self, client: Client, reply: HeartbeatReply) -> None:
        client.busy = False
        client.unsure = False
        if reply.member_epoch < 0:
            return
        if GROUP not in self.groups or client.member_id not in self.groups[GROUP].members:
            client.stop()
            return
        client.epoch = reply.member_epoch
        if reply.assignment is not None:
            before = {*parts(client.assigned)}
            client.assigned = reply.assignment
            taken = {*parts(reply.assignment)} - before
            client.working |= taken
            self.seen["shared"] += bool(taken) and client.epoch > 1

    def replayed(self) -> tuple[ConsumerGroups, dict[str, Any]]:
        groups: dict[str, Any] = {}
        front = ConsumerGroups(groups)
        front.topics = self.topics
        for key, value in self.log:
            front.replay(decode_record(key, value))
        return front, groups


def parts(assignment: Assignment) -> list[TopicIdPartition]:
    return [(topic_id, index) for topic_id, indexes in assignment.items() for index in indexes]


def holds(assignment: Assignment, part: TopicIdPartition) -> bool:
    return part[1] in assignment.get(part[0], frozenset())


def plain(groups: dict[str, ConsumerGroup]) -> dict[str, Any]:
    """Return what is durable of groups."""
    return {
        group_id: (
            group.epoch,
            group.metadata_hash,
            group.target_epoch,
            group.members,
            group.static_ids,
            group.targets,
            group.owners,
            group.regexes,
        )
        for group_id, group in groups.items()
    }


@example(640_123)  # A member that drops its expression keeps nothing of it.
@given(seed=st.integers(0, 2**32))
def test_every_partition_has_exactly_one_member_in_any_program(seed: int) -> None:
    World(seed).run(steps=150)


def test_random_programs_reach_every_case() -> None:
    """The random programs must cover the cases that the properties check."""
    seen: Counter[str] = Counter()
    for seed in range(20):
        world = World(seed)
        world.run(steps=150)
        seen += world.seen

    assert min(seen[state] for state in STATES) > 10
    assert min(seen[name] for name in ("shared", "killed", "expired", "quit")) > 20
    assert min(seen[name] for name in ("refused", "InvalidRegularExpression")) > 10
    assert seen["UnreleasedInstanceId"] > 5
    assert seen["FencedMemberEpoch"] > 0
