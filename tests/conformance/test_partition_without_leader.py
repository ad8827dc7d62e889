"""Errors for a partition refused as damaged: in commands, and before a query starts."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog import Topology
from duolog.engine.errors import LeaderMissing
from duolog.engine.topics.topic_reader import TopicReader
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

NAMED = 'partition 1 of topic "orders" without a leader'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A broker that refuses one of three partitions of its topic."""
    with EmbeddedCluster(tmp_path_factory.mktemp("refused") / "data") as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("orders", partitions=3)
        for number in range(30):
            client.produce("orders", f"k{number}", '{"n": 1}')
        cluster.stop()
        (segment,) = cluster.data_dir.glob("topics/*/1/*.log")
        data = bytearray(segment.read_bytes())
        data[64] ^= 1
        segment.write_bytes(data)
        cluster.restart()
        yield cluster


def consume(cluster: EmbeddedCluster, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "duolog", "consume", "orders", "-e", "-o", "jsonl", *options]
    return subprocess.run(
        [*command, "-b", cluster.bootstrap_servers],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("options", [["--from-beginning"], ["-g", "g1", "--from-beginning"]])
def test_other_partitions_are_read_and_the_leaderless_one_is_named(
    cluster: EmbeddedCluster, options: list[str]
) -> None:
    """Regression: it failed with "_UNKNOWN_PARTITION: Local: Unknown partition"."""
    done = consume(cluster, *options)

    assert done.returncode == 0, done.stderr
    assert f"{NAMED}; reading the others" in done.stderr
    assert 0 < len(done.stdout.splitlines()) < 30


def test_reading_the_leaderless_partition_explains_where_to_look(cluster: EmbeddedCluster) -> None:
    done = consume(cluster, "--partition", "1")

    assert done.returncode == 5
    assert f"error: {NAMED}" in done.stderr
    assert "Read the broker's log" in done.stderr


def test_application_reports_a_leaderless_partition_before_its_jvm_starts(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Regression: it failed after 77 s with "finds no broker"."""
    topology = Topology("counted")
    topology.stream("orders", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
    servers = cluster.bootstrap_servers

    with (
        Application(topology, bootstrap_servers=servers, data_dir=tmp_path) as application,
        pytest.raises(LeaderMissing, match='source partition "orders-1" has no leader'),
    ):
        application.check()
    with pytest.raises(LeaderMissing, match="has no leader"):
        TopicReader(servers, {}).end_offsets({"orders": 3}, timeout_s=0.5)
