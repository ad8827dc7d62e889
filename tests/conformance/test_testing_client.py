"""`duolog.testing.Client` with transactions, compaction and a broker that stops responding."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from duolog import testing
from duolog.runtime.errors import BrokerUnavailable
from duolog.testing import LocalBroker
from duolog.testing.topic_reader import TopicReader


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalBroker]:
    with testing.broker() as broker:
        yield broker


@pytest.fixture
def broker(shared: LocalBroker) -> Iterator[LocalBroker]:
    yield shared
    shared.heal()


def transactional(broker: LocalBroker, name: str) -> Producer:
    config = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name}
    producer = Producer(config)
    producer.init_transactions(60)
    return producer


def write(producer: Producer, topic: str, *values: bytes) -> None:
    """Write records in a transaction, and leave it open."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def commit_after(broker: LocalBroker, topic: str, offset: int) -> None:
    """Commit as a consumer that has processed the record at an offset: the marker is not passed."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset + 1)], asynchronous=False)
    consumer.close()


def test_markers_and_aborted_records_are_no_lag(broker: LocalBroker) -> None:
    """Records at 0, 1, 3; the others are markers and aborted records."""
    broker.create_topic("lag")
    producer = transactional(broker, "lag")
    write(producer, "lag", b"1", b"2")
    producer.commit_transaction(60)
    write(producer, "lag", b"3")
    producer.commit_transaction(60)
    write(producer, "lag", b"aborted")
    producer.abort_transaction(60)

    lags = [broker.client.lag("lag", "lag")]
    for offset in (0, 1, 3):
        commit_after(broker, "lag", offset)
        lags.append(broker.client.lag("lag", "lag"))

    assert lags == [3, 2, 1, 0]
    broker.wait_until_consumed("lag", "lag")
    assert [record.value for record in broker.read("lag")] == [b"1", b"2", b"3"]


def test_records_of_an_open_transaction_do_not_count_before_it_is_committed(
    broker: LocalBroker,
) -> None:
    broker.create_topic("open")
    producer = transactional(broker, "open")
    write(producer, "open", b"1")

    before = broker.client.lag("open", "open")
    producer.commit_transaction(60)

    assert (before, broker.client.lag("open", "open")) == (0, 1)
    with pytest.raises(BrokerUnavailable, match="has not consumed 1 record "):
        broker.wait_until_consumed("open", "open", timeout_s=0)


def test_records_that_were_deleted_are_no_lag(broker: LocalBroker) -> None:
    broker.create_topic("deleted")
    for value in ("1", "2", "3"):
        broker.client.produce("deleted", None, value)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition("deleted", 0, 2)]).values():
        deleted.result(60)

    assert broker.client.lag("deleted", "deleted") == 1


def test_a_read_of_a_broker_that_stops_responding_ends_with_an_error(broker: LocalBroker) -> None:
    broker.create_topic("silent")
    for _ in range(10):
        broker.client.produce("silent", None, bytes(100_000))
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": broker.bootstrap_servers,
        # One record is fetched, and the next one when the first has been read.
        "max.partition.fetch.bytes": 1,
        "queued.max.messages.kbytes": 1,
    }

    def read_all(reader: TopicReader) -> list[Message]:
        read: list[Message] = []
        for partition in reader.partitions("silent"):
            for message in reader.messages(partition):
                read.append(message)
                broker.pause()
                reader.timeout_s = 0.1
        return read

    with (
        TopicReader(config) as reader,
        pytest.raises(KafkaException, match="no record from offset") as caught,
    ):
        read_all(reader)
    broker.resume()

    assert caught.value.args[0].code() == KafkaError._TIMED_OUT  # noqa: SLF001  Its public name.
