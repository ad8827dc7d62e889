"""Consumer groups of real clients against a real broker process.

Each member is a separate process, so that it can leave, be killed or be suspended.
"""

import os
import signal
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.clients.members import (
    PARTITIONS,
    TIMEOUT_S,
    Member,
    committed,
    produce,
    wait_until,
)
from duolog.testing.cluster import EmbeddedCluster

CLIENTS = ["confluent", "kafka-python", "aiokafka"]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.min.session.timeout.ms": "1000"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(TIMEOUT_S)
        yield cluster


@pytest.mark.parametrize("client", CLIENTS)
def test_two_members_share_and_a_leaving_member_hands_over(
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
        # No member was killed and every offset was committed, so no record was read twice.
        assert len(first.records) + len(second.records) == 60


@pytest.mark.parametrize("client", CLIENTS)
def test_partitions_of_a_killed_member_move_to_the_other(
    cluster: EmbeddedCluster, client: str
) -> None:
    with Member(cluster, client, "g") as first, Member(cluster, client, "g") as second:
        wait_until(lambda: first.owns(2) and second.owns(2))

        second.end(signal.SIGKILL)
        wanted = produce(cluster, range(20))

        wait_until(lambda: first.owns(PARTITIONS) and first.values() == wanted)


@pytest.mark.parametrize("client", CLIENTS)
def test_killed_broker_restores_members_and_offsets(cluster: EmbeddedCluster, client: str) -> None:
    with Member(cluster, client, "g") as first, Member(cluster, client, "g") as second:
        wait_until(lambda: first.owns(2) and second.owns(2))
        wanted = produce(cluster, range(40))
        wait_until(lambda: first.values() | second.values() == wanted)
        wait_until(lambda: committed(cluster, "g") == 40)

        cluster.kill()
        cluster.restart()

        assert committed(cluster, "g") == 40
        wanted |= produce(cluster, range(40, 60))
        # A client that rejoins waits until the session of its old member has expired: 45 s.
        wait_until(lambda: first.values() | second.values() == wanted, timeout_s=120)
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


def test_member_rejoins_after_its_session_expired(
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


def test_commit_metadata_is_returned_unchanged(cluster: EmbeddedCluster) -> None:
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
