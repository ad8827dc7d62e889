"""Records that cannot be read, processed or written, on Spark with default settings."""

import time
from collections.abc import Iterator
from hashlib import shake_256
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology, col, concat, count, sum_, when
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import QueryFailed
from duolog.engine.settings import LOG_AND_CONTINUE, ErrorHandling, Mode
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S = 90
DEAD = "dead-letters"
FARE = b'{"name":"x","pattern":"%","fare":1}'
PASS_OVER = ErrorHandling(LOG_AND_CONTINUE, LOG_AND_CONTINUE, LOG_AND_CONTINUE, DEAD)
NO_PARTITION = b'{"name":"far","pattern":"x","fare":1}'  # chooses partition 99 of 3
NO_PATTERN = b'{"name":"x","pattern":"a\\\\b","fare":1}'  # \ before b
# Incompressible.
LARGE = shake_256(b"large").hexdigest(300_000).encode()
RECORDS = [
    (b"k", FARE, "good"),
    (b"k", b"{", "SerializationException"),
    (b"k", NO_PATTERN, "AnalysisException"),
    (b"k", b'{"name":"x","pattern":"%","fare":' + b"9" * 38 + b"}", "ArithmeticException"),
    (b"k", b'{"name":"' + LARGE + b'","pattern":"%","fare":1}', "TooLarge"),
    (LARGE[:60_000], b"{", "SerializationException"),
    (b"k", NO_PARTITION, "InvalidPartitionsException"),
    (b"k", FARE, "good"),
]
# Larger ones become dead letters without a value, or also without a key.
DEAD_LETTER_BYTES_MAX = 50_000


@pytest.fixture
def servers(spark: SparkSession) -> Iterator[str]:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topics = [NewTopic(name, 1, 1) for name in ("fares", "liked", "totals")]
        topics.append(NewTopic("spread", 3, 1))
        limit = {"max.message.bytes": str(DEAD_LETTER_BYTES_MAX)}
        topics.append(NewTopic(DEAD, 1, 1, config=limit))
        for made in admin.create_topics(topics).values():
            made.result(WAIT_S)
        yield cluster.bootstrap_servers


def topology(name: str) -> Topology:
    """Names that match their pattern, twice, to chosen partitions; then the sum of fares."""
    made = Topology(name)
    fares = made.stream(
        "fares", key="id STRING", value="name STRING, pattern STRING, fare DECIMAL(38,0)"
    )
    liked = fares.filter(col("name").like(col("pattern")))
    liked.map_values("pattern", twice=concat(col("name"), col("name"))).to("liked")
    fares.to("spread", partitioner=when(col("name") == "far", 99).otherwise(1))
    fares.group_by("pattern").aggregate(fares=count(), total=sum_("fare")).to("totals")
    return made


def produce(servers: str, records: list[tuple[bytes, bytes]]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for key, value in records:
        producer.produce("fares", value, key, headers=[("trace", b"t")])
    assert producer.flush(WAIT_S) == 0


FAILS: Final[dict[Mode, tuple[bytes, str]]] = {
    "real-time": (NO_PATTERN, "cannot process {} at filter-2"),
    "micro-batch": (
        NO_PARTITION,
        'cannot write {} at topic "spread": InvalidPartitionsException: no partition 99, but 0 to 2',
    ),
}


@pytest.mark.parametrize("mode", FAILS)
def test_query_fails_on_a_bad_record_and_names_it(mode: Mode, servers: str, tmp_path: Path) -> None:
    value, reported = FAILS[mode]
    produce(servers, [(b"k", value) for value in (FARE, FARE, value)])
    query = Engine(EngineConfig(servers, tmp_path)).start(
        topology("fails").build(), f"fails-{mode}", mode
    )

    with pytest.raises(QueryFailed) as failed:
        query.wait(WAIT_S)

    assert (
        reported.format('the record of topic "fares", partition 0, offset 2')
        in failed.value.message
    )
    assert ".exception.handler=log_and_continue" in failed.value.hint
    assert not failed.value.kind.may_pass, "it fails again whenever it is read"


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_bad_records_are_skipped_and_written_as_dead_letters(
    mode: Mode, servers: str, tmp_path: Path
) -> None:
    config = EngineConfig(servers, tmp_path, errors=PASS_OVER, epoch_ms=2000)
    query = Engine(config).start(topology("goes-on").build(), f"goes-on-{mode}", mode)
    assert query.wait_until_caught_up(WAIT_S)

    produce(servers, [(key, value) for key, value, _ in RECORDS])
    letters = read(servers, DEAD, 6)
    liked = read(servers, "liked", 3)
    progress = query.progress()
    query.stop()

    assert query.exception() is None
    wrong = {str(offset): what for offset, (*_, what) in enumerate(RECORDS) if what != "good"}
    reported = {}
    for letter in letters:
        headers = dict(letter.headers())
        offset = headers["__streams.errors.offset"].decode()
        key, value, _ = RECORDS[int(offset)]
        left_out = headers.get("__duolog.errors.left.out", b"").decode()
        assert ("value" in left_out) == (len(key + value) > DEAD_LETTER_BYTES_MAX)
        assert letter.value() == (None if "value" in left_out else value)
        assert ("key" in left_out) == (len(key) > DEAD_LETTER_BYTES_MAX)
        assert letter.key() == (None if "key" in left_out else key)
        assert headers.get("trace") == (None if "headers" in left_out else b"t")
        assert headers["__streams.errors.topic"] == b"fares"
        reported[offset] = headers["__streams.errors.exception"].decode()
    assert reported.keys() == wrong.keys()
    assert all(what in reported[offset] for offset, what in wrong.items()), reported
    assert len(liked) == 3, "the fare that is too much for a sum is none for a filter"
    assert progress.skipped == {"deserialization": 2, "processing": 2, "production": 2}


def test_results_fit_a_topic_with_a_small_batch_limit(servers: str, tmp_path: Path) -> None:
    """Regression: batches were split into pieces of the refused size for two minutes."""
    admin = AdminClient({"bootstrap.servers": servers})
    small = NewTopic("small", 1, 1, config={"max.message.bytes": "10000"})
    admin.create_topics([small])["small"].result(WAIT_S)
    copy = Topology("copy")
    copy.stream("fares", key="id STRING", value="name STRING").to("small")
    names = [LARGE[at : at + 500].decode() for at in range(0, 300_000, 500)]
    produce(servers, [(b"k", f'{{"name":"{name}"}}'.encode()) for name in names])

    query = Engine(EngineConfig(servers, tmp_path)).start(copy.build(), "copy", "micro-batch")
    caught_up = query.wait_until_caught_up(60)
    query.stop()

    assert (caught_up, query.exception()) == (True, None)
    assert len(read(servers, "small", len(names))) == len(names)


def read(servers: str, topic: str, most: int) -> list[Any]:
    """Return the records of a topic, once there are `most` or no more come."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[Any] = []
    deadline, quiet_s = time.monotonic() + WAIT_S, 20.0
    last = time.monotonic()
    while len(found) < most and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None:
            found.append(message)
            last = time.monotonic()
        elif found and time.monotonic() - last > quiet_s:
            break
    consumer.close()
    return found
