"""Foreign connections to the JVM's ports: browsers, Kafka clients, port scans, other hosts."""

import json
import socket
import struct
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.query import RunningQuery
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

WAIT_S = 60
LISTENING = "0A"
AT_ONCE = struct.pack("ii", 1, 0)
KAFKA = struct.pack(">ihhih", 10, 18, 0, 1, -1)
# Spark's one-way messages: length of the frame, kind 9, length of the body; then one of the
# shuffle.
NO_READER = struct.pack(">qbi", 33, 9, 20) + struct.pack(">iqii", 1, 0, 99, 0)
UNKNOWN = struct.pack(">qbi", 33, 9, 20) + bytes([255] * 20)
SAID = [b"GET / HTTP/1.0\r\n\r\n", KAFKA, NO_READER, UNKNOWN]


def ports_of(pid: int) -> set[int]:
    """Return the addresses on which a process listens."""
    sockets = {
        str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()
    }
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENING and f"socket:[{words[9]}]" in sockets:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def visit(port: int, said: bytes) -> None:
    """Send bytes and close the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as stranger:
        stranger.sendall(said)


def reset_connection(port: int) -> None:
    """Reset a connection, as a port scan does."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as stranger:
        stranger.sendall(b"x")
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


def wait_for_commits(query: RunningQuery, commits: Path, number: int) -> None:
    """Wait for the end of epochs, when Spark checks for errors."""
    wanted = len(list(commits.glob("[0-9]*"))) + number
    deadline = time.monotonic() + WAIT_S
    while len(list(commits.glob("[0-9]*"))) < wanted:
        assert query.exception() is None, query.exception()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_real_time_query_survives_foreign_connections_to_its_ports(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Regression: it failed with "Too large frame" or "Connection reset by peer"."""
    topology = Topology("guarded")
    topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - the only reference to the process
    assert gateway is not None
    pid = int(gateway.jvm.ProcessHandle.current().pid())
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("in", partitions=2)
        client.produce("in", "a", '{"n": 1}')
        quiet = ports_of(pid)
        engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path, epoch_ms=2000))
        client.create_topic("out", partitions=2)
        query = engine.start(topology.build(), "guarded", "real-time")
        assert query.wait_until_caught_up(WAIT_S)
        commits = tmp_path / "guarded/spark/commits"
        wait_for_commits(query, commits, 1)
        while len(shuffle := ports_of(pid) - quiet) < 2:  # one for each task
            assert query.exception() is None, query.exception()
        for port in shuffle:
            for said in SAID:
                visit(port, said)
            reset_connection(port)
        wait_for_commits(query, commits, 1)
        client.produce("in", "a", '{"n": 1}')
        assert query.wait_until_caught_up(WAIT_S)
        wait_for_commits(query, commits, 1)
        state, trouble = query.state, query.progress().trouble
        query.stop()
        counted = [json.loads(record.value_text or "")["n"] for record in client.read("out")]

    assert (state, trouble, query.exception()) == ("running", "", None)
    assert counted[-1] == 2
