"""A cleaner that is killed, a broker that is killed while it cleans, and topics that change under it.

The log is cleaned slowly, by a bound on its bytes, so that something can happen meanwhile.
Afterwards the bound is gone and the log is cleaned to its end: the last value of each key must be
there.
"""

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

import waiting
from duolog.runtime.broker_process import BrokerProcess

TOPIC: Final = "kept"
KEYS: Final = 100
RECORDS: Final = 20_000
WAIT_S: Final = 30.0
SLOW: Final = "300000"
FAST: Final = "1e12"
CONFIG: Final = {
    "segment.bytes": str(1024 * 1024),
    "min.cleanable.dirty.ratio": "0.01",
}


def settings(bytes_per_second: str) -> dict[str, str]:
    return {
        "log.cleaner.backoff.ms": "100",
        "log.cleaner.io.max.bytes.per.second": bytes_per_second,
    }


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data", settings=settings(SLOW))
    process.start()
    yield process
    if process.running:
        process.stop()


def fill(broker: BrokerProcess, *, policy: str = "compact") -> dict[bytes, bytes]:
    """Write many values for each key; returns the last ones."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1, config=CONFIG | {"cleanup.policy": policy})])[
        TOPIC
    ].result()
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "compression.type": "lz4", "linger.ms": 5}
    )
    last = {}
    for number in range(RECORDS):
        key, value = b"key-%d" % (number % KEYS), b"%d-" % number + os.urandom(150)
        last[key] = value
        producer.produce(TOPIC, value, key)
        if number % 1000 == 0:
            producer.flush()
    producer.flush()
    return last


def read(broker: BrokerProcess) -> tuple[dict[bytes, bytes], int]:
    """Return the last value of each key, and how many records there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    last: dict[bytes, bytes] = {}
    count = 0
    try:
        while True:
            message = consumer.poll(WAIT_S)
            assert message is not None
            if message.error() is not None:
                return last, count
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            last[key] = value
            count += 1
    finally:
        consumer.close()


def wait_for(condition: Callable[[], object], what: str) -> None:
    waiting.wait_until(condition, lambda: what, WAIT_S)


def cleaners(broker: BrokerProcess) -> list[int]:
    """Return the ids of the processes that compact, in the order of their starts."""
    lines = re.findall(r"compaction process pid=(\d+)", broker.log_path.read_text())
    return [int(line) for line in lines]


def cleaned(broker: BrokerProcess, log: str = f"{TOPIC}-0") -> int:
    return broker.log_path.read_text().count(f"compacted a log topic_partition={log}")


def at_work(broker: BrokerProcess) -> bool:
    """Return True if the cleaner has written data for a new segment."""
    return any((broker.data_dir / "topics").glob("*/0/*.log.cleaned"))


def gone(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return False
    return True


def clean_fast(broker: BrokerProcess, log: str = f"{TOPIC}-0") -> None:
    """Start the broker without the bound, and wait until the log is clean."""
    if broker.running:
        broker.stop()
    before = cleaned(broker, log)
    again = BrokerProcess(broker.data_dir, settings=settings(FAST))
    again.start()
    broker.__dict__.update(again.__dict__)
    wait_for(lambda: cleaned(broker, log) > before, "the log was not cleaned")


def test_a_killed_cleaner_is_restarted_and_nothing_is_lost(broker: BrokerProcess) -> None:
    last = fill(broker)
    wait_for(lambda: at_work(broker), "no run began")

    os.kill(cleaners(broker)[-1], signal.SIGKILL)

    wait_for(lambda: len(cleaners(broker)) > 1, "no other cleaner was started")
    assert read(broker)[0] == last
    clean_fast(broker)
    found, count = read(broker)
    assert found == last
    assert count < RECORDS


def test_a_killed_broker_takes_its_cleaner_with_it_and_loses_nothing(
    broker: BrokerProcess,
) -> None:
    last = fill(broker)
    wait_for(lambda: at_work(broker), "no run began")
    pid = cleaners(broker)[-1]

    broker.kill()

    wait_for(lambda: gone(pid), "the cleaner outlives its broker")
    clean_fast(broker)
    found, count = read(broker)
    assert found == last
    assert count < RECORDS
    assert not at_work(broker)


def test_a_topic_may_be_deleted_and_made_again_while_it_is_cleaned(broker: BrokerProcess) -> None:
    fill(broker)
    wait_for(lambda: at_work(broker), "no run began")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    admin.delete_topics([TOPIC])[TOPIC].result()
    last = fill(broker)

    assert read(broker)[0] == last
    clean_fast(broker)
    found, count = read(broker)
    assert found == last
    assert count < RECORDS


def test_a_topic_that_is_not_to_be_compacted_any_more_keeps_its_records(
    broker: BrokerProcess,
) -> None:
    last = fill(broker)
    wait_for(lambda: at_work(broker), "no run began")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    policy = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[policy])

    admin.incremental_alter_configs([resource])[resource].result()

    wait_for(lambda: not at_work(broker), "the run continues")
    found, count = read(broker)
    assert found == last
    assert count == RECORDS
    assert cleaned(broker) == 0


def test_records_that_are_deleted_under_the_cleaner_do_not_come_back(
    broker: BrokerProcess,
) -> None:
    last = fill(broker, policy="compact,delete")  # Else no client may delete records.
    wait_for(lambda: at_work(broker), "no run began")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    start = RECORDS // 2

    wanted = [TopicPartition(TOPIC, 0, start)]
    for deleted in admin.delete_records(wanted).values():
        deleted.result()

    clean_fast(broker)
    found, count = read(broker)
    assert found == last
    assert count < RECORDS - start


def test_committed_offsets_are_what_they_were_after_their_topic_was_compacted(
    broker: BrokerProcess,
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 200)])[TOPIC].result()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "group"})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
    small = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in CONFIG.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, "__consumer_offsets", incremental_configs=small)
    admin.incremental_alter_configs([resource])[resource].result()
    for turn in range(200):
        offsets = [TopicPartition(TOPIC, index, turn * 1000 + index) for index in range(200)]
        consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()

    clean_fast(broker, "__consumer_offsets-")
    for _ in range(2):
        reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "group"})
        found = reader.committed([TopicPartition(TOPIC, index) for index in range(200)])
        reader.close()
        assert [one.offset for one in found] == [199_000 + index for index in range(200)]
        broker.kill()  # The second time all of it is read from a compacted log.
        broker.start()
