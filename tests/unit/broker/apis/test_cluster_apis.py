"""Deleting records, log directories, elections, reassignments, the quorum, ACLs and SASL."""

from typing import Any, Final
from uuid import UUID

import pytest

from duolog.protocol.error_codes import ErrorCode

LIST_OFFSETS, SASL_HANDSHAKE, CREATE_TOPICS, DELETE_RECORDS = 2, 17, 19, 21
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS = 29, 30, 31
DESCRIBE_LOG_DIRS, SASL_AUTHENTICATE, CREATE_PARTITIONS, ELECT_LEADERS = 35, 36, 37, 43
ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS = 45, 46
DESCRIBE_QUORUM, DESCRIBE_CLUSTER, DESCRIBE_PARTITIONS = 55, 60, 75
METADATA: Final = 3


# Deleting records


def delete(client: Any, topic: str, offset: int, *, index: int = 0, version: int = 2) -> Any:
    topics = [{"name": topic, "partitions": [{"partition_index": index, "offset": offset}]}]
    answer = client.ask(DELETE_RECORDS, version, topics=topics, timeout=1000)
    row = answer.topics[0].partitions[0]
    return row.error_code, row.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_records_are_deleted_and_stay_so_after_a_restart(open_harness: Any, version: int) -> None:
    harness = open_harness()
    harness.topic("a")
    client = harness.client()
    for value in (b"x", b"y", b"z"):
        client.produce("a", harness.batch(value))

    deleted = delete(client, "a", 2, version=version)
    below = client.fetch("a", 1).error_code
    harness.stop()
    harness = open_harness()

    assert deleted == (0, 2)
    assert below == ErrorCode.OFFSET_OUT_OF_RANGE
    assert harness.broker.log("a", 0).log_start_offset == 2
    assert harness.client().fetch("a", 2).error_code == 0


def test_minus_one_deletes_up_to_the_high_watermark_and_an_old_offset_nothing(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    client.produce("a", harness.batch(b"x", b"y"))

    assert delete(client, "a", -1) == (0, 2)
    assert delete(client, "a", 1) == (0, 2)
    assert client.fetch("a", 2).error_code == 0


def test_segments_below_the_new_start_are_removed(harness: Any) -> None:
    harness.topic("a", segment_bytes="1024")
    client = harness.client()
    for _ in range(8):
        client.produce("a", harness.batch(b"x" * 600))
    log = harness.broker.log("a", 0)
    before = log.size_bytes

    assert delete(client, "a", 6) == (0, 6)
    assert log.size_bytes < before


def test_records_that_cannot_be_deleted_are_refused(harness: Any) -> None:
    harness.topic("a")
    harness.topic("table", cleanup_policy="compact")
    harness.topic("both", cleanup_policy="compact,delete")
    client = harness.client()
    for name in ("a", "table", "both"):
        client.produce(name, harness.batch(b"x"))

    assert delete(client, "a", 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, "a", -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, "a", 0, index=5) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, "missing", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, "table", 1) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(client, "both", 1) == (0, 1)


def test_several_partitions_are_cut_in_one_request(harness: Any) -> None:
    harness.topic("a", 2)
    client = harness.client()
    for index in (0, 1):
        client.produce("a", harness.batch(b"x"), partition=index)
    rows = [{"partition_index": index, "offset": 1} for index in (0, 1, 1)]

    answer = client.ask(DELETE_RECORDS, 2, topics=[{"name": "a", "partitions": rows}])

    found = [(row.error_code, row.low_watermark) for row in answer.topics[0].partitions]
    assert found == [(0, 1)] * 3


# Log directories


@pytest.mark.parametrize("version", range(1, 5))
def test_the_data_directory_is_described_with_sizes_of_partitions(
    harness: Any, version: int
) -> None:
    harness.topic("a", 2)
    harness.topic("b")
    client = harness.client()
    batch = harness.batch(b"x")
    client.produce("a", batch, partition=1)

    answer = client.ask(DESCRIBE_LOG_DIRS, version, topics=None)

    (result,) = answer.results
    sizes = {
        (topic.name, row.partition_index): row.partition_size
        for topic in result.topics
        for row in topic.partitions
    }
    assert result.log_dir == harness.broker.data_dir
    assert sizes == {("a", 0): 0, ("a", 1): len(batch), ("b", 0): 0}
    if version >= 4:
        assert result.total_bytes >= result.usable_bytes > 0


def test_only_partitions_that_exist_are_described(harness: Any) -> None:
    harness.topic("a", 2)
    topics = [{"topic": "a", "partitions": [1, 9]}, {"topic": "missing", "partitions": [0]}]

    (result,) = harness.client().ask(DESCRIBE_LOG_DIRS, 4, topics=topics).results

    assert [(t.name, [p.partition_index for p in t.partitions]) for t in result.topics] == [
        ("a", [1])
    ]


def test_a_directory_that_went_offline_says_so(harness: Any) -> None:
    harness.topic("a")
    harness.broker.rounds.failure = OSError("gone")

    (result,) = harness.client().ask(DESCRIBE_LOG_DIRS, 4, topics=None).results

    assert (result.error_code, result.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, ())


@pytest.mark.parametrize("version", range(1, 3))
def test_a_replica_stays_in_the_one_directory(harness: Any, version: int) -> None:
    harness.topic("a")
    here = harness.broker.data_dir
    asked = [(here, "a", 0), (here, "a", 9), (here, "missing", 0), ("/other", "a", 0)]
    dirs = [
        {"path": path, "topics": [{"name": name, "partitions": [index]}]}
        for path, name, index in asked
    ]

    answer = harness.client().ask(34, version, dirs=dirs)

    found = [
        (topic.topic_name, row.partition_index, row.error_code)
        for topic in answer.results
        for row in topic.partitions
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found == [
        ("a", 0, 0),
        ("a", 9, unknown),
        ("a", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("missing", 0, unknown),
    ]


# Elections and reassignments


@pytest.mark.parametrize("version", range(3))
def test_no_election_is_ever_needed(harness: Any, version: int) -> None:
    harness.topic("a")
    topics = [{"topic": "a", "partitions": [0, 7]}, {"topic": "missing", "partitions": [0]}]

    answer = harness.client().ask(ELECT_LEADERS, version, topic_partitions=topics, election_type=0)
    of_all = harness.client().ask(ELECT_LEADERS, version, topic_partitions=None, election_type=0)

    codes = [row.error_code for t in answer.replica_election_results for row in t.partition_result]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [ErrorCode.ELECTION_NOT_NEEDED, unknown, unknown]
    assert all(not topic.partition_result for topic in of_all.replica_election_results)


@pytest.mark.parametrize("version", range(2))
def test_a_partition_is_moved_only_to_where_it_is(harness: Any, version: int) -> None:
    harness.topic("a")
    client = harness.client()

    def move(topic: str, index: int, replicas: list[int] | None) -> int:
        partitions = [{"partition_index": index, "replicas": replicas}]
        topics = [{"name": topic, "partitions": partitions}]
        answer = client.ask(ALTER_REASSIGNMENTS, version, topics=topics)
        assert answer.error_code == 0
        return int(answer.responses[0].partitions[0].error_code)

    assert move("a", 0, [0]) == 0
    assert move("a", 0, [1]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert move("a", 0, []) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert move("a", 0, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert move("a", 1, [0]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.ask(LIST_REASSIGNMENTS, 0, topics=None).topics == ()


# Quorum, cluster, pages of partitions


@pytest.mark.parametrize("version", range(3))
def test_the_broker_is_a_quorum_of_one(harness: Any, version: int) -> None:
    client = harness.client()

    def ask(topic: str, index: int) -> Any:
        topics = [{"topic_name": topic, "partitions": [{"partition_index": index}]}]
        return client.ask(DESCRIBE_QUORUM, version, topics=topics)

    answer = ask("__cluster_metadata", 0)
    partition = answer.topics[0].partitions[0]

    assert (answer.error_code, partition.error_code, partition.leader_id) == (0, 0, 0)
    assert partition.leader_epoch == harness.broker.leader_epoch
    assert [voter.replica_id for voter in partition.current_voters] == [0]
    if version >= 2:
        assert [(n.node_id, n.listeners[0].port) for n in answer.nodes] == [(0, 9092)]
    for topic, index in (("__cluster_metadata", 1), ("a", 0)):
        row = ask(topic, index).topics[0].partitions[0]
        assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_clients_get_the_rack(open_harness: Any) -> None:
    client = open_harness(broker_rack="left").client()

    assert client.ask(METADATA, 12, topics=[]).brokers[0].rack == "left"
    assert client.ask(DESCRIBE_CLUSTER, 0).brokers[0].rack == "left"


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
def test_a_cursor_outside_of_what_is_asked_for_is_refused(
    harness: Any, cursor: tuple[str, int]
) -> None:
    harness.topic("a")
    harness.topic("b")

    answer = harness.client().ask(
        DESCRIBE_PARTITIONS,
        0,
        topics=[{"name": "a"}],
        response_partition_limit=5,
        cursor={"topic_name": cursor[0], "partition_index": cursor[1]},
    )

    assert [(row.name, row.error_code) for row in answer.topics] == [
        ("a", ErrorCode.INVALID_REQUEST)
    ]


def test_a_page_of_partitions_has_no_more_than_the_setting_allows(open_harness: Any) -> None:
    harness = open_harness(max_request_partition_size_limit="3")
    harness.topic("a", 5)

    answer = harness.client().ask(
        DESCRIBE_PARTITIONS, 0, topics=[], response_partition_limit=100, cursor=None
    )

    rows = answer.topics[0].partitions
    assert [(row.partition_index, row.leader_id, row.isr_nodes) for row in rows] == [
        (index, 0, (0,)) for index in range(3)
    ]
    assert answer.next_cursor.partition_index == 3


@pytest.mark.parametrize("version", range(2, 5))
def test_the_end_of_a_leader_epoch_is_returned_in_every_version(harness: Any, version: int) -> None:
    harness.topic("a")
    client = harness.client()
    client.produce("a", harness.batch(b"x", b"y"))
    epoch = harness.broker.leader_epoch

    def ask(topic: str, partition: int, asked: int, current: int = -1) -> tuple[int, int, int]:
        row = {"partition": partition, "current_leader_epoch": current, "leader_epoch": asked}
        topics = [{"topic": topic, "partitions": [row]}]
        found = client.ask(23, version, topics=topics).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask("a", 0, epoch) == (0, epoch, 2)
    assert ask("a", 0, epoch + 7) == (0, -1, -1)
    assert ask("a", 0, epoch, epoch + 1)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask("a", 9, epoch)[0] == unknown
    assert ask("missing", 0, epoch)[0] == unknown


@pytest.mark.parametrize("version", range(3))
def test_authorized_cluster_operations_are_returned_on_request(harness: Any, version: int) -> None:
    client = harness.client()

    asked = client.ask(DESCRIBE_CLUSTER, version, include_cluster_authorized_operations=True)
    not_asked = client.ask(DESCRIBE_CLUSTER, version)

    assert asked.cluster_authorized_operations > 0
    assert not_asked.cluster_authorized_operations == -(2**31)


# Clients are not authenticated


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_disabled(harness: Any, version: int) -> None:
    client = harness.client()
    every = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    acl = {
        "resource_type": 2,
        "resource_name": "t",
        "resource_pattern_type": 3,
        "operation": 3,
        "principal": "User:u",
        "host": "*",
        "permission_type": 3,
    }
    disabled = ErrorCode.SECURITY_DISABLED

    described = client.ask(DESCRIBE_ACLS, version, **every)
    created = client.ask(CREATE_ACLS, version, creations=[acl, acl])
    deleted = client.ask(DELETE_ACLS, version, filters=[every])

    assert (described.error_code, described.resources) == (disabled, ())
    assert [row.error_code for row in created.results] == [disabled, disabled]
    assert [row.error_code for row in deleted.filter_results] == [disabled]


@pytest.mark.parametrize(("key", "version"), [(17, 0), (17, 1), (36, 0), (36, 1), (36, 2)])
def test_a_listener_without_sasl_says_that_it_is_the_wrong_state(
    harness: Any, key: int, version: int
) -> None:
    fields = {"mechanism": "PLAIN"} if key == SASL_HANDSHAKE else {"auth_bytes": b"\0u\0p"}
    client = harness.client()

    answer = client.ask(key, version, **fields)

    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(METADATA, 0, topics=[]).topics == ()


def test_scram_users_are_an_empty_list(harness: Any) -> None:
    client = harness.client()

    def ask(*names: str) -> Any:
        users = [{"name": name} for name in names] or None
        answer = client.ask(50, 0, users=users)
        return answer.error_code, [(row.user, row.error_code) for row in answer.results]

    assert ask() == (0, [])
    assert ask("u", "v", "v") == (
        0,
        [("u", ErrorCode.RESOURCE_NOT_FOUND), ("v", ErrorCode.DUPLICATE_RESOURCE)],
    )


# Topics: limits and ids


def test_too_many_partitions_in_one_request_are_refused_as_a_whole(harness: Any) -> None:
    topics = [
        {"name": name, "num_partitions": 6000, "replication_factor": 1} for name in ("a", "b")
    ]

    answer = harness.client().ask(CREATE_TOPICS, 7, topics=topics)

    assert [row.error_code for row in answer.topics] == [ErrorCode.POLICY_VIOLATION] * 2
    assert list(harness.broker.topics) == []


def test_a_check_answers_with_an_id_as_kafka_does(harness: Any) -> None:
    topics = [{"name": "a", "num_partitions": 1, "replication_factor": 1}]

    row = harness.client().ask(CREATE_TOPICS, 7, topics=topics, validate_only=True).topics[0]

    assert isinstance(row.topic_id, UUID)
    assert list(harness.broker.topics) == []


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_in_every_version(harness: Any, version: int) -> None:
    harness.topic("a")
    topics = [
        {"name": "a", "count": 3, "assignments": [{"broker_ids": [0]}, {"broker_ids": [0]}]},
        {"name": "missing", "count": 3, "assignments": None},
    ]

    answer = harness.client().ask(CREATE_PARTITIONS, version, topics=topics)

    assert [row.error_code for row in answer.results] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(harness.broker.topics.find("a").partitions) == 3


def test_metadata_makes_many_topics_and_waits_for_all(harness: Any) -> None:
    client = harness.client()
    topics = [{"name": f"t{index}"} for index in range(100)] + [{"name": "a/b"}]

    answer = client.ask(METADATA, 12, topics=topics, allow_auto_topic_creation=True)

    codes = {row.name: row.error_code for row in answer.topics}
    assert codes.pop("a/b") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert set(codes.values()) == {0}
    assert len(list(harness.broker.topics)) == 100


def test_two_clients_that_make_the_same_topic_both_find_it(harness: Any) -> None:
    first, second = harness.client(), harness.client()
    for client in (first, second):
        client.send(METADATA, 12, topics=[{"name": "a"}], allow_auto_topic_creation=True)

    answers = [client.receive().topics[0] for client in (first, second)]

    assert [row.error_code for row in answers] == [0, 0]
    assert answers[0].topic_id == answers[1].topic_id


def test_a_topic_that_like_another_one_is_not_made_by_metadata(harness: Any) -> None:
    harness.topic("a.b")

    answer = harness.client().ask(
        METADATA, 12, topics=[{"name": "a_b"}], allow_auto_topic_creation=True
    )

    assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
