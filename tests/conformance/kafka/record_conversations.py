"""Conversations about records and offsets; each uses topics named after itself."""

import time
from typing import Any
from uuid import UUID

from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import (
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
    batch,
    changed,
    create_and_wait,
    new_topic,
    plain,
)


def produced(client: WireClient) -> Any:
    create_and_wait(
        client,
        new_topic("put"),
        new_topic("put_small", max_message_bytes="200"),
        new_topic("put_table", cleanup_policy="compact"),
        new_topic("put_late", message_timestamp_before_max_ms="1000000"),
    )
    later = round(time.time() * 1000) + 7_200_000

    def put(
        data: bytes, topic: str = "put", partition: int = 0, acks: int = -1, version: int = 9
    ) -> Any:
        fields = {
            "acks": acks,
            "timeout": 5000,
            "topic_data": [
                {"name": topic, "partition_data": [{"index": partition, "records": data}]}
            ],
        }
        (row,) = client.ask(PRODUCE, version, **fields).responses[0].partition_responses
        named = [error.batch_index for error in getattr(row, "record_errors", ())]
        return row.error_code, row.base_offset, named

    def idempotent(epoch: int, sequence: int, *values: bytes) -> Any:
        more: dict[str, Any] = {
            "producer_id": 5000,
            "producer_epoch": epoch,
            "base_sequence": sequence,
        }
        return put(batch(*values, **more))

    broken = bytearray(batch())
    broken[-1] ^= 1
    return (
        [put(batch()), put(batch(), acks=1), put(batch(), acks=2), put(batch(), acks=-2)],
        [put(batch(), partition=5), put(batch(), partition=-1), put(batch(), "nope"),
         put(batch(), "a/b")],
        [put(b""), put(batch()[:30]), put(batch()[:-1]), put(batch() + batch()),
         put(changed(batch(), ">b", 16, 1)), put(bytes(broken)), put(bytes(broken), version=3)],
        [put(batch(b"x" * 300), "put_small"), put(changed(batch(), ">h", 21, 0x20)),
         put(changed(batch(), ">i", 57, 0)), put(changed(batch(), ">i", 57, 5)),
         put(changed(batch(), ">i", 23, 5)), put(changed(batch(), ">i", 23, -1))],
        [put(batch(at=later)), put(batch(at=5), "put_late"), put(batch(at=-1), "put_late")],
        [put(batch(b"a", b"b", key=None), "put_table", version=version) for version in (7, 9)],
        [put(batch(compression=4), version=version) for version in (6, 7)],
        [idempotent(0, 0), idempotent(0, 0), idempotent(0, 1), idempotent(0, 5),
         idempotent(0, 2), idempotent(0, 2, b"a", b"b"), idempotent(1, 3), idempotent(1, 0),
         idempotent(0, 3), idempotent(1, -1)],
        [put(batch(), version=version) for version in range(3, 13)],
    )  # fmt: skip


def fetched(client: WireClient) -> Any:
    create_and_wait(client, new_topic("got"))
    for _ in range(3):
        rows = [{"index": 0, "records": batch(b"a", b"b")}]
        data = [{"name": "got", "partition_data": rows}]
        client.ask(PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)
    id_ = client.ask(METADATA, 12, topics=[{"name": "got"}]).topics[0].topic_id

    def get(offset: int = 0, version: int = 12, **more: Any) -> Any:
        partition = {
            "partition": more.pop("partition", 0),
            "current_leader_epoch": more.pop("epoch", -1),
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": more.pop("partition_max_bytes", 1 << 20),
        }
        topic = {"topic": more.pop("topic", "got"), "topic_id": more.pop("id", id_)}
        fields = {
            "replica_id": -1, "max_wait": 50, "min_bytes": 1, "max_bytes": 1 << 20,
            "isolation_level": 0, "session_id": 0, "session_epoch": -1, "rack_id": "",
            "forgotten_topics_data": (), "topics": [{**topic, "partitions": [partition]}],
        } | more  # fmt: skip
        answer = plain(client.ask(FETCH, version, **fields))
        answer["session_id"] = bool(answer.get("session_id")) and fields["session_epoch"] != 0
        for row in answer["responses"]:
            for found in row["partitions"]:
                found["records"] = len(found["records"] or b"")
                if found["error_code"]:
                    del found["aborted_transactions"]
        return answer

    return (
        [get(version=version) for version in range(4, 18)],
        [get(3), get(6), get(7), get(-1), get(-1, version=4)],
        [get(topic="nope"), get(partition=3), get(version=13, id=UUID(int=3)),
         get(version=13, id=None), get(version=13, partition=3), get(epoch=1000)],
        [get(partition_max_bytes=1), get(max_bytes=1), get(max_bytes=0),
         get(partition_max_bytes=0), get(min_bytes=10**6), get(6, max_wait=-1)],
        [get(isolation_level=1), get(topics=())],
        [get(session_id=sid, session_epoch=epoch) for sid, epoch in
         ((0, 0), (0, 3), (55, 3), (55, -1), (55, 0))],
    )  # fmt: skip


def listed_offsets(client: WireClient) -> Any:
    # Its records are of 1970, and would be deleted at some moment.
    create_and_wait(client, new_topic("when", retention_ms="-1"), new_topic("when_empty"))
    for at in (1000, 2000, 3000):
        rows = [{"index": 0, "records": batch(b"a", b"b", at=at)}]
        data = [{"name": "when", "partition_data": rows}]
        client.ask(PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)

    def find(
        timestamp: int,
        topic: str = "when",
        *,
        version: int = 9,
        partition: int = 0,
        epoch: int = -1,
        isolation: int = 0,
    ) -> Any:
        asked = {
            "partition_index": partition,
            "current_leader_epoch": epoch,
            "timestamp": timestamp,
        }
        topics = [{"name": topic, "partitions": [asked]}]
        answer = client.ask(
            LIST_OFFSETS, version, replica_id=-1, isolation_level=isolation, topics=topics
        )
        row = answer.topics[0].partitions[0]
        return plain(row), getattr(row, "leader_epoch", -1) >= 0

    times = (-1, -2, -3, -4, -5, -6, 0, 1500, 3000, 3001)
    return (
        [find(timestamp, version=version) for version in range(1, 11) for timestamp in times],
        [find(timestamp, "when_empty") for timestamp in (-1, -2, -3, -4, -5, 0)],
        [find(-1, "nope"), find(-1, "a/b"), find(-1, partition=9), find(-1, epoch=1000),
         find(-1, isolation=1), find(-7), find(-100)],
    )  # fmt: skip


def ends_of_epochs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("epochs"))
    data = [{"name": "epochs", "partition_data": [{"index": 0, "records": batch()}]}]
    client.ask(PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)
    found = client.ask(METADATA, 12, topics=[{"name": "epochs"}])
    epoch = found.topics[0].partitions[0].leader_epoch

    def end(
        asked: int, topic: str = "epochs", partition: int = 0, current: int = -1, version: int = 4
    ) -> Any:
        row = {"partition": partition, "current_leader_epoch": current, "leader_epoch": asked}
        topics = [{"topic": topic, "partitions": [row]}]
        answer = client.ask(OFFSET_FOR_LEADER_EPOCH, version, replica_id=-1, topics=topics)
        return plain(answer), answer.topics[0].partitions[0].leader_epoch == epoch

    return [
        end(epoch),
        end(epoch + 5),
        end(-1),
        end(0, "nope"),
        end(0, partition=7),
        end(epoch, current=epoch),
        end(epoch, current=epoch + 1),
        end(epoch, version=2),
    ]
