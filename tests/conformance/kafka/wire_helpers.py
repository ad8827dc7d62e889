"""Parts of conversations: topics, batches, and answers as plain values."""

import dataclasses
import struct
import time
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from crc32c import crc32c

from conformance.kafka.wire_client import WireClient
from duolog.record import BatchProducer, Record, encode_batch

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 19, 20, 22, 23
DESCRIBE_CONFIGS, CREATE_PARTITIONS, INCREMENTAL_ALTER_CONFIGS = 32, 37, 44
DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 60, 75
TOPIC, BROKER = 2, 4
NOT_COMPARED: Final = {"error_message", "throttle_time", "port", "cluster_id", "leader_epoch"}


def plain(value: Any) -> Any:
    """Return an entity as plain values without fields that always differ between brokers."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names if name not in NOT_COMPARED}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, UUID):
        return "an id"
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value


def new_topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assigned: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [
            {"partition_index": index, "broker_ids": ids} for index, ids in (assigned or {}).items()
        ],
        "configs": [
            {"name": key.replace("_", "."), "value": value} for key, value in configs.items()
        ],
    }


def create(client: WireClient, *topics: dict[str, Any], version: int = 7, **more: Any) -> Any:
    fields = {"topics": topics, "timeout": 10_000, "validate_only": False, **more}
    return client.ask(CREATE_TOPICS, version, **fields)


def create_and_wait(client: WireClient, *topics: dict[str, Any]) -> None:
    """Create topics; Kafka's broker learns of them some time after its controller."""
    create(client, *topics)
    names = [{"name": topic["name"]} for topic in topics]
    deadline = time.monotonic() + 60
    while any(
        row.error_code or any(p.error_code for p in row.partitions)
        for row in client.ask(METADATA, 5, topics=names, allow_auto_topic_creation=False).topics
    ):
        assert time.monotonic() < deadline, "the topics do not come"
        time.sleep(0.1)
    while not all(_has_leaders(client, name["name"]) for name in names):
        assert time.monotonic() < deadline, "the partitions have no leader"
        time.sleep(0.1)


def _has_leaders(client: WireClient, name: str) -> bool:
    """Return True if every partition answers; Kafka's broker loads them one by one."""
    asked = [{"name": name}]
    (topic,) = client.ask(METADATA, 5, topics=asked, allow_auto_topic_creation=False).topics
    partitions = [
        {"partition_index": row.partition_index, "current_leader_epoch": -1, "timestamp": -1}
        for row in topic.partitions
    ]
    topics = [{"name": name, "partitions": partitions}]
    answer = client.ask(LIST_OFFSETS, 9, replica_id=-1, isolation_level=0, topics=topics)
    return all(row.error_code == 0 for row in answer.topics[0].partitions)


def batch(*values: bytes, at: int | None = None, key: bytes | None = b"k", **more: Any) -> bytes:
    timestamp = round(time.time() * 1000) if at is None else at
    records = [Record(i, timestamp, key, value) for i, value in enumerate(values or (b"v",))]
    producer = {name: more.pop(name) for name in BatchProducer._fields if name in more}
    return bytes(encode_batch(records, producer=BatchProducer(**producer), **more))


def changed(data: bytes, form: str, position: int, value: int) -> bytes:
    """Return a batch with a changed header field and a recomputed checksum."""
    copy = bytearray(data)
    struct.pack_into(form, copy, position, value)
    struct.pack_into(">I", copy, 17, crc32c(bytes(copy[21:])))
    return bytes(copy)
