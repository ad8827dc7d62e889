"""Group records of KIP-848: Duolog reads Kafka's, and Kafka's tool reads Duolog's."""

import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.kafka.peer import KafkaPeer
from conformance.kafka.test_offsets_topic import dump, read_offsets_topic
from conftest import RequireProgram
from duolog.coordinator.consumer_groups.records import (
    ConsumerGroupRecord,
    CurrentChange,
    EpochChange,
    MemberChange,
    RegexChange,
    TargetChange,
    TargetEpochChange,
)
from duolog.coordinator.decoding import decode_record
from duolog.testing.cluster import EmbeddedCluster

TIMEOUT_S = 60.0
TOPICS = ("k848_records_a", "k848_records_b")
GROUP = "k848_records_group"


def use_a_group(bootstrap_servers: str) -> None:
    """Run a static member and one with a regular expression on two topics until they leave."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers}
    admin = AdminClient(servers)
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in TOPICS]).values():
        future.result(TIMEOUT_S)
    common = {**servers, "group.id": GROUP, "group.protocol": "consumer"}
    first = Consumer({**common, "group.instance.id": "i", "client.rack": "r"})
    second = Consumer({**common, "group.remote.assignor": "range"})
    first.subscribe([TOPICS[0]])
    second.subscribe(["^k848_records_.*"])
    deadline = time.monotonic() + TIMEOUT_S
    while len(first.assignment()) + len(second.assignment()) < 4 or not first.assignment():
        assert time.monotonic() < deadline, "the members do not share"
        first.poll(0.1)
        second.poll(0.1)
    first.close()
    second.close()


def test_duolog_round_trips_kafkas_records_with_equal_size(
    kafka_peer: KafkaPeer,
) -> None:
    use_a_group(kafka_peer.bootstrap_servers)

    pairs = [
        (key, value)
        for key, value in read_offsets_topic(kafka_peer.bootstrap_servers, GROUP)
        if key[1] > 2
    ]

    kinds = set()
    for key, value in pairs:
        record = decode_record(key, value)
        assert isinstance(record, ConsumerGroupRecord)
        assert record.encode_key() == key
        # Kafka sorts the topics of an assignment by hash, Duolog by id.
        written = record.encode_value()
        assert len(written or b"") == len(value or b"")
        assert decode_record(key, written) == record
        if value is not None:
            kinds.add(type(record))
    assert kinds == {
        EpochChange,
        MemberChange,
        TargetEpochChange,
        TargetChange,
        CurrentChange,
        RegexChange,
    }


def test_kafkas_dump_tool_reads_the_groups_that_duolog_writes(
    require_program: RequireProgram, tmp_path: Path
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        use_a_group(cluster.bootstrap_servers)

    newest: dict[str, Any] = {}
    for segment in tmp_path.rglob("0*.log"):
        if segment.stat().st_size:
            for record in dump(segment):
                if record["payload"] is not None:
                    newest[record["key"]["type"]] = record["payload"]["data"]

    assert newest.keys() >= {"3", "5", "6", "7", "8", "16"}
    assert newest["16"]["topics"] == list(TOPICS)
    assert {topic["partitions"][0] for topic in newest["7"]["topicPartitions"]} <= {0, 1}
