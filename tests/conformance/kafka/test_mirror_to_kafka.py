"""`duolog mirror` from a Duolog broker to a real Apache Kafka, and back."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from conformance.kafka.peer import KafkaPeer
from conformance.mirrored import (
    GROUPS,
    KILLS,
    SETTINGS,
    TIMEOUT_S,
    fill,
    killed,
    records,
    rest_of,
    run_here,
)
from duolog.cli.mirror import open_transactions
from duolog.testing import Client, EmbeddedCluster
from duolog.testing.local_broker.local_broker import SETTINGS as OF_BROKER
from waiting import wait_for_equal

pytestmark = pytest.mark.timeout(300)

TOPIC = "moved"


def test_a_data_directory_moves_to_apache_kafka_after_kills(
    kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    there = kafka_peer.bootstrap_servers
    with EmbeddedCluster(tmp_path / "data", OF_BROKER) as source:
        here = source.bootstrap_servers
        fill(here, TOPIC)
        words = "mirror", "-b", here, "--to", there
        first = [
            subprocess.run(
                killed(KILLS[point], *words),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            for point in ("with progress in an open transaction", "after the commit of a group")
        ]
        expected = records(here, TOPIC)
        rest = {group: rest_of(here, TOPIC, group) for group in GROUPS}

    done = run_here("mirror", "--data", str(tmp_path / "data"), "--to", there, "-o", "json")

    assert [one.returncode for one in first] == [-signal.SIGKILL] * 2, first
    assert done.returncode == 0, done.stderr
    assert [row["records"] for row in json.loads(done.stdout)] == [150, 150]
    # Apache Kafka commits the records of a transaction after its answer.
    wait_for_equal(lambda: records(there, TOPIC), expected)
    for group in GROUPS:
        wait_for_equal(lambda group=group: rest_of(there, TOPIC, group), rest[group])  # type: ignore[misc]
    described = run_here("topics", "describe", TOPIC, "-o", "json", "-b", there)
    configs = json.loads(described.stdout)[0]["configs"]
    assert {name: configs.get(name) for name in SETTINGS} == SETTINGS
    assert "retention.bytes" not in configs


def test_an_open_transaction_of_apache_kafka_is_reported_and_copied_when_it_has_ended(
    kafka_peer: KafkaPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, here = "with-open-transaction", kafka_peer.bootstrap_servers
    fill(here, topic)
    producer = Producer({"bootstrap.servers": here, "transactional.id": "open", "log_level": 0})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0, timestamp=5)
    assert producer.flush(TIMEOUT_S) == 0

    with EmbeddedCluster(settings=OF_BROKER) as target:
        there = target.bootstrap_servers
        words = "mirror", "-b", here, "--to", there, "--topics", topic, "--groups", "|".join(GROUPS)
        with monkeypatch.context() as patched:
            patched.setattr(open_transactions, "WAIT_S", 0)
            refused = run_here(*words)
        producer.commit_transaction(TIMEOUT_S)
        first = run_here(*words)
        Client(there).delete_topics(topic)
        Client(there).create_topic(topic, 2)
        again = run_here(*words)

        assert refused.returncode == 1
        assert "1 offset in 1 partition of the source not copied" in refused.stderr
        assert first.returncode == 0, first.stderr
        assert again.returncode == 0, again.stderr
        assert "copied 301 records" in again.stderr
        assert records(there, topic) == records(here, topic)
        for group in GROUPS:
            assert rest_of(there, topic, group) == rest_of(here, topic, group), group
