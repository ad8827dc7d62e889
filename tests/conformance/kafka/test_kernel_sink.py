"""The kernel from topic to topic, against a real Apache Kafka."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from conformance.kafka.peer import KafkaPeer
from unit.kernel.driver import java_session, kernel_package
from unit.kernel.specs import Spec, flights_spec, regroup_spec

pytestmark = pytest.mark.spark

TIME = 1_700_000_000_000
KEPT_FOR_EVER = {"retention.ms": "-1"}


class Record(NamedTuple):
    """A record as a consumer reads it."""

    key: bytes | None
    value: bytes | None
    ts: int


def prefixed(spec: Spec, prefix: str) -> Spec:
    for topic in [*spec["sources"], *spec["sinks"]]:
        topic["topic"] = prefix + topic["topic"]
    return spec


def create(peer: KafkaPeer, topic: str, config: Mapping[str, str] = KEPT_FOR_EVER) -> None:
    admin = AdminClient({"bootstrap.servers": peer.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 2, 1, config=dict(config))])[topic].result(30)


def produce(
    peer: KafkaPeer, topic: str, records: Iterable[tuple[str, str | None]], *, ts: int = TIME
) -> None:
    producer = Producer({"bootstrap.servers": peer.bootstrap_servers})
    for i, (key, value) in enumerate(records):
        producer.produce(topic, key=key, value=value, timestamp=ts + i)
    assert producer.flush(30) == 0


def consume(peer: KafkaPeer, topic: str) -> list[Record]:
    """All records of a topic, partition by partition."""
    consumer = Consumer({"bootstrap.servers": peer.bootstrap_servers, "group.id": "verifier"})
    records = []
    for partition in range(2):
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
        consumer.assign([TopicPartition(topic, partition, 0)])
        # A message with an empty value is falsy.
        while end and (message := consumer.poll(30)) is not None:
            records.append(Record(message.key(), message.value(), message.timestamp()[1]))
            if message.offset() == end - 1:
                break
    consumer.close()
    return records


def run(spark: SparkSession, peer: KafkaPeer, spec: Spec, checkpoint: Path) -> Any:
    """Process all available records; return the finished query."""
    options = {"kafka.bootstrap.servers": peer.bootstrap_servers, "startingOffsets": "earliest"}
    frames = []
    for source in spec["sources"]:
        reader = spark.readStream.format("kafka").options(**options, subscribe=source["topic"])
        frames.append(reader.load()._jdf)  # noqa: SLF001 - the kernel takes Java's
    java_session(spark).conf().set("spark.sql.shuffle.partitions", "2")
    kernel = kernel_package(spark)
    text = json.dumps(spec)
    query = kernel.Launcher.start(
        kernel.Kernel.apply(frames, text),
        text,
        {
            "checkpointLocation": str(checkpoint),
            "trigger": "available-now",
            "kafka.bootstrap.servers": peer.bootstrap_servers,
        },
    )
    if not query.awaitTermination(120_000):
        query.stop()
        pytest.fail("the query did not end")
    return query


def test_state_continues_from_the_last_run(
    spark: SparkSession, kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    for topic in ("on-flights", "on-airlines", "on-joined", "on-by_airline"):
        create(kafka_peer, topic)
    produce(kafka_peer, "on-airlines", [("AA", '{"name":"American"}')], ts=TIME - 1)
    produce(kafka_peer, "on-flights", [("f", f'{{"carrier":"AA","delay":{i}}}') for i in range(5)])
    spec = prefixed(flights_spec(), "on-")

    run(spark, kafka_peer, spec, tmp_path / "checkpoint")
    produce(kafka_peer, "on-flights", [("f", '{"carrier":"AA","delay":90}')])
    run(spark, kafka_peer, spec, tmp_path / "checkpoint")

    assert [(record.value, record.ts) for record in consume(kafka_peer, "on-by_airline")] == [
        (b'{"flights":5,"delay":10}', TIME + 4),
        (b'{"flights":6,"delay":100}', TIME + 4),
    ]
    assert len(consume(kafka_peer, "on-joined")) == 6


def test_a_deletion_becomes_a_tombstone(
    spark: SparkSession, kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    """Write a table directly: the sink is its only downstream node."""
    for topic in ("gone-persons", "gone-by_city"):
        create(kafka_peer, topic)
    produce(kafka_peer, "gone-persons", [("a", '{"city":"Rome","age":3}'), ("a", None)])
    spec = prefixed(regroup_spec(), "gone-")
    sink = spec["nodes"]["6"] | {"value_types": ["STRING", "BIGINT"]}
    spec["nodes"]["2"]["children"] = [7]
    spec["nodes"]["7"] = sink

    run(spark, kafka_peer, spec, tmp_path / "checkpoint")

    assert consume(kafka_peer, "gone-by_city") == [
        Record(b"a", b'{"persons":"Rome","age":3}', TIME),
        Record(b"a", None, TIME + 1),
    ]


def test_refused_write_fails_the_query_and_names_the_topic(
    spark: SparkSession, kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    create(kafka_peer, "big-persons")
    create(kafka_peer, "big-by_city", {"max.message.bytes": "10"})
    produce(kafka_peer, "big-persons", [("a", '{"city":"Rome","age":3}')])

    at = r'record of topic "big-persons", partition \d, offset 0 at topic "big-by_city"'
    with pytest.raises(Exception, match=at):
        run(spark, kafka_peer, prefixed(regroup_spec(), "big-"), tmp_path / "checkpoint")
