"""Members join, leave, die and pause, and the broker is killed: no record stays unread.

The seed is printed, and a failing one can be reused: DUOLOG_SEED=123 pytest tests/fault/...
The machine decides which step meets which moment.
"""

import os
import signal
import time
from contextlib import ExitStack
from random import Random

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.clients.members import PARTITIONS, TIMEOUT_S, Member, produce, wait_until
from duolog.testing.cluster import EmbeddedCluster

STEP_RECORDS = 20
MEMBERS_MAX = 3
NEW = "the new protocol"
STRATEGIES = ["range", "cooperative-sticky", NEW]
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
}


class Churn:
    """A group under attack."""

    def __init__(self, cluster: EmbeddedCluster, seed: int, strategy: str) -> None:
        self.cluster = cluster
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.options = ["protocol=consumer" if strategy == NEW else f"strategy={strategy}"]
        self.stack = ExitStack()
        self.all: list[Member] = []
        self.running: list[Member] = []
        self.paused: list[Member] = []
        self.wanted: set[str] = set()

    def step(self) -> None:
        start = len(self.wanted)
        self.wanted |= produce(self.cluster, range(start, start + STEP_RECORDS))
        steps = [self.join, self.leave, self.kill_member, self.pause, self.go_on, self.kill_broker]
        self.random.choices(steps, [5, 2, 2, 2, 2, 2])[0]()
        time.sleep(self.random.choice([0.0, 0.3, 1.0, 2.5]))

    def join(self) -> None:
        if len(self.running) < MEMBERS_MAX:
            member = Member(self.cluster, "confluent", "g", *self.options)
            self.all.append(self.stack.enter_context(member))
            self.running.append(member)

    def leave(self) -> None:
        self.end_one(signal.SIGTERM)

    def kill_member(self) -> None:
        self.end_one(signal.SIGKILL)

    def end_one(self, number: int) -> None:
        if self.running:
            member = self.running.pop(self.random.randrange(len(self.running)))
            member.end(number)

    def pause(self) -> None:
        if self.running:
            self.paused.append(self.running.pop())
            os.kill(self.paused[-1].process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        while self.paused:
            self.running.append(self.paused.pop())
            os.kill(self.running[-1].process.pid, signal.SIGCONT)

    def kill_broker(self) -> None:
        self.cluster.kill()
        self.cluster.restart()

    def settle(self) -> None:
        """Stop the attack; all is read, and each partition has one owner."""
        self.go_on()
        self.join()
        wait_until(self.shared, 2 * TIMEOUT_S)
        wait_until(lambda: self.wanted <= self.read(), TIMEOUT_S)

    def shared(self) -> bool:
        for member in self.running:
            member.catch_up()
        owned = sorted(number for member in self.running for number in member.partitions)
        return owned == list(range(PARTITIONS))

    def read(self) -> set[str]:
        return set().union(*(member.values() for member in self.all))


def churn(seed: int, strategy: str, steps: int) -> None:
    print(f"seed {seed}")  # noqa: T201  A failing test shows it.
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(TIMEOUT_S)
        group = Churn(cluster, seed, strategy)
        with group.stack:
            for _ in range(steps):
                group.step()
            group.settle()


SEED = int(os.environ.get("DUOLOG_SEED", "1"))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_group_under_churn_reads_everything(strategy: str) -> None:
    churn(SEED, strategy, steps=5)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_group_under_long_churn_reads_everything(strategy: str, seed: int) -> None:
    churn(seed, strategy, steps=60)
