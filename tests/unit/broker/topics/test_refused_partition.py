"""Clients get an error for a partition whose log is damaged; everything else is served."""

from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from duolog.log.errors import PartitionRefused
from duolog.protocol.error_codes import ErrorCode
from unit.broker.transactional_producer import TransactionalProducer, coordinate

LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH, DELETE_RECORDS = 2, 3, 23, 21
DESCRIBE_LOG_DIRS, DELETE_TOPICS = 35, 20
ELECT_LEADERS, DESCRIBE_TOPIC_PARTITIONS = 43, 75
REFUSED = ErrorCode.KAFKA_STORAGE_ERROR
LEADERLESS = ErrorCode.LEADER_NOT_AVAILABLE


def damaged(harness: Any, topic: str, tmp_path: Path) -> None:
    """Stop a broker, and change a byte of one partition of `topic`."""
    directory = Path(harness.broker.topics.find(topic).partitions[1].log.directory)
    harness.stop()
    segment = next((tmp_path / directory).glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[80] ^= 1
    segment.write_bytes(data)


@pytest.fixture
def harness(open_harness: Any, tmp_path: Path) -> Any:
    harness = open_harness()
    harness.topic("orders", partitions=2)
    client = harness.client()
    for partition in (0, 1):
        for _ in range(3):
            assert (
                client.produce("orders", harness.batch(b"v" * 50), partition=partition).error_code
                == 0
            )
    damaged(harness, "orders", tmp_path)
    return open_harness()


def test_only_its_own_requests_are_answered_with_a_storage_error(harness: Any) -> None:
    client = harness.client()
    batch = harness.batch(b"v" * 50)

    assert client.produce("orders", batch, partition=1).error_code == REFUSED
    assert client.fetch("orders", 2, partition=1).error_code == REFUSED
    assert client.produce("orders", batch).error_code == 0
    assert client.fetch("orders", 0).error_code == 0
    for timestamp in (-1, -2, 1000):
        topics = [
            {
                "name": "orders",
                "partitions": [{"partition_index": p, "timestamp": timestamp} for p in (0, 1)],
            }
        ]
        answer = client.ask(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
        assert [row.error_code for row in answer.topics[0].partitions] == [0, REFUSED]


def test_other_partitions_of_the_same_request_are_accepted(harness: Any) -> None:
    batch = harness.batch(b"v" * 50)
    rows = [{"index": index, "records": batch} for index in (1, 0)]
    topics = [{"name": "orders", "partition_data": rows}]

    answer = harness.client().ask(0, 9, acks=-1, timeout=9, topic_data=topics)

    reported = answer.responses[0].partition_responses
    assert [(row.index, row.error_code) for row in reported] == [(1, REFUSED), (0, 0)]
    assert harness.broker.counters.errors.total() == 0


def test_a_refused_partition_is_listed_and_deleted_with_its_topic(
    harness: Any, tmp_path: Path
) -> None:
    client = harness.client()
    answer = client.ask(METADATA, 9, topics=[{"name": "orders"}])
    assert [row.partition_index for row in answer.topics[0].partitions] == [0, 1]
    sizes = client.ask(DESCRIBE_LOG_DIRS, 2, topics=None).results[0].topics[0].partitions
    assert [row.partition_size > 0 for row in sizes] == [True, False]

    deleted = client.ask(DELETE_TOPICS, 4, topic_names=["orders"], timeout=10_000)

    assert deleted.responses[0].error_code == 0
    harness.topic("orders", partitions=2)
    assert client.produce("orders", harness.batch(b"v"), partition=1).error_code == 0


def test_a_refused_partition_has_no_leader(harness: Any) -> None:
    """Same as in Kafka when the log directory of the only replica is offline."""
    client = harness.client()

    reported = client.ask(METADATA, 12, topics=[{"name": "orders"}]).topics[0].partitions
    oldest = client.ask(METADATA, 0, topics=[{"name": "orders"}]).topics[0].partitions
    described = client.ask(
        DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": "orders"}], response_partition_limit=10
    )

    assert [(row.error_code, row.leader_id) for row in oldest] == [(0, 0), (LEADERLESS, -1)]
    assert [(row.error_code, row.leader_id) for row in reported] == [(0, 0), (LEADERLESS, -1)]
    for rows in (reported, described.topics[0].partitions):
        assert [row.leader_id for row in rows] == [0, -1]
        assert [list(row.isr_nodes) for row in rows] == [[0], []]
        assert [list(row.replica_nodes) for row in rows] == [[0], [0]]
        assert [list(row.offline_replicas) for row in rows] == [[], [0]]
    rows = described.topics[0].partitions
    assert [row.error_code for row in rows] == [0, 0]
    assert [list(row.eligible_leader_replicas) for row in rows] == [[], [0]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (1, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
def test_no_leader_can_be_elected_for_it(harness: Any, kind: int, expected: ErrorCode) -> None:
    answer = harness.client().ask(
        ELECT_LEADERS,
        2,
        election_type=kind,
        topic_partitions=[{"topic": "orders", "partitions": [0, 1]}],
        timeout_ms=1000,
    )

    rows = answer.replica_election_results[0].partition_result
    assert [row.error_code for row in rows] == [ErrorCode.ELECTION_NOT_NEEDED, expected]
    assert "orders-1" in rows[1].error_message


def test_no_transaction_begins_in_it(harness: Any) -> None:
    producer = TransactionalProducer(coordinate(harness))
    producer.init()

    assert producer.add(0, 1, topic="orders") == [55, REFUSED]
    assert producer.write(b"v", partition=1, topic="orders").error_code == REFUSED
    assert producer.write(b"v", topic="orders").error_code == 0
    assert producer.end(commit=True).error_code == 0


def test_background_work_does_not_affect_it(harness: Any, caplog: pytest.LogCaptureFixture) -> None:
    harness.broker.retention.look()
    harness.broker.cleaner.start()
    for _ in range(5):
        harness.turn()

    assert [row.levelname for row in caplog.records if "not served" not in row.message] == []


CREATE_TOPICS, CREATE_PARTITIONS, ALTER_CONFIGS, DESCRIBE_CONFIGS = 19, 37, 44, 32


def test_a_topic_whose_description_is_damaged_is_served_no_more_and_named(
    open_harness: Any, tmp_path: Path
) -> None:
    """The broker did not start at all."""
    harness = open_harness()
    for topic in ("orders", "others"):
        harness.topic(topic, partitions=2)
        assert harness.client().produce(topic, harness.batch(b"v"), partition=1).error_code == 0
    before = harness.broker.topics.find("orders").id
    directory = Path(harness.broker.topics.find("orders").partitions[1].log.directory).parent
    harness.stop()
    description = tmp_path / directory / "topic"
    description.write_bytes(description.read_bytes()[:-3])
    harness = open_harness()
    client = harness.client()

    assert client.produce("others", harness.batch(b"v"), partition=1).error_code == 0
    assert client.produce("orders", harness.batch(b"v"), partition=1).error_code == REFUSED
    reported = client.ask(METADATA, 12, topics=[{"name": "orders"}]).topics[0]
    assert (reported.topic_id, reported.error_code) == (before, 0)
    assert [row.error_code for row in reported.partitions] == [LEADERLESS] * 2
    new = {
        "name": "orders",
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
    }
    answer = client.ask(CREATE_TOPICS, 5, topics=[new], timeout=1000, validate_only=False)
    assert answer.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    grown = {"name": "orders", "count": 5, "assignments": None}
    answer = client.ask(CREATE_PARTITIONS, 3, topics=[grown], timeout=1000, validate_only=False)
    assert answer.results[0].error_code == REFUSED
    assert str(directory) in answer.results[0].error_message
    change = {"name": "retention.ms", "config_operation": 0, "value": "5"}
    resource = {"resource_type": 2, "resource_name": "orders"}
    answer = client.ask(
        ALTER_CONFIGS, 1, resources=[resource | {"configs": [change]}], validate_only=False
    )
    assert answer.responses[0].error_code == REFUSED
    answer = client.ask(
        DESCRIBE_CONFIGS,
        4,
        resources=[resource | {"configuration_keys": None}],
        include_synonyms=False,
        include_documentation=False,
    )
    assert answer.results[0].error_code == REFUSED, "what was set for it is not known"

    deleted = client.ask(DELETE_TOPICS, 4, topic_names=["orders"], timeout=10_000)

    assert deleted.responses[0].error_code == 0
    harness.topic("orders", partitions=2)
    assert client.produce("orders", harness.batch(b"v"), partition=1).error_code == 0


def test_a_damaged_partition_of_the_broker_s_own_topics_refuses_the_start(
    open_harness: Any, tmp_path: Path
) -> None:
    harness = open_harness()
    harness.broker.create_topic("__consumer_offsets", 2, {})
    harness.broker.append_internal(
        "__consumer_offsets", 1, bytearray(harness.batch(b"v" * 50)), lambda _: None
    )
    harness.broker.append_internal(
        "__consumer_offsets", 1, bytearray(harness.batch(b"v" * 50)), lambda _: None
    )
    harness.turn()
    damaged(harness, "__consumer_offsets", tmp_path)

    with pytest.raises(PartitionRefused, match="__consumer_offsets-1"):
        open_harness()

    rmtree(tmp_path / "data")
    open_harness()  # The fixture stops the last one.
