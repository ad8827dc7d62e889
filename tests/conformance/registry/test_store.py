"""The topic of the registry on a real broker: created, checked, written by one, read in order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import (
    RecordTooLarge,
    StoreUnavailable,
    TopicUnsuitable,
    WriterFenced,
)
from duolog.registry.store.follower import TopicFollower
from duolog.registry.store.stored import NewRecord, StoredRecord
from duolog.registry.store.topic import ensure_topic
from duolog.registry.store.writer import FencedWriter
from duolog.testing.cluster import EmbeddedCluster
from waiting import wait_until

_LARGE = b"x" * 2_000_000


@pytest.fixture
def options(cluster: EmbeddedCluster) -> KafkaOptions:
    return KafkaOptions(cluster.bootstrap_servers)


def create(options: KafkaOptions, partitions: int, policy: str) -> None:
    admin = AdminClient({"bootstrap.servers": options.bootstrap_servers, "log_level": 0})
    wanted = NewTopic(options.topic, partitions, 1, config={"cleanup.policy": policy})
    admin.create_topics([wanted])[options.topic].result(60)


@contextmanager
def following(options: KafkaOptions) -> Iterator[tuple[TopicFollower, list[StoredRecord]]]:
    read: list[StoredRecord] = []
    failures: list[Exception] = []
    follower = TopicFollower(options, read.extend, failures.append)
    try:
        yield follower, read
    finally:
        follower.stop()
        assert failures == []


def keys(records: Sequence[StoredRecord]) -> list[bytes | None]:
    return [record.key for record in records]


def test_a_missing_topic_is_created_compacted_with_one_partition(options: KafkaOptions) -> None:
    first = ensure_topic(options)
    again = ensure_topic(options)

    admin = AdminClient({"bootstrap.servers": options.bootstrap_servers, "log_level": 0})
    assert first == again != ""
    assert len(admin.list_topics(options.topic, timeout=60).topics[options.topic].partitions) == 1


@pytest.mark.parametrize(
    ("partitions", "policy", "problem"),
    [
        (1, "delete", "would lose schemas: its cleanup.policy is delete"),
        (1, "compact,delete", "would lose schemas: its cleanup.policy is compact,delete"),
        (2, "compact", "has 2 partitions"),
    ],
)
def test_a_topic_that_could_lose_schemas_is_refused_with_a_hint(
    options: KafkaOptions, partitions: int, policy: str, problem: str
) -> None:
    create(options, partitions, policy)

    with pytest.raises(TopicUnsuitable, match=problem) as refused:
        ensure_topic(options)

    assert refused.value.hint


def test_a_broker_that_does_not_answer_is_named() -> None:
    options = KafkaOptions("127.0.0.1:1", properties={"socket.connection.setup.timeout.ms": "1000"})

    with pytest.raises(StoreUnavailable, match=r"_schemas at 127\.0\.0\.1:1"):
        ensure_topic(options)


def test_an_older_writer_is_fenced(options: KafkaOptions) -> None:
    ensure_topic(options)
    older = FencedWriter(options)
    older.append([NewRecord(b"a", b"1")])

    newer = FencedWriter(options)
    last = newer.append([NewRecord(b"b", b"2"), NewRecord(b"c", None)])
    with pytest.raises(WriterFenced):
        older.append([NewRecord(b"late", b"x")])

    with following(options) as (follower, read):
        follower.load()
        assert [(record.key, record.value) for record in read] == [
            (b"a", b"1"),
            (b"b", b"2"),
            (b"c", None),
        ]
        assert read[-1].offset == last


def test_what_a_paused_writer_left_open_is_never_read(options: KafkaOptions) -> None:
    ensure_topic(options)
    paused = Producer(
        {
            "bootstrap.servers": options.bootstrap_servers,
            "transactional.id": f"{options.group}-{options.topic}-writer",
            "log_level": 0,
        }
    )
    paused.init_transactions(60)
    paused.begin_transaction()
    paused.produce(options.topic, key=b"paused", value=b"x", partition=0)
    assert paused.flush(60) == 0

    FencedWriter(options).append([NewRecord(b"next", b"1")])
    with pytest.raises(KafkaException):
        paused.commit_transaction(60)

    with following(options) as (follower, read):
        follower.load()
        assert keys(read) == [b"next"]


@pytest.mark.parametrize("client_limit", ["1000000", "10000000"])
def test_a_record_that_client_or_broker_finds_too_large_leaves_nothing(
    options: KafkaOptions, client_limit: str
) -> None:
    ensure_topic(options)
    limited = KafkaOptions(
        options.bootstrap_servers, properties={"message.max.bytes": client_limit}
    )

    with pytest.raises(RecordTooLarge):
        FencedWriter(limited).append([NewRecord(b"small", b"x"), NewRecord(b"large", _LARGE)])
    FencedWriter(limited).append([NewRecord(b"next", b"1")])

    with following(options) as (follower, read):
        follower.load()
        assert keys(read) == [b"next"]


def test_a_follower_reads_to_the_end_and_goes_on(options: KafkaOptions) -> None:
    ensure_topic(options)
    writer = FencedWriter(options)
    writer.append([NewRecord(f"k{number}".encode(), b"v") for number in range(5000)])

    with following(options) as (follower, read):
        follower.load()
        assert len(read) == 5000
        follower.start()
        writer.append([NewRecord(b"live", b"v")])
        wait_until(lambda: read[-1].key == b"live", "the record of the live writer")

    assert [record.offset for record in read] == sorted({record.offset for record in read})


def test_an_empty_topic_is_read_at_once(options: KafkaOptions) -> None:
    ensure_topic(options)

    with following(options) as (follower, read):
        follower.load()
        assert read == []


def test_a_follower_survives_a_restart_of_the_broker(
    cluster: EmbeddedCluster, options: KafkaOptions
) -> None:
    ensure_topic(options)

    with following(options) as (follower, read):
        follower.load()
        follower.start()
        cluster.restart()
        FencedWriter(options).append([NewRecord(b"after", b"v")])
        wait_until(lambda: keys(read) == [b"after"], "the record after the restart")
