"""Replays that are killed, stopped or overtaken write each letter once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from conformance.command import Duolog
from conformance.dead_letters import letters
from duolog.runtime.dead_letters.marks import TOPIC, ensure_topic, mark_of, topic_id
from duolog.runtime.dead_letters.reading import Records
from duolog.security.clients.brokers import Brokers
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def duolog(cluster: EmbeddedCluster) -> Duolog:
    return Duolog(cluster.bootstrap_servers)


def ensure_written(duolog: Duolog, topic: str, count: int) -> None:
    """Wait until a topic has some committed records."""
    wait_until(
        lambda: len(letters.read(duolog.bootstrap_servers, topic)) >= count,
        f"topic {topic} has {count} records",
    )


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command; kill it if the test fails."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_replay_is_continued_without_repetition(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("killed-wrong")
    client.create_topic("killed")
    letters.write(
        duolog.bootstrap_servers,
        "killed-wrong",
        [(b"k", str(n).encode(), letters.streams("killed", 0, n)) for n in range(3_000)],
    )
    command = [
        *(sys.executable, "-m", "duolog", "dlq", "replay", "killed-wrong", "--yes"),
        *("--rate", "400", "-b", duolog.bootstrap_servers),
    ]
    for wanted in (1, 401):
        with running(command) as process:
            ensure_written(duolog, "killed", wanted)
            process.send_signal(signal.SIGKILL)

    partly = len(letters.read(duolog.bootstrap_servers, "killed"))
    rest = duolog("dlq", "replay", "killed-wrong", "--yes")

    assert rest.returncode == 0, rest.stderr
    assert 0 < partly < 3_000
    found = [one[2] for one in letters.read(duolog.bootstrap_servers, "killed")]
    assert found == [str(n).encode() for n in range(3_000)]


def test_marks_of_an_aborted_replay_do_not_count(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    for name in ("aborted-wrong", "aborted-source"):
        client.create_topic(name)
    records = [(b"k", b"0", letters.streams("aborted-source"))]
    letters.write(duolog.bootstrap_servers, "aborted-wrong", records)
    with Records(Brokers(duolog.bootstrap_servers)) as opened:
        ensure_topic(opened)
        identity = topic_id(opened, "aborted-wrong")
    producer = Producer(
        {
            "bootstrap.servers": duolog.bootstrap_servers,
            "transactional.id": "duolog-dead-letters-aborted-wrong",
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    key, value = mark_of(("aborted-wrong", identity), "r", 0, [(0, 0)], "")
    producer.produce(TOPIC, value, key, 0)
    assert producer.flush(60) == 0
    # As a killed replay leaves it: the next one aborts it.

    done = duolog("dlq", "replay", "aborted-wrong", "--yes")

    assert done.returncode == 0, done.stderr
    assert [one[2] for one in letters.read(duolog.bootstrap_servers, "aborted-source")] == [b"0"]


def test_a_second_replay_fences_the_first(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("fenced-wrong")
    client.create_topic("fenced")
    letters.write(
        duolog.bootstrap_servers,
        "fenced-wrong",
        [(b"k", str(n).encode(), letters.streams("fenced", 0, n)) for n in range(2_000)],
    )
    command = [
        *(sys.executable, "-m", "duolog", "dlq", "replay", "fenced-wrong", "--yes"),
        *("--rate", "100", "-b", duolog.bootstrap_servers),
    ]
    with running(command) as first:
        ensure_written(duolog, "fenced", 1)

        second = duolog("dlq", "replay", "fenced-wrong", "--yes")

        assert first.stderr is not None
        told = first.stderr.read()
        assert first.wait(60) == 6, told
    assert second.returncode == 0, second.stderr
    assert "another replay of topic" in told
    found = [one[2] for one in letters.read(duolog.bootstrap_servers, "fenced")]
    assert found == [str(n).encode() for n in range(2_000)]


def test_ctrl_c_ends_a_replay_in_order(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("stopped-wrong")
    client.create_topic("stopped")
    letters.write(
        duolog.bootstrap_servers,
        "stopped-wrong",
        [(b"k", str(n).encode(), letters.streams("stopped", 0, n)) for n in range(500)],
    )
    command = [
        *(sys.executable, "-m", "duolog", "dlq", "replay", "stopped-wrong", "--yes"),
        *("--rate", "20", "-b", duolog.bootstrap_servers),
    ]
    with running(command) as process:
        ensure_written(duolog, "stopped", 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    rest = duolog("dlq", "replay", "stopped-wrong", "--yes")

    assert rest.returncode == 0, rest.stderr
    assert [one[2] for one in letters.read(duolog.bootstrap_servers, "stopped")] == [
        str(n).encode() for n in range(500)
    ]


def test_marks_of_another_form_stop_a_replay(duolog: Duolog, cluster: EmbeddedCluster) -> None:
    with EmbeddedCluster() as other:
        client = Client(other.bootstrap_servers)
        for name in ("odd-wrong", "odd", "_duolog-replayed-dead-letters"):
            client.create_topic(name)
        letters.write(other.bootstrap_servers, "odd-wrong", [(b"a", b"1", letters.streams("odd"))])
        letters.write(other.bootstrap_servers, "_duolog-replayed-dead-letters", [(b"?", b"?", [])])

        done = duolog("dlq", "replay", "odd-wrong", "--yes", servers=other.bootstrap_servers)

    assert done.returncode == 1
    assert "is not a mark of a replay" in done.stderr
