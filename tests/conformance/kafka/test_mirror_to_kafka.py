"""`duolog mirror` from a Duolog broker to a real Apache Kafka."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from conformance.command import Duolog
from conformance.kafka.peer import KafkaPeer
from conformance.mirrored import GROUPS, KILLS, SETTINGS, fill, killed, records, rest_of
from duolog.testing import EmbeddedCluster

pytestmark = pytest.mark.timeout(300)

TOPIC = "moved"


def test_a_data_directory_moves_to_apache_kafka_after_kills(
    kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    there = kafka_peer.bootstrap_servers
    with EmbeddedCluster(tmp_path / "data", {"durability": "os"}) as source:
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

    done = Duolog("").run(
        *("mirror", "--data", str(tmp_path / "data"), "--to", there, "-o", "json"), timeout_s=120
    )

    assert [one.returncode for one in first] == [-signal.SIGKILL] * 2, first
    assert done.returncode == 0, done.stderr
    assert [row["records"] for row in json.loads(done.stdout)] == [150, 150]
    assert records(there, TOPIC) == expected
    for group in GROUPS:
        assert rest_of(there, TOPIC, group) == rest[group], group
    described = Duolog(there)("topics", "describe", TOPIC, "-o", "json")
    configs = json.loads(described.stdout)[0]["configs"]
    assert {name: configs.get(name) for name in SETTINGS} == SETTINGS
    assert "retention.bytes" not in configs
