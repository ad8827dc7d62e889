"""A source with records of every kind and groups at several offsets, and its copy on a target."""

import io
import signal
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Final, NamedTuple, cast

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from duolog.cli.main import main
from duolog.testing import Client, EmbeddedCluster

TIMEOUT_S: Final = 60
TOPIC: Final = "orders"
SETTINGS: Final = {"max.message.bytes": "100000", "retention.ms": "4000000000000"}
"""Settings that differ from those while records are copied."""
RECORDS: Final = 300
GROUPS: Final[Mapping[str, int]] = {
    "unread": 0,
    "half-read": 17,
    "in-a-gap": 100,
    "at-the-end": 10**6,
}
"""Groups, and how many records of each partition they have read at most."""

KILLING: Final = """
import os, signal, sys
from confluent_kafka import Producer
from duolog.cli.main import main
from duolog.cli.mirror import committed_records, copier, group_offsets, session, target_topics

copier.RECORDS_MAX = committed_records.READ_SIZE = 50
owner, name, number, when = sys.argv[1:5]
where = {"Copier": copier.Copier, "groups": group_offsets, "session": session,
         "topics": target_topics, "Topics": target_topics.TargetTopics}.get(owner)
calls = 0

def counted(call):
    def wrapped(*arguments, **more):
        global calls
        calls += 1
        if (calls, when) == (int(number), "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*arguments, **more)
        if (calls, when) == (int(number), "after"):
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return wrapped

if where is not None:
    setattr(where, name, counted(getattr(where, name)))
sys.exit(main(sys.argv[5:]))
"""
"""Runs `duolog` in small transactions, and kills it before or after the Nth call of a function."""

KILLS: Final = {
    "before the first transaction": ("Topics", "_create", "2", "before"),
    "after a topic is created": ("Topics", "_create", "2", "after"),
    "with records in an open transaction": ("Copier", "_commit_with", "3", "before"),
    "with progress in an open transaction": ("Copier", "_flush", "7", "before"),
    "after a committed transaction": ("Copier", "_commit_with", "4", "after"),
    "before the verification": ("session", "verify", "1", "before"),
    "before the commit of a group": ("groups", "_commit", "2", "before"),
    "after the commit of a group": ("groups", "_commit", "2", "after"),
    "before the settings": ("topics", "set_settings", "1", "before"),
    "after the settings": ("topics", "set_settings", "1", "after"),
}


class Ended(NamedTuple):
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


def run_here(*words: str) -> Ended:
    """Run `duolog` in this process, as its command line does."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(words)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Ended(status, out.getvalue(), err.getvalue())


def empty(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Delete the topics and groups of earlier tests."""
    if not cluster.broker.running:  # The test before has failed in between.
        cluster.restart()
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    groups = client.list_consumer_groups().result(TIMEOUT_S)
    if names := [group.group_id for group in groups.valid]:
        for deleted in client.delete_consumer_groups(names).values():
            deleted.result(TIMEOUT_S)
    topics = client.list_topics(timeout=TIMEOUT_S).topics
    if names := [topic for topic in topics if not topic.startswith("__")]:
        Client(cluster.bootstrap_servers).delete_topics(*names)
    return cluster


class Found(NamedTuple):
    """A record without its offset."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]


def killed(point: tuple[str, str, str, str], *words: str) -> list[str]:
    """Return a command that kills itself at a point of KILLS."""
    return [sys.executable, "-c", KILLING, *point, *words]


def fill(servers: str, topic: str = TOPIC) -> None:
    """Create the topic with two partitions of records, gaps and committed offsets of GROUPS."""
    Client(servers).create_topic(topic, 2, SETTINGS)
    producer = Producer(
        {"bootstrap.servers": servers, "log_level": 0, "transactional.id": f"{topic}-filler"}
    )
    producer.init_transactions(TIMEOUT_S)
    for first in range(0, RECORDS, 50):
        for commits in (True, False):
            producer.begin_transaction()
            for number in range(first, first + 50):
                _write(producer, topic, number, b"kept" if commits else b"aborted")
            assert producer.flush(TIMEOUT_S) == 0
            if commits:
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)
    for group, count in GROUPS.items():
        _read_some(servers, topic, group, count)


def rest_of(servers: str, topic: str, group: str) -> list[list[Found]]:
    """Return the unread records of each partition for a group, without committing."""
    consumer = _consumer(servers, group)
    try:
        places = consumer.committed([TopicPartition(topic, at) for at in (0, 1)], TIMEOUT_S)
        assert all(place.offset >= 0 for place in places), places
        return [_all(consumer, place) for place in places]
    finally:
        consumer.close()


def records(servers: str, topic: str = TOPIC) -> list[list[Found]]:
    """Return the committed records of each partition."""
    consumer = _consumer(servers, "reader")
    try:
        return [_all(consumer, TopicPartition(topic, at, 0)) for at in (0, 1)]
    finally:
        consumer.close()


def _write(producer: Producer, topic: str, number: int, kind: bytes) -> None:
    producer.produce(
        topic,
        key=None if number % 7 == 0 else b"" if number % 11 == 0 else f"k{number % 20}",
        value=None if number % 5 == 0 else b"" if number % 13 == 0 else kind + b"%d" % number,
        partition=number % 2,
        timestamp=1_000 + number if number % 3 else 1_700_000_000_000 - number,
        headers=[("a", None), ("a", b""), ("é", b"%d" % number)] if number % 4 else None,
    )


def _read_some(servers: str, topic: str, group: str, count: int) -> None:
    consumer = _consumer(servers, group)
    try:
        places = []
        for number in (0, 1):
            found = _messages(consumer, TopicPartition(topic, number, 0), count)
            offset = found[-1] + 1 if found else 0
            place = TopicPartition(topic, number, offset)
            places.append(place if number else TopicPartition(topic, number, offset, "noted"))
        consumer.commit(offsets=places, asynchronous=False)
    finally:
        consumer.close()


def _messages(consumer: Consumer, place: TopicPartition, count: int) -> list[int]:
    consumer.assign([place])
    found: list[int] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"no answer about {place}"
        if message.error():
            break
        found.append(message.offset() or 0)
    return found


def _all(consumer: Consumer, place: TopicPartition) -> list[Found]:
    consumer.assign([place])
    found: list[Found] = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"no answer about {place}"
        if message.error():
            return found
        headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
        found.append(Found(message.key(), message.value(), message.timestamp()[1], tuple(headers)))


def _consumer(servers: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "log_level": 0,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 10,
        }
    )
