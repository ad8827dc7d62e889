"""Third-party read_committed consumers while transactions start, commit and abort."""

import time
import uuid
import warnings
from collections.abc import Iterator

import pytest
from confluent_kafka import (
    OFFSET_END,
    Consumer,
    IsolationLevel,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from duolog.runtime.broker_process import BrokerProcess

with warnings.catch_warnings():
    # kafka-python reads its schemas with a function that is deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer
    from kafka import TopicPartition as PyTopicPartition

LONG_POLL_MS = 20_000
SOON_S = 10.0
"""Half of a long poll: who gets a record by then was woken."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("isolation") / "data") as process:
        yield process


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    name = f"isolation-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, 1, 1)]).values():
        future.result(60)
    return name


class Writer:
    """A transactional producer of librdkafka."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "transactional.id": f"writer-{uuid.uuid4().hex}",
                "linger.ms": 0,
            }
        )
        self._producer.init_transactions(60)

    def begin(self, *values: bytes) -> None:
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(self._topic, value)
        assert self._producer.flush(60) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(60)

    def abort(self) -> None:
        self._producer.abort_transaction(60)


def confluent_consumer(broker: BrokerProcess, topic: str, offset: int = 0) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "isolation",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": LONG_POLL_MS,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, offset)])
    return consumer


def values_of(consumer: Consumer, count: int, seconds: float = SOON_S) -> list[bytes | None]:
    """Return up to `count` values that arrive before the deadline."""
    values: list[bytes | None] = []
    deadline = time.monotonic() + seconds
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None
            values.append(message.value())
    return values


def test_librdkafka_waits_for_an_open_transaction_and_is_woken_by_its_end(
    broker: BrokerProcess, topic: str
) -> None:
    first, second = Writer(broker, topic), Writer(broker, topic)
    first.begin(b"a", b"b")
    second.begin(b"c")
    second.commit()
    consumer = confluent_consumer(broker, topic)
    assert values_of(consumer, 1, seconds=1.0) == []

    first.commit()

    assert values_of(consumer, 3) == [b"a", b"b", b"c"]
    consumer.close()


def test_librdkafka_never_sees_aborted_records(broker: BrokerProcess, topic: str) -> None:
    writer, other = Writer(broker, topic), Writer(broker, topic)
    expected = []
    for number in range(10):
        value = b"%d" % number
        writer.begin(value, b"x" * 2000)
        other.begin(b"other " + value)
        if number % 3 == 0:
            writer.commit()
            expected += [value, b"x" * 2000]
        else:
            writer.abort()
        other.commit()
        expected.append(b"other " + value)
    consumer = confluent_consumer(broker, topic)

    seen = values_of(consumer, len(expected))

    assert sorted(filter(None, seen)) == sorted(expected)
    assert values_of(consumer, 1, seconds=0.5) == []
    consumer.close()


def test_the_end_of_a_partition_depends_on_the_isolation_level(
    broker: BrokerProcess, topic: str
) -> None:
    writer = Writer(broker, topic)
    writer.begin(b"a")
    writer.commit()
    writer.begin(b"b", b"c")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    partition = TopicPartition(topic, 0)

    def latest(level: IsolationLevel) -> int:
        newest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        futures = admin.list_offsets({partition: newest}, isolation_level=level)
        offset: int = futures[partition].result(60).offset
        return offset

    assert latest(IsolationLevel.READ_UNCOMMITTED) == 4
    assert latest(IsolationLevel.READ_COMMITTED) == 2
    tail = confluent_consumer(broker, topic, OFFSET_END)
    assert values_of(tail, 1, seconds=0.5) == []
    writer.abort()
    assert latest(IsolationLevel.READ_COMMITTED) == 5
    tail.close()


def test_kafka_python_reads_committed_records_only(broker: BrokerProcess, topic: str) -> None:
    writer = Writer(broker, topic)
    writer.begin(b"a")
    writer.commit()
    writer.begin(b"b")
    writer.abort()
    writer.begin(b"c")
    writer.commit()
    writer.begin(b"open")
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        isolation_level="read_committed",
        consumer_timeout_ms=2000,
    )
    partition = PyTopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)

    seen = [(record.offset, record.value) for record in consumer]

    assert seen == [(0, b"a"), (4, b"c")]
    assert consumer.end_offsets([partition]) == {partition: 6}
    writer.abort()
    consumer.close()
