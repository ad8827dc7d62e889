"""Checks of our own with librdkafka, through confluent-kafka: clients, transactions, admin."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import confluent_kafka
import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
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
from lib.outcomes import Outcome

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WAIT_S = 20


class Cluster:
    """The broker under test, and clients of it."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self.admin = AdminClient(self._common)

    def topic(self, partitions: int = 1, **configs: str) -> str:
        name = f"rdkafka-{uuid4()}"
        named = {key.replace("_", "."): value for key, value in configs.items()}
        done(self.admin.create_topics([NewTopic(name, partitions, config=named)]))
        return name

    def producer(self, **config: Any) -> Producer:
        return Producer(self._common | dotted(config))

    def consumer(self, **config: Any) -> Consumer:
        defaults = {"group.id": str(uuid4()), "auto.offset.reset": "earliest"}
        return Consumer(self._common | defaults | dotted(config))

    def write(self, topic: str, values: Sequence[str], **config: Any) -> None:
        producer = self.producer(**config)
        for value in values:
            producer.produce(topic, value=value)
        assert producer.flush(WAIT_S) == 0

    def read(self, topic: str, count: int, **config: Any) -> list[Message]:
        """Read `count` messages, and wait a moment for one too many."""
        consumer = self.consumer(**config)
        consumer.subscribe([topic])
        messages = collect(consumer, count)
        messages += consumer.consume(1, timeout=0.3)
        consumer.close()
        return messages


def dotted(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in config.items()}


def done(futures: Mapping[Any, Any]) -> list[Any]:
    return [future.result(WAIT_S) for future in futures.values()]


def collect(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    end = time.monotonic() + WAIT_S
    while len(messages) < count and time.monotonic() < end:
        messages += [m for m in consumer.consume(count, timeout=0.2) if not m.error()]
    return messages


def until(holds: Callable[[], object], consumers: Sequence[Consumer] = ()) -> None:
    """Poll until something holds.

    Raises:
        AssertionError: it does not in time.
    """
    end = time.monotonic() + 2 * WAIT_S
    while not holds():
        assert time.monotonic() < end, "waited too long"
        for consumer in consumers:
            consumer.poll(0.05)
        if not consumers:
            time.sleep(0.05)


def values(messages: Sequence[Message]) -> list[str]:
    return [(message.value() or b"").decode() for message in messages]


# Clients


def every_codec(cluster: Cluster) -> None:
    for codec in CODECS:
        topic = cluster.topic()
        wanted = [f"{codec}-{n}" for n in range(200)]
        cluster.write(topic, wanted, compression_type=codec, linger_ms=20)
        assert values(cluster.read(topic, 200)) == wanted


def whole_message(cluster: Cluster) -> None:
    topic = cluster.topic()
    producer = cluster.producer()
    headers = [("a", b"1"), ("a", b"2"), ("none", None)]
    producer.produce(topic, key="k", value=None, headers=headers, timestamp=1_234_567_890_123)
    producer.flush(WAIT_S)
    (message,) = cluster.read(topic, 1)
    assert message.key() == b"k"
    assert message.value() is None
    assert message.timestamp()[1] == 1_234_567_890_123
    assert message.headers() == headers


def acknowledgements(cluster: Cluster) -> None:
    topic = cluster.topic()
    for acks in ("0", "1", "all"):
        cluster.write(topic, [acks], acks=acks)
    assert sorted(values(cluster.read(topic, 3))) == ["0", "1", "all"]


def idempotence(cluster: Cluster) -> None:
    topic = cluster.topic(2)
    wanted = [str(n) for n in range(5000)]
    cluster.write(topic, wanted, enable_idempotence=True, linger_ms=0)
    assert sorted(values(cluster.read(topic, 5000)), key=int) == wanted


def offsets_by_time(cluster: Cluster) -> None:
    topic = cluster.topic()
    producer = cluster.producer()
    for timestamp in (1000, 2000, 3000):
        producer.produce(topic, value="x", timestamp=timestamp)
    producer.flush(WAIT_S)
    consumer = cluster.consumer()
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, 1500)], timeout=WAIT_S)
    assert found.offset == 1
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0)) == (0, 3)
    consumer.close()


def too_large(cluster: Cluster) -> None:
    topic = cluster.topic(max_message_bytes="1000")
    errors: list[KafkaError] = []
    producer = cluster.producer()
    producer.produce(topic, value="x" * 5000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(WAIT_S)
    assert errors[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


def topic_is_made(cluster: Cluster) -> None:
    topic = f"rdkafka-auto-{uuid4()}"
    cluster.write(topic, ["x"])
    assert values(cluster.read(topic, 1)) == ["x"]


# Groups


def shared(cluster: Cluster, **config: Any) -> None:
    """Three members share six partitions; one leaves, and the others take over."""
    topic, group = cluster.topic(6), str(uuid4())
    members = [cluster.consumer(group_id=group, **config) for _ in range(3)]
    for member in members:
        member.subscribe([topic])

    def sizes(of: Sequence[Consumer]) -> list[int]:
        return [len(member.assignment()) for member in of]

    until(lambda: sizes(members) == [2, 2, 2], members)
    members[2].close()
    until(lambda: sizes(members[:2]) == [3, 3], members[:2])
    cluster.write(topic, [str(n) for n in range(60)])
    got: list[Message] = []
    end = time.monotonic() + WAIT_S
    while len(got) < 60 and time.monotonic() < end:
        for member in members[:2]:
            got += member.consume(10, timeout=0.1)
    assert sorted(values(got), key=int) == [str(n) for n in range(60)]
    for member in members[:2]:
        member.close()


def static_member(cluster: Cluster, **config: Any) -> None:
    """A static member that comes back gets what it had, without a new generation of others."""
    topic, group = cluster.topic(2), str(uuid4())
    other = cluster.consumer(group_id=group, group_instance_id="other", **config)
    first = cluster.consumer(group_id=group, group_instance_id="one", **config)
    for member in (other, first):
        member.subscribe([topic])
    until(lambda: len(other.assignment()) == len(first.assignment()) == 1, (other, first))
    had = first.assignment()[0].partition
    first.close()
    again = cluster.consumer(group_id=group, group_instance_id="one", **config)
    again.subscribe([topic])
    until(lambda: len(again.assignment()) == 1, (other, again))
    assert again.assignment()[0].partition == had
    assert len(other.assignment()) == 1
    again.close()
    other.close()


def committed_offsets(cluster: Cluster) -> None:
    topic, group = cluster.topic(), str(uuid4())
    cluster.write(topic, ["0", "1", "2"])
    consumer = cluster.consumer(group_id=group, enable_auto_commit=False)
    consumer.subscribe([topic])
    collect(consumer, 3)
    consumer.commit(offsets=[TopicPartition(topic, 0, 2, "noted")], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=WAIT_S)
    assert (found.offset, found.metadata) == (2, "noted")
    consumer.close()
    assert values(cluster.read(topic, 1, group_id=group)) == ["2"]


def pattern(cluster: Cluster, **config: Any) -> None:
    prefix = f"rdkafka-pattern-{uuid4()}"
    for end in "ab":
        done(cluster.admin.create_topics([NewTopic(f"{prefix}-{end}", 1)]))
        cluster.write(f"{prefix}-{end}", [end])
    consumer = cluster.consumer(**config)
    consumer.subscribe([f"^{prefix}.*"])
    assert sorted(values(collect(consumer, 2))) == ["a", "b"]
    consumer.close()


# Transactions


def transactional(cluster: Cluster, transactional_id: str | None = None) -> Producer:
    producer = cluster.producer(transactional_id=transactional_id or str(uuid4()))
    producer.init_transactions(WAIT_S)
    return producer


def committed_and_aborted(cluster: Cluster) -> None:
    topic = cluster.topic(3)
    producer = transactional(cluster)
    for end, commit in (("committed", True), ("aborted", False), ("committed too", True)):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, value=end, partition=partition)
        if commit:
            producer.commit_transaction(WAIT_S)
        else:
            producer.flush(WAIT_S)
            producer.abort_transaction(WAIT_S)
    assert sorted(values(cluster.read(topic, 6))) == ["committed"] * 3 + ["committed too"] * 3
    everything = cluster.read(topic, 9, isolation_level="read_uncommitted")
    assert sorted(values(everything)).count("aborted") == 3


def open_transaction(cluster: Cluster) -> None:
    topic = cluster.topic()
    producer = transactional(cluster)
    producer.begin_transaction()
    producer.produce(topic, value="open")
    producer.flush(WAIT_S)
    cluster.write(topic, ["behind it"])
    consumer = cluster.consumer()
    consumer.subscribe([topic])
    assert consumer.consume(1, timeout=1.5) == []
    producer.commit_transaction(WAIT_S)
    assert values(collect(consumer, 2)) == ["open", "behind it"]
    consumer.close()


def consume_transform_produce(cluster: Cluster) -> None:
    source, target, group = cluster.topic(2), cluster.topic(2), str(uuid4())
    cluster.write(source, [str(n) for n in range(100)])
    consumer = cluster.consumer(group_id=group, enable_auto_commit=False)
    consumer.subscribe([source])
    producer = transactional(cluster)
    copied = 0
    while copied < 100:
        messages = collect(consumer, 10)
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, value=message.value())
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), WAIT_S
        )
        producer.commit_transaction(WAIT_S)
        copied += len(messages)
    committed = consumer.committed(consumer.assignment(), timeout=WAIT_S)
    assert sum(partition.offset for partition in committed) == 100
    consumer.close()
    got = values(cluster.read(target, 100))
    assert sorted(got, key=int) == [str(n) for n in range(100)]


def fencing(cluster: Cluster) -> None:
    topic, name = cluster.topic(), str(uuid4())
    first = transactional(cluster, name)
    first.begin_transaction()
    first.produce(topic, value="first")
    first.flush(WAIT_S)
    second = transactional(cluster, name)
    second.begin_transaction()
    second.produce(topic, value="second")
    second.commit_transaction(WAIT_S)
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(WAIT_S)
    assert fenced.value.args[0].fatal()
    assert values(cluster.read(topic, 1)) == ["second"]


# Administration


def topics(cluster: Cluster) -> None:
    topic = cluster.topic(3)
    (described,) = done(cluster.admin.describe_topics(TopicCollection([topic])))
    assert len(described.partitions) == 3
    assert topic in cluster.admin.list_topics(timeout=WAIT_S).topics
    done(cluster.admin.create_partitions([NewPartitions(topic, 5)]))
    metadata = cluster.admin.list_topics(topic, timeout=WAIT_S)
    assert len(metadata.topics[topic].partitions) == 5
    done(cluster.admin.delete_topics([topic]))
    assert topic not in cluster.admin.list_topics(timeout=WAIT_S).topics


def refused(cluster: Cluster) -> None:
    topic = cluster.topic()
    for new, code in (
        (NewTopic(topic, 1), KafkaError.TOPIC_ALREADY_EXISTS),
        (NewTopic("a/b", 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic(f"{topic}-x", 0), KafkaError.INVALID_PARTITIONS),
        (NewTopic(f"{topic}-y", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic(f"{topic}-z", 1, config={"no.such": "1"}), KafkaError.INVALID_CONFIG),
    ):
        with pytest.raises(KafkaException) as refusal:
            done(cluster.admin.create_topics([new]))
        assert refusal.value.args[0].code() == code, new


def configs(cluster: Cluster) -> None:
    resource = ConfigResource(ResourceType.TOPIC, cluster.topic())
    resource.incremental_configs = [
        ConfigEntry("retention.ms", "777", incremental_operation=AlterConfigOpType.SET)
    ]
    done(cluster.admin.incremental_alter_configs([resource]))
    (entries,) = done(cluster.admin.describe_configs([resource]))
    assert entries["retention.ms"].value == "777"
    assert not entries["retention.ms"].is_default
    assert entries["cleanup.policy"].is_default
    broker_id = str(cluster.admin.describe_cluster().result(WAIT_S).nodes[0].id)
    (broker,) = done(
        cluster.admin.describe_configs([ConfigResource(ResourceType.BROKER, broker_id)])
    )
    assert "advertised.listeners" in broker


def groups(cluster: Cluster) -> None:
    topic, group = cluster.topic(), str(uuid4())
    cluster.write(topic, ["0", "1"])
    cluster.read(topic, 2, group_id=group)
    listed = cluster.admin.list_consumer_groups().result(WAIT_S)
    assert group in {found.group_id for found in listed.valid}
    (described,) = done(cluster.admin.describe_consumer_groups([group]))
    assert described.state.name == "EMPTY"
    wanted = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])]
    done(cluster.admin.alter_consumer_group_offsets(wanted))
    (found,) = done(
        cluster.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    )
    assert found.topic_partitions[0].offset == 1
    done(cluster.admin.delete_consumer_groups([group]))
    listed = cluster.admin.list_consumer_groups().result(WAIT_S)
    assert group not in {found.group_id for found in listed.valid}


def offsets_and_records(cluster: Cluster) -> None:
    topic = cluster.topic()
    cluster.write(topic, ["a", "b", "c"])
    partition = TopicPartition(topic, 0)
    for spec, offset in ((OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 3)):
        (found,) = done(
            cluster.admin.list_offsets(
                {partition: spec}, isolation_level=IsolationLevel.READ_COMMITTED
            )
        )
        assert found.offset == offset
    (deleted,) = done(cluster.admin.delete_records([TopicPartition(topic, 0, 2)]))
    assert deleted.low_watermark == 2
    assert values(cluster.read(topic, 1)) == ["c"]


def described_cluster(cluster: Cluster) -> None:
    found = cluster.admin.describe_cluster().result(WAIT_S)
    assert found.cluster_id
    assert found.controller.id == found.nodes[0].id


CONSUMER = {"group_protocol": "consumer"}
CHECKS: Mapping[str, Callable[[Cluster], None]] = MappingProxyType(
    {
        "every codec": every_codec,
        "key, null value, headers, timestamp": whole_message,
        "acks 0, 1 and all": acknowledgements,
        "idempotent producer": idempotence,
        "offsets by time": offsets_by_time,
        "a message that is too large": too_large,
        "a topic is made when it is produced to": topic_is_made,
        "group, range assignor": shared,
        "group, cooperative-sticky assignor": lambda c: shared(
            c, partition_assignment_strategy="cooperative-sticky"
        ),
        "group, consumer protocol": lambda c: shared(c, **CONSUMER),
        "static member": static_member,
        "static member, consumer protocol": lambda c: static_member(c, **CONSUMER),
        "committed offsets with metadata": committed_offsets,
        "topics by a pattern": pattern,
        "topics by a pattern, consumer protocol": lambda c: pattern(c, **CONSUMER),
        "transactions, committed and aborted": committed_and_aborted,
        "an open transaction hides what is behind it": open_transaction,
        "consume, transform, produce": consume_transform_produce,
        "a second producer of a transactional id fences the first": fencing,
        "topics are made, described, grown, deleted": topics,
        "topics that are refused": refused,
        "configs of topics and brokers": configs,
        "groups and their offsets": groups,
        "offsets listed, records deleted": offsets_and_records,
        "the cluster is described": described_cluster,
    }
)


class LibRdKafka:
    """The checks above."""

    client = f"librdkafka {confluent_kafka.libversion()[0]}"
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        cache.mkdir(parents=True, exist_ok=True)
        outcomes = {}
        with (cache / "log.txt").open("w") as log:
            for name, check in CHECKS.items():
                if selection and name not in selection:
                    continue
                try:
                    check(Cluster(bootstrap_servers))
                    outcomes[name] = Outcome.PASSED
                except Exception as error:  # noqa: BLE001  Whatever it was, the check failed.
                    outcomes[name] = Outcome.FAILED
                    log.write(f"{name}: {type(error).__name__}: {error}\n")
        return outcomes


SUITE = LibRdKafka()
