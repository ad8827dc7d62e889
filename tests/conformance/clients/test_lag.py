"""Consumer lag and backlog if offsets alone do not determine them."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.engine.errors import BrokerUnreachable, SourceTopicMissing
from duolog.engine.query.reports.progress import lag_of
from duolog.engine.topics.batch_bounds import Backlog
from duolog.engine.topics.topic_reader import TopicReader
from duolog.testing import Client, EmbeddedCluster

COUNTS = {"orders": 2}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        yield cluster


def transactional(cluster: EmbeddedCluster, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    return producer


def produce(cluster: EmbeddedCluster, topic: str, value: bytes, *, partition: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0


def test_transaction_markers_do_not_count_as_lag(
    cluster: EmbeddedCluster,
) -> None:
    """Regression: the lag stayed at one for each partition in which a transaction had ended."""
    client = Client(cluster.bootstrap_servers)
    client.create_topic("orders", partitions=2)
    topics = TopicReader(cluster.bootstrap_servers, {})
    for name, ends in (("kept", True), ("given-up", False)):
        producer = transactional(cluster, name)
        producer.produce("orders", b"a", partition=0)
        producer.flush()
        producer.commit_transaction(60) if ends else producer.abort_transaction(60)
    produce(cluster, "orders", b"b", partition=1)

    def lag(read: dict[int, int]) -> dict[str, int]:
        ends = topics.end_offsets(COUNTS)
        positions = {"orders": read}
        for _ in range(2):  # the second call knows that the offsets do not advance
            positions = topics.unread.skip_non_records(positions, ends)
        return lag_of(positions, ends)

    # Partition 0 holds a record, its marker, an aborted record and its marker.
    assert lag({0: 1, 1: 1}) == {"orders": 0}
    assert lag({0: 1, 1: 0}) == {"orders": 1}
    assert lag({0: 0, 1: 1}) == {"orders": 4}


def test_open_transaction_does_not_block_the_lag(cluster: EmbeddedCluster) -> None:
    Client(cluster.bootstrap_servers).create_topic("open")
    topics = TopicReader(cluster.bootstrap_servers, {})
    producer = transactional(cluster, "open")
    producer.produce("open", b"a")
    producer.flush()

    assert topics.end_offsets({"open": 1}) == {"open": {0: 0}}
    producer.commit_transaction(60)
    assert topics.end_offsets({"open": 1}) == {"open": {0: 2}}


def test_backlog_reports_record_count_and_size(cluster: EmbeddedCluster) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("sizes", partitions=2)
    for number in range(20):
        produce(cluster, "sizes", b"x" * 1000, partition=number % 2)
    client.create_topic("nothing")
    topics = TopicReader(cluster.bootstrap_servers, {})

    ends = topics.end_offsets({"sizes": 2, "nothing": 1})

    assert topics.unread.backlogs({"sizes": {0: 4}}, ends) == {
        "sizes": Backlog(16, 1000.0),
        "nothing": Backlog(0, 0.0),
    }


def test_unreachable_broker_raises_a_readable_error() -> None:
    topics = TopicReader("127.0.0.1:1", {"socket.timeout.ms": "100"})

    with pytest.raises(BrokerUnreachable, match=r"no broker answers at 127\.0\.0\.1:1"):
        topics.end_offsets({"orders": 1})


def test_deleted_topic_is_not_reported_as_unreachable_broker(
    cluster: EmbeddedCluster,
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("deleted", partitions=2)
    topics = TopicReader(cluster.bootstrap_servers, {})
    assert topics.end_offsets({"deleted": 2}) == {"deleted": {0: 0, 1: 0}}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics(["deleted"])["deleted"].result(60)

    with pytest.raises(SourceTopicMissing, match='topic "deleted" does not exist'):
        topics.end_offsets({"deleted": 2})


def test_restarted_broker_is_not_reported_as_unreachable() -> None:
    """Regression: the client had an old leader epoch and reported `no broker answers`."""
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("kept", partitions=3)
        client.produce("kept", "a", "1")
        topics = TopicReader(cluster.bootstrap_servers, {})
        before = topics.end_offsets({"kept": 3})

        cluster.kill()
        cluster.restart()

        assert topics.end_offsets({"kept": 3}) == before


def test_smallest_topic_limit_bounds_the_record_batch_size(
    cluster: EmbeddedCluster,
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    small = NewTopic("small", 1, 1, config={"max.message.bytes": "5000"})
    for answer in admin.create_topics([small, NewTopic("usual", 1, 1)]).values():
        answer.result(60)
    topics = TopicReader(cluster.bootstrap_servers, {})

    assert topics.record_batch_bytes_max(["usual", "small", "missing"]) == 5000
    assert topics.record_batch_bytes_max(["usual"]) == 1048588
    assert topics.record_batch_bytes_max(["missing"]) is None
    assert topics.record_batch_bytes_max([]) is None
