"""`__consumer_offsets` is read by Kafka's own tool, and Kafka's own is read by Duolog."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.kafka.peer import TOOL_OPTIONS, KafkaPeer, fetch
from conftest import RequireProgram
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.records import (
    GroupChange,
    OffsetChange,
)
from duolog.testing.cluster import EmbeddedCluster

TIMEOUT_S = 60.0
TOPIC = "offsets_topic_test"
GROUP = "offsets_topic_test_group"


def use_a_group(bootstrap_servers: str) -> None:
    """Join as a static member and commit an offset with metadata, without leaving."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(TIMEOUT_S)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": GROUP, "group.instance.id": "i"}
    )
    consumer.subscribe([TOPIC])
    deadline = time.monotonic() + TIMEOUT_S
    while not consumer.assignment():
        assert time.monotonic() < deadline, "the member was assigned nothing"
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition(TOPIC, 1, 5, "note")], asynchronous=False)
    consumer.close()


def dump(segment: Path) -> list[dict[str, Any]]:
    """Return the records of a segment as Kafka's own tool decodes them."""
    tool = ["kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(segment)]
    command = ["java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*", *tool]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    records = []
    for line in done.stdout.splitlines():
        if " payload: " in line:
            key, payload = line.split(" key: ", 1)[1].split(" payload: ", 1)
            value = None if payload == "<DELETE>" else json.loads(payload)
            records.append({"key": json.loads(key), "payload": value})
    return records


def test_kafkas_dump_tool_reads_what_duolog_writes(
    require_program: RequireProgram, tmp_path: Path
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        use_a_group(cluster.bootstrap_servers)

    (segment,) = (path for path in tmp_path.rglob("0*.log") if path.stat().st_size)
    group, offset = dump(segment)

    assert group["key"] == {"type": "2", "data": {"group": GROUP}}
    assert group["payload"]["version"] == "3"
    (member,) = group["payload"]["data"]["members"]
    assert member["groupInstanceId"] == "i"
    assert member["assignment"]["assignedPartitions"] == [{"topic": TOPIC, "partitions": [0, 1]}]
    assert offset["key"]["data"] == {"group": GROUP, "topic": TOPIC, "partition": 1}
    assert offset["payload"]["version"] == "4"
    assert offset["payload"]["data"]["offset"] == 5
    assert len(offset["payload"]["data"]["topicId"]) == 22


def test_duolog_reads_kafkas_records_and_writes_the_same_groups(kafka_peer: KafkaPeer) -> None:
    use_a_group(kafka_peer.bootstrap_servers)

    pairs = read_offsets_topic(kafka_peer.bootstrap_servers, GROUP)

    decoded = [decode_record(key, value) for key, value in pairs]
    assert any(isinstance(record, OffsetChange) and record.value for record in decoded)
    assert any(isinstance(record, GroupChange) and record.value for record in decoded)
    for (key, value), record in zip(pairs, decoded, strict=True):
        assert record is not None
        assert record.encode_key() == key
        assert decode_record(key, record.encode_value()) == record
        if isinstance(record, GroupChange):
            assert record.encode_value() == value
        if isinstance(record, OffsetChange) and value is not None:
            assert record.encode_value() == value


def read_offsets_topic(bootstrap_servers: str, group: str) -> list[tuple[bytes, bytes | None]]:
    """Return keys and values of one group in a real `__consumer_offsets`."""
    # How a key begins, after its version; other tests have groups in the same Kafka.
    beginning = len(group).to_bytes(2) + group.encode()
    servers = {"bootstrap.servers": bootstrap_servers}
    consumer = Consumer({**servers, "group.id": "reader", "enable.partition.eof": True})
    metadata = consumer.list_topics("__consumer_offsets", TIMEOUT_S)
    partitions = metadata.topics["__consumer_offsets"].partitions
    consumer.assign([TopicPartition("__consumer_offsets", number, 0) for number in partitions])
    pairs: list[tuple[bytes, bytes | None]] = []
    ended = 0
    while ended < len(partitions):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "the topic did not end"
        key, value = message.key(), message.value()
        if message.error() is not None:
            ended += 1
        elif isinstance(key, bytes) and key[2:].startswith(beginning):
            pairs.append((key, value if isinstance(value, bytes) else None))
    consumer.close()
    return pairs
