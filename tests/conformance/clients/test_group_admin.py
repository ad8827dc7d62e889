"""Administer groups and offsets with real clients against a real broker process."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.clients.members import PARTITIONS, TIMEOUT_S, Member, wait_until
from duolog.testing.cluster import EmbeddedCluster


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.min.session.timeout.ms": "1000"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        made = admin.create_topics([NewTopic("t", PARTITIONS, 1), NewTopic("u", 1, 1)])
        for future in made.values():
            future.result(TIMEOUT_S)
        yield cluster


def commit(cluster: EmbeddedCluster, group: str, **offsets: int) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    marks = [TopicPartition(topic, 0, offset, "note") for topic, offset in offsets.items()]
    consumer.commit(offsets=marks, asynchronous=False)
    consumer.close()


def offsets_of(admin: AdminClient, group: str) -> dict[tuple[str, int], int]:
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    found = future.result(TIMEOUT_S).topic_partitions
    return {(part.topic, part.partition): part.offset for part in found}


def code(future: Any) -> str | None:
    try:
        future.result(TIMEOUT_S)
    except KafkaException as error:
        return str(error.args[0].name())
    return None


def test_librdkafka_deletes_groups_and_moves_offsets(cluster: EmbeddedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    commit(cluster, "idle", t=5, u=6)
    assert offsets_of(admin, "idle") == {("t", 0): 5, ("u", 0): 6}

    moved = ConsumerGroupTopicPartitions("idle", [TopicPartition("t", 0, 3)])
    (future,) = admin.alter_consumer_group_offsets([moved]).values()
    future.result(TIMEOUT_S)
    assert offsets_of(admin, "idle") == {("t", 0): 3, ("u", 0): 6}

    with Member(cluster, "confluent", "busy") as member:
        wait_until(lambda: member.owns(PARTITIONS))
        moved = ConsumerGroupTopicPartitions("busy", [TopicPartition("t", 0, 3)])
        (future,) = admin.alter_consumer_group_offsets([moved]).values()
        refused = {part.error.name() for part in future.result(TIMEOUT_S).topic_partitions}
        assert refused == {"UNKNOWN_MEMBER_ID"}
        deleted = admin.delete_consumer_groups(["idle", "busy", "missing"])
        assert {group: code(future) for group, future in deleted.items()} == {
            "idle": None,
            "busy": "NON_EMPTY_GROUP",
            "missing": "GROUP_ID_NOT_FOUND",
        }
        listed = admin.list_consumer_groups().result(TIMEOUT_S)
        assert [group.group_id for group in listed.valid] == ["busy"]
        member.end(signal.SIGTERM)

    cluster.kill()
    cluster.restart()

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    assert offsets_of(admin, "idle") == {}
    assert code(admin.delete_consumer_groups(["busy"])["busy"]) is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_administers_groups(cluster: EmbeddedCluster) -> None:
    from kafka import TopicPartition as Place  # noqa: PLC0415  It warns when it is loaded.
    from kafka.admin import KafkaAdminClient  # noqa: PLC0415
    from kafka.structs import OffsetAndMetadata  # noqa: PLC0415

    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)

    def offsets(group: str) -> dict[tuple[str, int], int]:
        found = admin.list_group_offsets({group: None})[group]
        return {tuple(place): value.offset for place, value in found.items()}

    commit(cluster, "idle", t=5, u=6)
    assert offsets("idle") == {("t", 0): 5, ("u", 0): 6}

    admin.alter_group_offsets("idle", {Place("t", 0): OffsetAndMetadata(3, "", -1)})
    assert offsets("idle") == {("t", 0): 3, ("u", 0): 6}

    admin.delete_group_offsets("idle", [Place("u", 0)])
    assert offsets("idle") == {("t", 0): 3}

    with Member(cluster, "kafka-python", "busy", "instance=a") as member:
        wait_until(lambda: member.owns(PARTITIONS))
        described = admin.describe_groups(["busy", "idle"])
        assert described["busy"]["group_state"] == "Stable"
        assert described["idle"]["group_state"] == "Empty"
        listed = admin.list_groups(states_filter=["Stable"])
        assert [group["group_id"] for group in listed] == ["busy"]
        member.end(signal.SIGTERM)

    deleted = admin.delete_groups(["idle", "missing"])
    assert deleted["idle"] in ("OK", None)
    assert "GroupIdNotFound" in str(deleted["missing"])
    assert offsets("idle") == {}
    admin.close()
