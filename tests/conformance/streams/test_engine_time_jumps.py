"""Stream time that jumps decades ahead and back, and timestamps that Spark cannot represent.

Results before the jump exist, records after it are counted as late, and no query fails.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from conformance.streams.in_memory import serdes_of
from duolog import Topology, tumbling
from duolog.engine.settings import Mode
from duolog.runtime.application import Application
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 60
MINUTE_MS: Final = 60_000
NOW: Final = 1_700_000_000_000 // MINUTE_MS * MINUTE_MS
DECADES: Final = NOW + 50 * 365 * 24 * 60 * MINUTE_MS
BEHIND_9999: Final = 254_000_000_000_000 // MINUTE_MS * MINUTE_MS
"""A time that Python has no year for."""
NANOSECONDS: Final = 1_700_000_000_000_000_000
BEFORE: Final = [NOW, NOW + 1, DECADES, NOW + 2 * MINUTE_MS, NANOSECONDS, DECADES + 1]
BETWEEN: Final = [NOW + 3 * MINUTE_MS, DECADES + 2 * MINUTE_MS]
LIVE: Final = [BEHIND_9999, DECADES, NANOSECONDS, 2**63 - 1, BEHIND_9999 + 1]
COUNTED: Final = {NOW: 2, DECADES: 2, DECADES + 2 * MINUTE_MS: 1, BEHIND_9999: 2}
CLOSED: Final = {at: count for at, count in COUNTED.items() if at != BEHIND_9999}
COPIED: Final = {at for at in (*BEFORE, *BETWEEN, *LIVE) if at <= BEHIND_9999 + 1}
FAR: Final = {b"4", b"10", b"11"}
"""The offsets of those that have none."""
LATE_OF_THE_LAST_START: Final = 2
DEAD: Final = "dead"


@pytest.fixture
def servers(spark: SparkSession) -> Iterator[str]:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        config = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("in", 1, 1, config=config)])["in"].result(WAIT_S)
        yield cluster.bootstrap_servers


def topology() -> Topology:
    made = Topology("jumps")
    events = made.stream("in", key="id STRING", value="n BIGINT").peek("seen")
    events.to("all")
    windows = tumbling("1 minute", grace="0 s")
    events.group_by_key().windowed_by(windows).count().to("counted")
    events.group_by_key().windowed_by(windows, emit="on close").count().to("closed")
    return made


def produce(servers: str, times: list[int]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number, at in enumerate(times):
        producer.produce("in", b'{"n":%d}' % number, b"a", timestamp=at)
    assert producer.flush(WAIT_S) == 0


@pytest.mark.parametrize(
    "modes",
    [
        ("micro-batch", "auto"),
        pytest.param(("real-time", "micro-batch"), marks=pytest.mark.deep),
        pytest.param(("auto", "real-time"), marks=pytest.mark.deep),
    ],
    ids=" and ".join,
)
def test_stream_time_jumps_by_decades_and_back(
    servers: str, tmp_path: Path, modes: tuple[Mode, Mode]
) -> None:
    first, second = (
        Application(
            topology(),
            bootstrap_servers=servers,
            data_dir=tmp_path,
            mode=mode,
            settings={"errors.dead.letter.queue.topic.name": DEAD},
        )
        for mode in modes
    )
    produce(servers, BEFORE)
    with first:
        query = first.start()
        assert query.wait_until_caught_up(WAIT_S)
        assert sum(query.progress().late.values()) >= 1
    assert query.exception() is None
    produce(servers, BETWEEN)
    with second:
        query = second.start()
        assert query.wait_until_caught_up(WAIT_S)
        while modes[1] != "micro-batch" and query.mode != "real-time":
            assert not query.wait(0.1)
        produce(servers, LIVE)
        copied = {}
        for message in records(servers, "all"):
            copied[message.timestamp()[1]] = message
            if copied.keys() == COPIED:
                break
        letters = {}
        for message in records(servers, DEAD):
            letters[dict(message.headers())["__streams.errors.offset"]] = message
            if letters.keys() == FAR:
                break
        assert query.wait_until_caught_up(WAIT_S)
        late = query.progress().late

    assert query.exception() is None
    assert counts(servers, second, "counted") == COUNTED
    assert counts(servers, second, "closed") == CLOSED
    assert copied.keys() == COPIED
    assert letters.keys() == FAR
    for letter in letters.values():
        said = dict(letter.headers())
        assert said["__streams.errors.message"] == b"its timestamp is after the year 294246"
        assert letter.key() == b"a"
    assert all(count >= LATE_OF_THE_LAST_START for count in late.values())
    assert late


def counts(servers: str, application: Application, topic: str) -> dict[int, int]:
    """Return the last count of each window."""
    (sink,) = (sink for sink in application.plan.sinks if topic in sink.topics)
    keys, values = serdes_of(sink)
    found: dict[int, int] = {}
    for message in records(servers, topic, wait_s=2):
        key, value = keys.deserialize(message.key()), values.deserialize(message.value())
        window, count = key and key[1], value and value[0]
        assert isinstance(window, int)
        assert isinstance(count, int)
        found[window] = count
    return found


def records(servers: str, topic: str, *, wait_s: float = WAIT_S) -> Iterator[Any]:
    """Yield the records of a topic until none arrives for a while."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "r"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    while (message := consumer.poll(wait_s)) is not None:
        if message.error() is None:
            yield message
    consumer.close()
