"""Conversations about topics, configs and the cluster; topics are named after each."""

import time
from typing import Any
from uuid import UUID

from conformance.kafka.wire_client import ConnectionClosed, WireClient
from conformance.kafka.wire_helpers import (
    BROKER,
    CREATE_PARTITIONS,
    DELETE_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOPIC_PARTITIONS,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    METADATA,
    TOPIC,
    create,
    create_and_wait,
    new_topic,
    plain,
)


def created_topics(client: WireClient) -> Any:
    topics = [
        new_topic("made_ok", 2), new_topic("made_ok", 2), new_topic(""), new_topic(".."),
        new_topic("a/b"), new_topic("a b"), new_topic("l" * 250), new_topic("m" * 249),
        new_topic("made_none", 0), new_topic("made_minus", -2), new_topic("made_r0", 1, 0),
        new_topic("made_r3", 1, 3), new_topic("made_default", -1, -1),
        new_topic("made_both", 1, 1, {0: [1]}), new_topic("made_gap", -1, -1, {0: [1], 2: [1]}),
        new_topic("made_assigned", -1, -1, {0: [1], 1: [1]}),
        new_topic("made_elsewhere", -1, -1, {0: [7]}),
        new_topic("made_twice", -1, -1, {0: [1, 1]}), new_topic("made_no_one", -1, -1, {0: []}),
        new_topic("made_text", retention_ms="abc"), new_topic("made_unknown", nope="1"),
        new_topic("made_null", retention_ms=None), new_topic("made_empty", retention_ms=""),
        new_topic("made_low", retention_ms="-5"), new_topic("made_spaces", retention_ms=" 5 "),
        new_topic("made_compact", cleanup_policy="compact,delete"),
        new_topic("made_policy", cleanup_policy="foo"), new_topic("made_free", cleanup_policy=""),
        new_topic("made_segment", segment_bytes="10"), new_topic("made_bool", preallocate="yes"),
        new_topic("made_case", message_timestamp_type="createtime"), new_topic("made.ok"),
    ]  # fmt: skip
    answers = [plain(create(client, topic)) for topic in topics]
    answers += [
        plain(create(client, new_topic("made_old", -1, -1), version=version)) for version in (2, 4)
    ]
    for answer in answers:
        for row in answer["topics"]:
            row.pop("configs", None)
    return answers


def topics_named_twice(client: WireClient) -> Any:
    create_and_wait(client, new_topic("twice_a"), new_topic("twice_b"))
    made = create(client, new_topic("twice_c"), new_topic("twice_c"), new_topic("twice_d"))
    grown = client.ask(
        CREATE_PARTITIONS,
        3,
        topics=[
            {"name": name, "count": count, "assignments": None}
            for name, count in (("twice_a", 3), ("twice_a", 4), ("twice_b", 3))
        ],
        timeout=10_000,
        validate_only=False,
    )
    gone = client.ask(
        DELETE_TOPICS,
        6,
        topics=[{"name": name, "topic_id": None} for name in ("twice_a", "twice_a", "twice_b")],
        timeout=10_000,
    )
    return [
        sorted((row.name, row.error_code) for row in rows)
        for rows in (made.topics, grown.results, gone.responses)
    ]


def deleted_topics(client: WireClient) -> Any:
    create_and_wait(client, new_topic("gone_a"), new_topic("gone_b"))
    asked = [
        ("nope", None),
        (None, UUID(int=77)),
        (None, None),
        ("gone_a", UUID(int=77)),
        ("a/b", None),
        ("gone_a", None),
        ("gone_a", None),
    ]
    answers = [
        client.ask(DELETE_TOPICS, 6, topics=[{"name": name, "topic_id": id_}], timeout=10_000)
        for name, id_ in asked
    ]
    old = client.ask(DELETE_TOPICS, 1, topic_names=["gone_b", "nope"], timeout=10_000)
    return [plain(answer) for answer in answers], sorted(
        (row.name, row.error_code) for row in old.responses
    )


def grown_topics(client: WireClient) -> Any:
    create_and_wait(client, new_topic("grown", 2))

    def grow(name: str, count: int, *assigned: list[int], validate_only: bool = False) -> Any:
        assignments = [{"broker_ids": ids} for ids in assigned] or None
        topic = {"name": name, "count": count, "assignments": assignments}
        answer = client.ask(
            CREATE_PARTITIONS, 3, topics=[topic], timeout=10_000, validate_only=validate_only
        )
        return plain(answer)

    return [
        grow("grown", 2), grow("grown", 1), grow("grown", 0), grow("grown", -1), grow("nope", 3),
        grow("a/b", 3), grow("grown", 3, validate_only=True), grow("grown", 3),
        grow("grown", 4, [1]), grow("grown", 6, [1]), grow("grown", 5, [9]),
        grow("grown", 5, [1, 1]), grow("grown", 5, []),
    ]  # fmt: skip


def configs_of(client: WireClient, kind: int, name: str, *keys: str, version: int = 4) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}
    answer = client.ask(
        DESCRIBE_CONFIGS,
        version,
        resources=[resource],
        include_synonyms=False,
        include_documentation=False,
    )
    result = plain(answer)["results"][0]
    result["configs"].sort(key=lambda row: row["name"])
    return result


def described_configs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("told", retention_ms="1000", cleanup_policy="compact"))
    keys = [
        "retention.ms", "retention.bytes", "cleanup.policy", "segment.bytes", "segment.ms",
        "max.message.bytes", "compression.type", "delete.retention.ms",
        "message.timestamp.type", "message.timestamp.after.max.ms", "preallocate", "nope",
        "message.timestamp.before.max.ms", "min.cleanable.dirty.ratio", "flush.ms",
        "unclean.leader.election.enable", "segment.index.bytes", "file.delete.delay.ms",
    ]  # fmt: skip
    return (
        [configs_of(client, TOPIC, "told", *keys, version=version) for version in range(1, 5)],
        [configs_of(client, TOPIC, name) for name in ("nope", "a/b", "")],
        [configs_of(client, BROKER, name) for name in ("9", "x")],
        [configs_of(client, kind, "x")["error_code"] for kind in (0, 99)],
    )


def altered_configs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("altered"))

    def alter(
        *changes: tuple[str, int, str | None],
        kind: int = TOPIC,
        name: str = "altered",
        times: int = 1,
        validate_only: bool = False,
    ) -> Any:
        resource = {
            "resource_type": kind,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": operation, "value": value}
                for key, operation, value in changes
            ],
        }
        answer = client.ask(
            INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource] * times, validate_only=validate_only
        )
        client.settle(changed=not (answer.responses[0].error_code or validate_only))
        now = configs_of(client, TOPIC, "altered", "retention.ms", "cleanup.policy", "segment.ms")
        return plain(answer), now

    return [
        alter(("retention.ms", 0, "5000")), alter(("retention.ms", 0, "7000"), validate_only=True),
        alter(("retention.ms", 0, "x")), alter(("retention.ms", 0, None)),
        alter(("retention.ms", 0, "")), alter(("nope", 0, "x")), alter(("nope", 1, None)),
        alter(("retention.ms", 1, None)), alter(("segment.ms", 1, "4")),
        alter(("cleanup.policy", 2, "compact")), alter(("cleanup.policy", 2, "compact")),
        alter(("cleanup.policy", 3, "delete")), alter(("cleanup.policy", 3, "compact")),
        alter(("cleanup.policy", 2, None)), alter(("cleanup.policy", 2, "foo")),
        alter(("retention.ms", 2, "5")), alter(("retention.ms", 3, "5")),
        alter(("retention.ms", 0, "5"), ("retention.ms", 1, None)), alter(),
        alter(("retention.ms", 0, "88"), ("segment.ms", 0, "x")),
        alter(("retention.ms", 0, " 77 ")), alter(("retention.ms", 0, "9"), times=2),
        *(alter(("retention.ms", 0, "5"), name=name) for name in ("nope", "a/b", "")),
        *(alter(("log.retention.ms", 0, "5"), kind=BROKER, name=name) for name in ("x", "9")),
        *(alter(("a", 0, "5"), kind=kind, name="x") for kind in (0, 99)),
    ]  # fmt: skip


def metadata(client: WireClient) -> Any:
    create_and_wait(client, new_topic("meta_a", 2))

    def ask(version: int, *topics: dict[str, Any], **more: Any) -> Any:
        fields = {"allow_auto_topic_creation": False, **more} if version >= 4 else {}
        answer = plain(client.ask(METADATA, version, topics=topics, **fields))
        for topic in answer["topics"]:
            topic["partitions"].sort(key=lambda row: row["partition_index"])
        answer["topics"].sort(key=lambda row: row["name"] or "")
        return answer

    known, unknown = ({"name": name, "topic_id": None} for name in ("meta_a", "meta_b"))
    id_ = client.ask(METADATA, 12, topics=[known]).topics[0].topic_id
    rights = {"include_topic_authorized_operations": True}
    rights_of_all = {**rights, "include_cluster_authorized_operations": True}
    nothing = [ask(version)["topics"] for version in range(1, 14)]
    everything = [
        [
            row.name
            for row in client.ask(METADATA, version, topics=asked).topics
            if row.name == "meta_a"
        ]
        for version, asked in [(0, ()), *((version, None) for version in range(1, 14))]
    ]
    return (
        [ask(version, known) for version in range(14)],
        [ask(version, unknown) for version in range(4, 14)],
        nothing,
        everything,
        [ask(12, {"name": name, "topic_id": topic_id}) for name, topic_id in
         ((None, id_), ("meta_a", id_), ("meta_a", UUID(int=5)), (None, UUID(int=5)))],
        [ask(12, known, known), ask(12, unknown, unknown)],
        [ask(12, {"name": name, "topic_id": None}, allow_auto_topic_creation=True)
         for name in ("a/b", "", "..", "x" * 250)],
        [ask(version, known, **rights_of_all) for version in (8, 9, 10)],
        [ask(version, known, **rights) for version in (11, 12, 13)],
    )  # fmt: skip


def cluster(client: WireClient) -> Any:
    def describe(version: int, kind: int = 1, *, rights: bool = False) -> Any:
        fields = {"include_cluster_authorized_operations": rights, "endpoint_type": kind}
        return plain(client.ask(DESCRIBE_CLUSTER, version, **fields))

    return [
        describe(0),
        describe(1),
        describe(2),
        describe(1, rights=True),
        describe(1, 2),
        describe(1, 9),
    ]


def topic_partitions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("part_a", 3), new_topic("part_b", 2))

    def describe(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
        at = {"topic_name": cursor[0], "partition_index": cursor[1]} if cursor else None
        return plain(
            client.ask(
                DESCRIBE_TOPIC_PARTITIONS,
                0,
                topics=[{"name": name} for name in names],
                response_partition_limit=limit,
                cursor=at,
            )
        )

    both = ("part_b", "part_a")
    return [
        describe(*both),
        describe("nope", "part_a"),
        describe(*both, limit=2),
        describe(*both, limit=4),
        describe(*both, limit=3),
        describe(*both, cursor=("part_a", 2)),
        describe("part_a", "part_a"),
    ]


def producer_ids(client: WireClient) -> Any:
    def init(version: int, **more: Any) -> Any:
        fields = {"transaction_timeout": 1000, "producer_id": -1, "producer_epoch": -1, **more}
        deadline = time.monotonic() + 30
        while True:  # Kafka has to fetch its first block of ids.
            answer = client.ask(INIT_PRODUCER_ID, version, **fields)
            if answer.error_code != 14 or time.monotonic() > deadline:
                return answer.error_code, answer.producer_id >= 0, answer.producer_epoch
            time.sleep(0.2)

    return [
        *(init(version) for version in range(6)),
        init(4, transactional_id=""),
        init(4, producer_id=5, producer_epoch=1),
        init(4, producer_id=5),
        init(4, producer_epoch=5),
    ]


def requests_nobody_serves(client: WireClient) -> Any:
    host, port = client.socket.getpeername()[:2]

    def send(key: int, version: int, body: bytes) -> bytes | None:
        with WireClient(f"{host}:{port}") as other:
            try:
                answer = other.ask_bytes(key, version, body)
            except ConnectionClosed:
                return None
            return answer[:2] if key == 18 and version in range(5) else answer

    return (
        [send(0, version, bytes(20)) for version in (0, 1, 2, 14)],
        [send(12, 9, bytes(20)), send(200, 0, b"")],
        [send(18, 5, b"\x05test\x041.0\0"), send(18, 3, b"\x05test\x041.0\0")],
        [send(18, 3, b"\x05te t\x041.0\0"), send(18, 3, b"\x01\x01\0"), send(18, 0, b"")],
    )
