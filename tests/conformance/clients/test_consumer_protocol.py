"""Groups of the new protocol (KIP-848) with librdkafka, against a real broker process."""

import signal
import time
from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from conformance.clients.members import (
    PARTITIONS,
    TIMEOUT_S,
    Member,
    committed,
    produce,
    wait_until,
)
from duolog.testing.cluster import EmbeddedCluster

SETTINGS: Final = {
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.min.session.timeout.ms": "1000",
}
NEW: Final = "protocol=consumer"


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(TIMEOUT_S)
        yield cluster


def test_two_members_share_and_a_leaving_member_hands_over(cluster: EmbeddedCluster) -> None:
    with Member(cluster, "confluent", "g", NEW) as first:
        wait_until(lambda: first.owns(PARTITIONS))
        with Member(cluster, "confluent", "g", NEW) as second:
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


def test_partitions_of_a_killed_member_move_to_the_other(cluster: EmbeddedCluster) -> None:
    with (
        Member(cluster, "confluent", "g", NEW) as first,
        Member(cluster, "confluent", "g", NEW) as second,
    ):
        wait_until(lambda: first.owns(2) and second.owns(2))

        second.end(signal.SIGKILL)
        wanted = produce(cluster, range(20))

        wait_until(lambda: first.owns(PARTITIONS) and first.values() == wanted)


def test_killed_broker_restores_members_and_offsets(cluster: EmbeddedCluster) -> None:
    with (
        Member(cluster, "confluent", "g", NEW) as first,
        Member(cluster, "confluent", "g", NEW) as second,
    ):
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


def test_a_static_member_that_restarts_keeps_its_partitions(cluster: EmbeddedCluster) -> None:
    with (
        Member(cluster, "confluent", "g", NEW, "instance=a") as first,
        Member(cluster, "confluent", "g", NEW, "instance=b") as second,
    ):
        wait_until(lambda: first.owns(2) and second.owns(2))
        kept = list(second.partitions)
        second.end(signal.SIGTERM)
        with Member(cluster, "confluent", "g", NEW, "instance=b") as again:
            wait_until(lambda: again.owns(2))
            assert again.partitions == kept
            assert first.owns(2)


def test_regex_subscription_follows_new_topics_and_partitions(cluster: EmbeddedCluster) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    admin = AdminClient({**servers})
    consumer = Consumer({**servers, "group.id": "g", "group.protocol": "consumer"})
    consumer.subscribe(["^(t|u)$"])

    def owns() -> list[tuple[str, int]]:
        consumer.poll(0.05)
        return sorted((part.topic, part.partition) for part in consumer.assignment())

    first = [("t", index) for index in range(PARTITIONS)]
    wait_until(lambda: owns() == first)
    admin.create_topics([NewTopic("u", 1, 1)])["u"].result(TIMEOUT_S)
    wait_until(lambda: owns() == [*first, ("u", 0)])
    admin.create_partitions([NewPartitions("u", 2)])["u"].result(TIMEOUT_S)
    wait_until(lambda: owns() == [*first, ("u", 0), ("u", 1)])
    consumer.close()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_members_migrate_to_the_new_protocol_and_back_while_reading(
    cluster: EmbeddedCluster, strategy: str
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    def kind() -> ConsumerGroupType:
        (group,) = admin.list_consumer_groups().result(TIMEOUT_S).valid
        found: ConsumerGroupType = group.type
        return found

    old = f"strategy={strategy}"
    with Member(cluster, "confluent", "g", old) as first:
        wait_until(lambda: first.owns(PARTITIONS))
        assert kind() == ConsumerGroupType.CLASSIC
        wanted = produce(cluster, range(40))
        with Member(cluster, "confluent", "g", NEW) as second:
            wait_until(lambda: first.owns(2) and second.owns(2))
            assert kind() == ConsumerGroupType.CONSUMER
            wanted |= produce(cluster, range(40, 80))
            wait_until(lambda: first.values() | second.values() == wanted)
            second.end(signal.SIGTERM)
        wait_until(lambda: first.owns(PARTITIONS))
        assert kind() == ConsumerGroupType.CLASSIC
        wanted |= produce(cluster, range(80, 100))
        wait_until(lambda: first.values() | second.values() == wanted)


def test_an_administrator_sees_and_deletes_the_group(cluster: EmbeddedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    with Member(cluster, "confluent", "g", NEW) as member:
        wait_until(lambda: member.owns(PARTITIONS))
        (listed,) = admin.list_consumer_groups().result(TIMEOUT_S).valid
        described = admin.describe_consumer_groups(["g"])["g"].result(TIMEOUT_S)
        member.end(signal.SIGTERM)

    assert (listed.group_id, listed.type) == ("g", ConsumerGroupType.CONSUMER)
    assert described.state == ConsumerGroupState.STABLE
    assert described.partition_assignor == "uniform"
    (seen,) = described.members
    assert {part.partition for part in seen.assignment.topic_partitions} == set(range(PARTITIONS))
    admin.delete_consumer_groups(["g"])["g"].result(TIMEOUT_S)
    assert admin.list_consumer_groups().result(TIMEOUT_S).valid == []


def test_membership_changes_under_load_lose_and_repeat_no_records(
    cluster: EmbeddedCluster,
) -> None:
    """Members leave cleanly and commit each record, so no record is read by two members."""
    wanted: set[str] = set()
    members = [Member(cluster, "confluent", "g", NEW)]
    try:
        for step in range(6):
            wanted |= produce(cluster, range(step * 200, step * 200 + 200))
            if step % 2 == 0:
                members.append(Member(cluster, "confluent", "g", NEW))
            else:
                members[step // 2].end(signal.SIGTERM)
            time.sleep(0.4)
        wait_until(lambda: set().union(*(member.values() for member in members)) == wanted)

        read = [record["value"] for member in members for record in member.records]
        assert len(read) == len(wanted)
    finally:
        for member in members:
            member.end(signal.SIGKILL)
