"""A SQL query that is backed up while it runs continues from the backup: nothing lost or repeated."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaException, Producer

import waiting
from conformance.command import Duolog
from duolog.testing import Client, EmbeddedCluster

VISITS: Final = "visits"
TOTALS: Final = "totals"
KEYS: Final = 5
LATER: Final = 100
START_S: Final = 240
SETTINGS: Final = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}
PROGRAM: Final = """
SET 'auto.offset.reset' = 'earliest';
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE STREAM IF NOT EXISTS visits (k VARCHAR KEY, n BIGINT)
  WITH (kafka_topic = 'visits', value_format = 'JSON', partitions = 2);
CREATE TABLE IF NOT EXISTS totals WITH (kafka_topic = 'totals', value_format = 'JSON') AS
  SELECT k, COUNT(*) AS c, SUM(n) AS s FROM visits GROUP BY k EMIT CHANGES;
"""


@contextmanager
def query(servers: str, data: Path, program: Path) -> Iterator[None]:
    """Run the program; kill it with its JVM at the end."""
    words = ["sql", "-f", str(program), "-b", servers, "--data", str(data)]
    with program.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "duolog", *words],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def visitors(servers: str) -> Iterator[None]:
    """Write visits without a pause until the end."""
    ended = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        number = 0
        while not ended.is_set():
            for _ in range(20):
                number += 1
                producer.produce(VISITS, json.dumps({"N": number}), f"key-{number % KEYS}")
            producer.flush(waiting.DEADLINE_S)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def rows(servers: str, topic: str) -> dict[str, list[dict[str, int]]]:
    """Return the committed rows of each key in order; none while they cannot be read."""
    found: dict[str, list[dict[str, int]]] = defaultdict(list)
    try:
        for record in Client(servers).read(topic):
            found[record.key_text or ""].append(json.loads(record.value or b"{}"))
    except KafkaException:  # A transaction is open, or the topic is being created.
        return {}
    return found


def is_complete(servers: str) -> bool:
    """Return whether the last total of each key is that of all its visits."""
    visits, totals = rows(servers, VISITS), rows(servers, TOTALS)
    return bool(visits) and all(
        totals.get(key) and totals[key][-1] == {"C": len(of), "S": sum(row["N"] for row in of)}
        for key, of in visits.items()
    )


@pytest.mark.timeout(900)
def test_a_query_continues_from_a_backup(tmp_path: Path) -> None:
    program, data, restored = tmp_path / "app.sql", tmp_path / "data", tmp_path / "restored"
    program.write_text(PROGRAM)
    with EmbeddedCluster(data / "broker", SETTINGS) as cluster:
        servers = cluster.bootstrap_servers
        Client(servers).create_topic(VISITS, partitions=2)
        with query(servers, data, program), visitors(servers):
            _wait_for_totals(servers, 200, program)
            before = _count(servers)
            _run("backup", str(tmp_path / "backups"), "--data", str(data))
            _wait_for_totals(servers, 2 * _count(servers), program)
        cluster.kill()

    _run("restore", str(tmp_path / "backups"), "--data", str(restored))
    _run("doctor", str(restored))
    with EmbeddedCluster(restored / "broker", SETTINGS) as cluster:
        servers = cluster.bootstrap_servers
        with query(servers, restored, program):
            for number in range(LATER):
                Client(servers).produce(VISITS, f"key-{number % KEYS}", json.dumps({"N": number}))
            waiting.wait_until(
                lambda: is_complete(servers), lambda: _said(program), deadline_s=START_S
            )
        totals = rows(servers, TOTALS)

    for of in totals.values():
        counts = [row["C"] for row in of]
        assert counts == sorted(set(counts)), "a result was written again"
    assert sum(of[-1]["C"] for of in totals.values()) >= before + LATER


def _wait_for_totals(servers: str, visits: int, program: Path) -> None:
    waiting.wait_until(
        lambda: _count(servers) >= visits, lambda: _said(program), deadline_s=START_S
    )


def _count(servers: str) -> int:
    """Return the number of visits that the totals have counted."""
    return sum(of[-1]["C"] for of in rows(servers, TOTALS).values())


def _said(program: Path) -> str:
    return program.with_suffix(".log").read_text()[-4000:]


def _run(*words: str) -> None:
    done = Duolog("").run(*words, timeout_s=300)
    assert done.returncode == 0, done.stderr + done.stdout
