"""librdkafka's admin, commits, static and cooperative members against a broker process."""

import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import (
    OFFSET_END,
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from duolog.runtime.broker_process import BrokerProcess


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("librdkafka") / "data") as process:
        yield process


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def make_topic(admin: AdminClient, partitions: int = 1, **configs: str) -> str:
    topic = f"topic-{uuid.uuid4().hex}"
    config = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(60)
    return topic


def make_consumer(broker: BrokerProcess, group: str, **settings: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 300,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def write(broker: BrokerProcess, topic: str, count: int, **settings: object) -> None:
    """Write `count` records in one batch where it fits; record n has the time 1000 + 10 n."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "linger.ms": 100,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    for number in range(count):
        producer.produce(topic, b"%d" % number, timestamp=1000 + 10 * number)
    assert producer.flush(60) == 0


def poll_until(done: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + 60
    while not done() and time.monotonic() < deadline:
        for consumer in consumers:
            consumer.poll(0.05)
    assert done()


def refused_with(code: int, call: Callable[[], object]) -> None:
    with pytest.raises(KafkaException) as caught:
        call()
    assert caught.value.args[0].code() == code


def test_configs_support_set_append_subtract_and_delete(admin: AdminClient) -> None:
    topic = make_topic(admin, retention_ms="12345")
    wanted = ConfigResource(ResourceType.TOPIC, topic)

    def alter(name: str, value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(60)

    def value_of(name: str) -> str:
        return str(admin.describe_configs([wanted])[wanted].result(60)[name].value)

    assert value_of("retention.ms") == "12345"
    alter("retention.ms", None, AlterConfigOpType.DELETE)
    assert value_of("retention.ms") == "604800000"
    alter("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    assert value_of("cleanup.policy") == "delete,compact"
    alter("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    assert value_of("cleanup.policy") == "compact"
    for name, value in (("no.such", "1"), ("retention.ms", "abc"), ("cleanup.policy", "foo")):
        refused_with(KafkaError.INVALID_CONFIG, partial(alter, name, value, AlterConfigOpType.SET))


def test_partitions_can_be_added_but_not_removed(admin: AdminClient) -> None:
    topic = make_topic(admin)

    def raise_to(count: int) -> None:
        admin.create_partitions([NewPartitions(topic, count)])[topic].result(60)

    raise_to(4)
    assert len(admin.list_topics(topic, timeout=60).topics[topic].partitions) == 4
    for count in (2, 4):
        refused_with(KafkaError.INVALID_PARTITIONS, partial(raise_to, count))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_timestamp_lookup_finds_a_record_inside_a_compressed_batch(
    broker: BrokerProcess, admin: AdminClient, codec: str
) -> None:
    topic = make_topic(admin, retention_ms="-1")
    write(broker, topic, 500, compression_type=codec)
    consumer = make_consumer(broker, "times")
    at, after = 1000 + 137 * 10 - 5, 1000 + 500 * 10
    found = [
        consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], timeout=60)[0].offset
        for time_ms in (at, after)
    ]
    consumer.close()
    assert found == [137, OFFSET_END]

    partition = TopicPartition(topic, 0)
    newest = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
    latest = admin.list_offsets({partition: newest})[partition].result(60)
    assert (latest.offset, latest.timestamp) == (499, 1000 + 499 * 10)


def test_commit_keeps_its_metadata_and_a_non_member_cannot_commit(
    broker: BrokerProcess, admin: AdminClient
) -> None:
    topic, group = make_topic(admin), uuid.uuid4().hex
    member, outsider = make_consumer(broker, group), make_consumer(broker, group)
    member.subscribe([topic])
    poll_until(lambda: bool(member.assignment()), member)

    def commit(consumer: Consumer, metadata: str) -> None:
        consumer.commit(offsets=[TopicPartition(topic, 0, 7, metadata)], asynchronous=False)

    commit(member, "meta-ö")
    refused_with(KafkaError.OFFSET_METADATA_TOO_LARGE, lambda: commit(member, "x" * 5000))
    refused_with(KafkaError.UNKNOWN_MEMBER_ID, lambda: commit(outsider, ""))
    found = outsider.committed([TopicPartition(topic, 0)], timeout=60)[0]
    assert (found.offset, found.metadata) == (7, "meta-ö")
    member.close()
    commit(outsider, "")  # an empty group accepts commits from any client
    outsider.close()


def test_static_member_regains_its_partitions_and_its_duplicate_is_fenced(
    broker: BrokerProcess, admin: AdminClient
) -> None:
    topic, group = make_topic(admin, 4), uuid.uuid4().hex

    def join(instance: str) -> Consumer:
        consumer = make_consumer(broker, group, group_instance_id=instance)
        consumer.subscribe([topic])
        return consumer

    first, second = join("one"), join("two")
    poll_until(
        lambda: len(first.assignment()) == 2 and len(second.assignment()) == 2, first, second
    )
    owned = sorted(entry.partition for entry in second.assignment())
    second.close()
    second = join("two")
    poll_until(lambda: bool(second.assignment()), first, second)
    assert sorted(entry.partition for entry in second.assignment()) == owned

    double, errors = join("one"), list[KafkaError]()
    deadline = time.monotonic() + 60
    while not errors and time.monotonic() < deadline:
        for consumer in (first, double, second):
            message = consumer.poll(0.05)
            if message is not None and (error := message.error()) is not None:
                errors.append(error)
    assert errors
    assert "group.instance.id" in errors[0].str()
    for consumer in (first, second, double):
        consumer.close()


def test_cooperative_members_end_with_equal_shares(
    broker: BrokerProcess, admin: AdminClient
) -> None:
    topic, group = make_topic(admin, 6), uuid.uuid4().hex
    consumers = [
        make_consumer(broker, group, partition_assignment_strategy="cooperative-sticky")
        for _ in range(3)
    ]
    for consumer in consumers:
        consumer.subscribe([topic])
    poll_until(lambda: [len(one.assignment()) for one in consumers] == [2, 2, 2], *consumers)
    described = admin.describe_consumer_groups([group])[group].result(60)
    assert described.state == ConsumerGroupState.STABLE
    assert described.partition_assignor == "cooperative-sticky"
    assert sorted(len(one.assignment.topic_partitions) for one in described.members) == [2, 2, 2]
    for consumer in consumers:
        consumer.close()
