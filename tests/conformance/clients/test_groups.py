"""Consumer groups of real clients against a real broker process.

Each member is a process of its own, so that it can leave, be killed or stand still.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.testing.cluster import EmbeddedCluster

CLIENTS = ["confluent", "kafka-python", "aiokafka"]
PARTITIONS = 4
TIMEOUT_S = 40.0
MEMBER = Path(__file__).with_name("group_member.py")


class Member:
    """A running member: what it owns, and what it has read."""

    def __init__(self, cluster: EmbeddedCluster, client: str, group: str, *options: str) -> None:
        command = [sys.executable, str(MEMBER), client, cluster.bootstrap_servers, group, "t"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        self.partitions: list[int] = []
        self.records: list[dict[str, Any]] = []
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(signal.SIGKILL)

    def owns(self, count: int) -> bool:
        self.catch_up()
        return len(self.partitions) == count

    def values(self) -> set[str]:
        self.catch_up()
        return {record["value"] for record in self.records}

    def catch_up(self) -> None:
        while not self.lines.empty():
            fields = json.loads(self.lines.get())
            if "partitions" in fields:
                self.partitions = fields["partitions"]
            else:
                self.records.append(fields)

    def end(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(TIMEOUT_S)
        self.reader.join(TIMEOUT_S)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.min.session.timeout.ms": "1000"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(TIMEOUT_S)
        yield cluster


def wait_until(holds: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def produce(cluster: EmbeddedCluster, values: range) -> set[str]:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    for value in values:
        producer.produce("t", str(value), partition=value % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    return {str(value) for value in values}


def committed(cluster: EmbeddedCluster, group: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    asked = [TopicPartition("t", partition) for partition in range(PARTITIONS)]
    offsets = [max(part.offset, 0) for part in consumer.committed(asked, TIMEOUT_S)]
    consumer.close()
    return sum(offsets)


@pytest.mark.parametrize("client", CLIENTS)
def test_two_members_share_and_one_that_leaves_hands_over(
    cluster: EmbeddedCluster, client: str
) -> None:
    with Member(cluster, client, "g") as first:
        wait_until(lambda: first.owns(PARTITIONS))
        with Member(cluster, client, "g") as second:
            wait_until(lambda: first.owns(2) and second.owns(2))
            assert not set(first.partitions) & set(second.partitions)
            wanted = produce(cluster, range(40))
            wait_until(lambda: first.values() | second.values() == wanted)

            second.end(signal.SIGTERM)

        wait_until(lambda: first.owns(PARTITIONS))
        wanted |= produce(cluster, range(40, 60))
        wait_until(lambda: first.values() | second.values() == wanted)
        # Nobody was killed and all was committed, so nothing came twice.
        assert len(first.records) + len(second.records) == 60


@pytest.mark.parametrize("client", CLIENTS)
def test_the_work_of_a_killed_member_goes_to_the_other(
    cluster: EmbeddedCluster, client: str
) -> None:
    with Member(cluster, client, "g") as first, Member(cluster, client, "g") as second:
        wait_until(lambda: first.owns(2) and second.owns(2))

        second.end(signal.SIGKILL)
        wanted = produce(cluster, range(20))

        wait_until(lambda: first.owns(PARTITIONS) and first.values() == wanted)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_killed_broker_comes_back_with_members_and_offsets(
    cluster: EmbeddedCluster, client: str
) -> None:
    with Member(cluster, client, "g") as first, Member(cluster, client, "g") as second:
        wait_until(lambda: first.owns(2) and second.owns(2))
        wanted = produce(cluster, range(40))
        wait_until(lambda: first.values() | second.values() == wanted)
        wait_until(lambda: committed(cluster, "g") == 40)

        cluster.kill()
        cluster.restart()

        assert committed(cluster, "g") == 40
        wanted |= produce(cluster, range(40, 60))
        wait_until(lambda: first.values() | second.values() == wanted)
        wait_until(lambda: first.owns(2) and second.owns(2))


def test_cooperative_members_share_and_hand_over(cluster: EmbeddedCluster) -> None:
    strategy = "strategy=cooperative-sticky"
    with Member(cluster, "confluent", "g", strategy) as first:
        wait_until(lambda: first.owns(PARTITIONS))
        with Member(cluster, "confluent", "g", strategy) as second:
            wait_until(lambda: first.owns(2) and second.owns(2))
            second.end(signal.SIGTERM)
        wait_until(lambda: first.owns(PARTITIONS))
        wanted = produce(cluster, range(20))
        wait_until(lambda: first.values() == wanted)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_static_member_that_restarts_keeps_its_partitions_without_a_rebalance(
    cluster: EmbeddedCluster, client: str
) -> None:
    with (
        Member(cluster, client, "g", "instance=a") as first,
        Member(cluster, client, "g", "instance=b") as second,
    ):
        wait_until(lambda: first.owns(2) and second.owns(2))
        kept = list(second.partitions)
        second.end(signal.SIGKILL)
        with Member(cluster, client, "g", "instance=b") as again:
            wait_until(lambda: again.owns(2))
            assert again.partitions == kept
            assert first.owns(2)


def test_a_member_that_stood_still_longer_than_its_session_comes_back(
    cluster: EmbeddedCluster,
) -> None:
    with (
        Member(cluster, "confluent", "g") as first,
        Member(cluster, "confluent", "g") as second,
    ):
        wait_until(lambda: first.owns(2) and second.owns(2))
        os.kill(second.process.pid, signal.SIGSTOP)
        wait_until(lambda: first.owns(PARTITIONS))
        wanted = produce(cluster, range(20))
        wait_until(lambda: first.values() == wanted)
        os.kill(second.process.pid, signal.SIGCONT)
        wait_until(lambda: first.owns(2) and second.owns(2))


def test_metadata_of_a_commit_comes_back_unchanged(cluster: EmbeddedCluster) -> None:
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"}
    consumer = Consumer(config)
    mark = TopicPartition("t", 0, 5, "where I was: ümläut \x01")
    consumer.commit(offsets=[mark], asynchronous=False)

    (found,) = consumer.committed([TopicPartition("t", 0)], TIMEOUT_S)
    consumer.close()

    assert (found.offset, found.metadata) == (5, mark.metadata)


def test_an_administrator_sees_the_group(cluster: EmbeddedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    with Member(cluster, "confluent", "g") as member:
        wait_until(lambda: member.owns(PARTITIONS))

        listed = admin.list_consumer_groups().result(TIMEOUT_S)
        described = admin.describe_consumer_groups(["g"])["g"].result(TIMEOUT_S)

    assert [group.group_id for group in listed.valid] == ["g"]
    assert described.state.name == "STABLE"
    assert described.partition_assignor == "range"
    (seen,) = described.members
    assert {part.partition for part in seen.assignment.topic_partitions} == set(range(PARTITIONS))
