"""The first unread record, on a broker: known records with known timestamps."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.runtime.sql.figures.unread import NO_RECORD, UnreadOnBroker
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster

START = 1_600_000_000_000


@pytest.fixture
def topic(cluster: EmbeddedCluster, service: str) -> str:
    """A topic of two partitions: record n of partition 0 was written in second n."""
    name = f"{service}t"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2)])[name].result(60)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(10):
        producer.produce(name, b"x", partition=0, timestamp=START + number * 1000)
    assert producer.flush(60) == 0
    return name


@pytest.fixture
def unread(cluster: EmbeddedCluster) -> Iterator[UnreadOnBroker]:
    found = UnreadOnBroker(Brokers(cluster.bootstrap_servers))
    yield found
    found.close()


def test_the_timestamp_is_that_of_the_record_at_the_position(
    unread: UnreadOnBroker, topic: str
) -> None:
    at = (topic, 0)

    assert unread.ends({topic: 2}) == {at: 10, (topic, 1): 0}
    assert unread.first_timestamps({at: 3}, {at: 10}) == {at: START + 3_000}
    assert unread.first_timestamps({at: 9}, {at: 10}) == {at: START + 9_000}
    # Two queries may read one topic.
    assert unread.first_timestamps({at: 3}, {at: 10}) == {at: START + 3_000}


def test_control_records_are_not_records(
    cluster: EmbeddedCluster, unread: UnreadOnBroker, topic: str
) -> None:
    at = (topic, 0)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"aborted", partition=0)
    assert producer.flush(60) == 0
    producer.abort_transaction(60)
    end = (unread.ends({topic: 2}) or {})[at]

    assert end == 12
    assert unread.first_timestamps({at: 10}, {at: end}) == {at: NO_RECORD}

    # It holds only for this end.
    plain = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    plain.produce(topic, b"y", partition=0, timestamp=START + 77_000)
    assert plain.flush(60) == 0
    assert unread.first_timestamps({at: 10}, {at: 13}) == {at: START + 77_000}


def test_a_deleted_record_is_not_the_first(
    cluster: EmbeddedCluster, unread: UnreadOnBroker, topic: str
) -> None:
    from confluent_kafka import TopicPartition  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.delete_records([TopicPartition(topic, 0, 5)]).values():
        future.result(60)

    assert unread.first_timestamps({(topic, 0): 2}, {(topic, 0): 10}) == {(topic, 0): START + 5_000}


def test_a_topic_that_has_become_shorter_is_read_again(
    cluster: EmbeddedCluster, unread: UnreadOnBroker, topic: str
) -> None:
    at = (topic, 0)
    assert unread.first_timestamps({at: 0}, {at: 10}) == {at: START}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(60)
    admin.create_topics([NewTopic(topic, 2)])[topic].result(60)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, b"x", partition=0, timestamp=START + 99_000)
    assert producer.flush(60) == 0

    assert unread.first_timestamps({at: 0}, {at: 1}) == {at: START + 99_000}


def test_without_a_broker_nothing_is_known() -> None:
    unread = UnreadOnBroker(Brokers("127.0.0.1:1"))

    assert unread.ends({"t": 1}) is None
    assert unread.first_timestamps({("t", 0): 0}, {("t", 0): 1}) == {}
    unread.close()
