import errno
import logging
from typing import Any
from uuid import UUID

import pytest

from duolog.log.files.disk import RealDisk
from duolog.protocol.error_codes import ErrorCode

LIST_OFFSETS, METADATA, CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID = 2, 3, 19, 20, 22
OFFSET_FOR_LEADER_EPOCH, DESCRIBE_CONFIGS, CREATE_PARTITIONS = 23, 32, 37
INCREMENTAL_ALTER_CONFIGS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 44, 60, 75
TOPIC, BROKER = 2, 4


def new_topic(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [],
        "configs": [],
        **more,
    }


def create(client: Any, *topics: dict[str, Any], version: int = 7, **more: Any) -> dict[str, Any]:
    answer = client.ask(CREATE_TOPICS, version, topics=topics, **more)
    return {row.name: row for row in answer.topics}


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_created_and_found_in_every_version(harness: Any, version: int) -> None:
    client = harness.client()

    row = create(client, new_topic("orders", 3), version=version)["orders"]

    assert row.error_code == 0
    topic = harness.broker.topics.find("orders")
    assert len(topic.partitions) == 3
    if version >= 7:
        assert row.topic_id == topic.id
    if version >= 5:
        assert (row.num_partitions, row.replication_factor) == (3, 1)
        assert {config.name for config in row.configs} >= {"retention.ms", "cleanup.policy"}


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (new_topic("taken"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (new_topic("../etc/passwd"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("a" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("__consumer_offsets"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("a", 0), ErrorCode.INVALID_PARTITIONS),
        (new_topic("a", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new_topic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (
            new_topic("a", configs=[{"name": "retention.mss", "value": "1"}]),
            ErrorCode.INVALID_CONFIG,
        ),
        (
            new_topic("a", configs=[{"name": "retention.ms", "value": "soon"}]),
            ErrorCode.INVALID_CONFIG,
        ),
        (
            new_topic("a", configs=[{"name": "retention.ms", "value": None}]),
            ErrorCode.INVALID_CONFIG,
        ),
        (
            new_topic("a", -1, -1, assignments=[{"partition_index": 0, "broker_ids": [5]}]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            new_topic("a", 1, 1, assignments=[{"partition_index": 0, "broker_ids": [0]}]),
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_a_topic_with_an_invalid_name_is_refused_and_the_others_are_created(
    harness: Any, topic: dict[str, Any], code: int
) -> None:
    harness.topic("taken")
    client = harness.client()

    rows = create(client, topic, new_topic("fine"))

    assert rows[topic["name"]].error_code == code
    assert rows[topic["name"]].error_message
    assert rows[topic["name"]].configs == (), "null makes Java's admin client fail"
    assert rows["fine"].error_code == 0


def test_an_unknown_config_names_the_nearest(harness: Any) -> None:
    topic = new_topic("a", configs=[{"name": "retention.mss", "value": "1"}])

    assert "retention.ms" in create(harness.client(), topic)["a"].error_message


def test_a_clamped_replication_factor_is_one(open_harness: Any) -> None:
    harness = open_harness(replication_factor_clamp="true")

    assert create(harness.client(), new_topic("a", 1, 3))["a"].replication_factor == 1


def test_validate_only_creates_nothing(harness: Any) -> None:
    row = create(harness.client(), new_topic("a"), validate_only=True)["a"]

    assert row.error_code == 0
    assert "a" not in harness.broker.topics


def test_a_topic_twice_in_a_request_is_refused(harness: Any) -> None:
    rows = create(harness.client(), new_topic("a"), new_topic("a"))

    assert rows["a"].error_code == ErrorCode.INVALID_REQUEST


def test_topics_are_deleted_by_name_and_by_id(harness: Any) -> None:
    for name in ("a", "b", "__consumer_offsets"):
        harness.topic(name)
    client = harness.client()
    topics = [
        {"name": "a", "topic_id": None},
        {"name": None, "topic_id": harness.broker.topics.find("b").id},
        {"name": "missing", "topic_id": None},
        {"name": None, "topic_id": UUID(int=9)},
        {"name": "__consumer_offsets", "topic_id": None},
    ]

    answer = client.ask(DELETE_TOPICS, 6, topics=topics)

    codes = [row.error_code for row in answer.responses]
    assert codes == [
        0,
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
    ]
    assert [topic.name for topic in harness.broker.topics] == ["__consumer_offsets"]


def test_a_recreated_topic_has_another_id(harness: Any) -> None:
    harness.topic("a")
    first = harness.broker.topics.find("a").id
    harness.client().ask(DELETE_TOPICS, 1, topic_names=["a"])

    harness.topic("a")

    assert harness.broker.topics.find("a").id != first


def test_a_topic_grows_and_never_shrinks(harness: Any) -> None:
    harness.topic("a", 2)
    client = harness.client()

    def grow(count: int, **more: Any) -> int:
        topics = [{"name": "a", "count": count, "assignments": None}]
        answer = client.ask(CREATE_PARTITIONS, 3, topics=topics, **more)
        return int(answer.results[0].error_code)

    assert grow(2) == ErrorCode.INVALID_PARTITIONS
    assert grow(1) == ErrorCode.INVALID_PARTITIONS
    assert grow(5, validate_only=True) == 0
    assert len(harness.broker.topics.find("a").partitions) == 2
    assert grow(5) == 0
    metadata = client.ask(METADATA, 12, topics=[{"name": "a"}], allow_auto_topic_creation=False)
    assert len(metadata.topics[0].partitions) == 5
    assert client.produce("a", harness.batch(b"x"), partition=4).error_code == 0


def test_metadata_creates_a_topic_when_both_sides_allow_it(open_harness: Any) -> None:
    harness = open_harness(num_partitions="3")
    client = harness.client()

    def ask(name: str, **more: Any) -> Any:
        return client.ask(METADATA, 12, topics=[{"name": name}], **more).topics[0]

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask("a", allow_auto_topic_creation=False).error_code == unknown
    assert ask("a/b", allow_auto_topic_creation=True).error_code == 17
    assert ask("__consumer_offsets", allow_auto_topic_creation=True).error_code == unknown
    created = ask("a", allow_auto_topic_creation=True)
    assert (created.error_code, len(created.partitions)) == (0, 3)
    assert created.topic_id == harness.broker.topics.find("a").id


def test_metadata_creates_no_topic_if_auto_creation_is_off(open_harness: Any) -> None:
    harness = open_harness(auto_create_topics_enable="false")

    answer = harness.client().ask(METADATA, 1, topics=[{"name": "a"}])

    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "a" not in harness.broker.topics


def test_metadata_by_an_unknown_id_is_unknown_topic_id(harness: Any) -> None:
    answer = harness.client().ask(METADATA, 12, topics=[{"name": None, "topic_id": UUID(int=3)}])

    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_empty_list_means_all_topics_in_version_0_and_none_later(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()

    assert [topic.name for topic in client.ask(METADATA, 0, topics=[]).topics] == ["a"]
    assert client.ask(METADATA, 1, topics=[]).topics == ()
    assert [topic.name for topic in client.ask(METADATA, 1, topics=None).topics] == ["a"]


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_listed_in_every_version(harness: Any, version: int) -> None:
    harness.topic("a")
    client = harness.client()
    client.produce("a", harness.batch(b"x", b"y"))

    def ask(timestamp: int) -> Any:
        partitions = [{"partition_index": 0, "timestamp": timestamp}]
        answer = client.ask(LIST_OFFSETS, version, topics=[{"name": "a", "partitions": partitions}])
        return answer.topics[0].partitions[0]

    assert ask(-1).offset == 2
    assert ask(-2).offset == 0
    assert ask(-3).error_code == (0 if version >= 7 else ErrorCode.UNSUPPORTED_VERSION)
    assert ask(-4).error_code == (0 if version >= 8 else ErrorCode.UNSUPPORTED_VERSION)


def test_an_offset_by_time_is_exact_to_the_record(harness: Any) -> None:
    from duolog.record import Record, encode_batch  # noqa: PLC0415

    harness.topic("a", message_timestamp_after_max_ms=str(2**62))
    client = harness.client()
    times = (100, 300, 200, 400)
    client.produce("a", bytes(encode_batch([Record(0, at, b"k", b"v") for at in times])))

    def ask(timestamp: int) -> tuple[int, int]:
        partitions = [{"partition_index": 0, "timestamp": timestamp}]
        answer = client.ask(LIST_OFFSETS, 9, topics=[{"name": "a", "partitions": partitions}])
        row = answer.topics[0].partitions[0]
        return row.offset, row.timestamp

    assert [ask(at) for at in (0, 100, 150, 301, 400)] == [
        (0, 100),
        (0, 100),
        (1, 300),
        (3, 400),
        (3, 400),
    ]
    assert ask(401) == (-1, -1)
    assert ask(-3) == (3, 400)
    assert ask(-5) == (-1, -1)


def test_each_producer_id_is_given_once_also_after_a_restart(open_harness: Any) -> None:
    harness = open_harness()
    client = harness.client()
    given = [client.ask(INIT_PRODUCER_ID, 4).producer_id for _ in range(3)]
    harness.stop()
    harness = open_harness()

    again = harness.client().ask(INIT_PRODUCER_ID, 4)

    assert len(set(given)) == 3
    assert again.producer_id not in given
    assert (again.error_code, again.producer_epoch) == (0, 0)


def test_the_end_of_an_older_epoch_is_known_after_a_restart(open_harness: Any) -> None:
    harness = open_harness()
    harness.topic("a")
    harness.client().produce("a", harness.batch(b"x", b"y"))
    epoch = harness.broker.log("a", 0).leader_epoch
    harness.stop()
    harness = open_harness()
    client = harness.client()
    client.produce("a", harness.batch(b"z"))

    def ask(asked: int, current: int = -1) -> tuple[int, int, int]:
        rows = [{"partition": 0, "current_leader_epoch": current, "leader_epoch": asked}]
        answer = client.ask(OFFSET_FOR_LEADER_EPOCH, 4, topics=[{"topic": "a", "partitions": rows}])
        row = answer.topics[0].partitions[0]
        return row.error_code, row.leader_epoch, row.end_offset

    assert ask(epoch) == (0, epoch, 2)
    assert ask(epoch + 1) == (0, epoch + 1, 3)
    assert ask(epoch, current=epoch)[0] == ErrorCode.FENCED_LEADER_EPOCH


def describe(client: Any, kind: int, name: str, keys: list[str] | None = None) -> Any:
    resources = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys}]
    answer = client.ask(DESCRIBE_CONFIGS, 4, resources=resources, include_synonyms=True)
    return answer.results[0]


def test_every_config_of_a_topic_is_described_with_its_source(open_harness: Any) -> None:
    harness = open_harness(log_retention_ms="5000")
    harness.topic("a", cleanup_policy="compact")

    configs = {row.name: row for row in describe(harness.client(), TOPIC, "a").configs}

    assert len(configs) >= 20
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == (
        "compact",
        1,
    )
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5000", 4)
    assert configs["segment.bytes"].config_source == 5
    # log.retention.ms has no default of its own: its default comes from log.retention.hours.
    assert [s.name for s in configs["retention.ms"].synonyms] == ["log.retention.ms"]
    assert [s.source for s in configs["cleanup.policy"].synonyms] == [1, 5]


def test_the_broker_describes_its_settings_and_only_its_own(harness: Any) -> None:
    client = harness.client()

    own = describe(client, BROKER, "0", ["durability"])
    other = describe(client, BROKER, "1")
    missing = describe(client, TOPIC, "missing")

    assert [(row.name, row.value) for row in own.configs] == [("durability", "os")]
    assert other.error_code == ErrorCode.INVALID_REQUEST
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def alter(client: Any, name: str, *changes: tuple[str, int, str | None], **more: Any) -> Any:
    configs = [
        {"name": config, "config_operation": operation, "value": value}
        for config, operation, value in changes
    ]
    resources = [{"resource_type": TOPIC, "resource_name": name, "configs": configs}]
    answer = client.ask(INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, **more)
    return answer.responses[0]


def test_single_configs_are_set_deleted_appended_and_subtracted(harness: Any) -> None:
    harness.topic("a", retention_ms="1")
    client = harness.client()
    configs = harness.broker.topics.find("a").configs

    assert alter(client, "a", ("segment.bytes", 0, "2097152")).error_code == 0
    assert alter(client, "a", ("cleanup.policy", 2, "compact")).error_code == 0
    configs = harness.broker.topics.find("a").configs
    assert configs == {
        "retention.ms": "1",
        "segment.bytes": "2097152",
        "cleanup.policy": "delete,compact",
    }
    assert alter(client, "a", ("cleanup.policy", 3, "delete")).error_code == 0
    assert alter(client, "a", ("retention.ms", 1, None)).error_code == 0
    configs = harness.broker.topics.find("a").configs
    assert configs == {"segment.bytes": "2097152", "cleanup.policy": "compact"}
    assert client.produce("a", harness.batch(b"x", key=None)).error_code == ErrorCode.INVALID_RECORD


def test_a_config_change_that_fails_changes_nothing(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()

    codes = [
        alter(client, "a", ("segment.bytes", 0, "2097152"), ("nothing", 0, "1")).error_code,
        alter(client, "a", ("segment.bytes", 0, "soon")).error_code,
        alter(client, "a", ("segment.bytes", 2, "1")).error_code,
        alter(client, "a", ("cleanup.policy", 2, "shred")).error_code,
        alter(client, "missing", ("segment.bytes", 0, "2097152")).error_code,
        alter(client, "a", ("segment.bytes", 0, "2097152"), validate_only=True).error_code,
    ]

    bad = ErrorCode.INVALID_CONFIG
    assert codes == [bad, bad, bad, bad, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert harness.broker.topics.find("a").configs == {}


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_one_broker_and_its_own_controller(harness: Any, version: int) -> None:
    answer = harness.client().ask(DESCRIBE_CLUSTER, version)

    assert answer.cluster_id == harness.broker.cluster_id
    assert answer.controller_id == 0
    assert [(row.broker_id, row.host, row.port) for row in answer.brokers] == [
        (0, "127.0.0.1", 9092)
    ]


def test_topic_partitions_are_described_page_by_page(harness: Any) -> None:
    harness.topic("b", 3)
    harness.topic("a", 2)
    client = harness.client()
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(10):
        answer = client.ask(
            DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=2, cursor=cursor
        )
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        assert all(p.eligible_leader_replicas == () for t in answer.topics for p in t.partitions)
        if answer.next_cursor is None:
            break
        cursor = {
            "topic_name": answer.next_cursor.topic_name,
            "partition_index": answer.next_cursor.partition_index,
        }

    assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]


def test_a_topic_whose_deletion_fails_is_still_there(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("orders", 2)
    client = harness.client()
    client.produce("orders", harness.batch(b"a"))
    topic_id = harness.broker.topics.find("orders").id

    def fail(_disk: object, _old: str, new: str) -> None:
        raise OSError(5, "input/output error", new)

    monkeypatch.setattr(RealDisk, "rename", fail)
    answer = client.ask(DELETE_TOPICS, 5, topic_names=["orders"])

    assert answer.responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    for asked in ({"name": "orders"}, {"name": None, "topic_id": topic_id}):
        (row,) = client.ask(METADATA, 12, topics=[asked]).topics
        assert (row.error_code, row.name, len(row.partitions)) == (0, "orders", 2)
    assert client.fetch("orders", 0).records
    assert client.produce("orders", harness.batch(b"b")).error_code != 0
    harness.broker.rounds.failure = harness.broker._log_manager.health.error = None  # noqa: SLF001
    monkeypatch.undo()


def test_a_deletion_on_a_full_disk_says_how_to_free_space(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was the code 56 alone."""
    harness.topic("orders")
    client = harness.client()

    def fail(_disk: object, _old: str, new: str) -> None:
        raise OSError(errno.ENOSPC, "no space left on device", new)

    monkeypatch.setattr(RealDisk, "rename", fail)
    (row,) = client.ask(DELETE_TOPICS, 5, topic_names=["orders"]).responses
    (again,) = client.ask(DELETE_TOPICS, 5, topic_names=["orders"]).responses

    assert {row.error_code, again.error_code} == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert row.error_message == again.error_message
    assert "no space left on device. Stop the broker and free space" in row.error_message
    harness.broker.rounds.failure = harness.broker._log_manager.health.error = None  # noqa: SLF001
    monkeypatch.undo()


def test_the_log_says_which_folder_belongs_to_a_topic(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = harness.client()
    with caplog.at_level(logging.INFO):
        create(client, new_topic("orders"))
        topic_id = harness.broker.topics.find("orders").id
        client.ask(DELETE_TOPICS, 5, topic_names=["orders"])

    lines = {record.message: record.__dict__ for record in caplog.records}
    for message in ("created topic", "deleted topic"):
        assert lines[message]["topic"] == "orders"
        assert lines[message]["topic_id"] == str(topic_id)
        assert lines[message]["folder"].endswith(f"/topics/{topic_id}")
