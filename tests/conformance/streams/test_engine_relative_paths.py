"""A relative data directory as in the guide (`--data ./data`) keeps state across a restart."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

WAIT_S = 200
APP = """
import sys
import time
from pathlib import Path

from duolog import Topology, count
from duolog.runtime.application import Application

topology = Topology("visits")
visits = topology.stream("visits", key="page STRING", value="ms BIGINT")
visits.group_by_key().aggregate(visits=count()).to("totals")

if __name__ == "__main__":
    with Application(
        topology, bootstrap_servers=sys.argv[1], data_dir=Path("data"), mode="micro-batch"
    ) as application:
        application.start().wait()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        yield cluster


@pytest.mark.deep
def test_a_second_start_on_a_relative_data_directory_finds_its_state(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Regression: the checkpoint was in the JVM's scratch directory, deleted at a clean stop."""
    (tmp_path / "app.py").write_text(APP)
    client = Client(cluster.bootstrap_servers)
    client.create_topic("visits", partitions=2)

    client.produce("visits", "home", '{"ms": 1}')
    run_until(client, {"home": 1}, ["app.py", cluster.bootstrap_servers], tmp_path)
    client.produce("visits", "home", '{"ms": 2}')
    command = ["-m", "duolog", "run", "app.py", "--data", "./data", "--mode", "micro-batch"]
    command += ["--bootstrap-servers", cluster.bootstrap_servers]
    run_until(client, {"home": 2}, command, tmp_path)

    assert len(client.read("totals")) == 2


def run_until(client: Client, wanted: dict[str, int], words: list[str], directory: Path) -> None:
    with subprocess.Popen(
        [sys.executable, *words], cwd=directory, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + WAIT_S
        before = last_commit(directory)
        try:
            # A query stopped between its results and their commit writes the results again.
            while totals(client) != wanted or last_commit(directory) == before:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < deadline, f"counted {totals(client)}, {before=}"
                time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WAIT_S)


def last_commit(directory: Path) -> int:
    commits = directory.glob("data/checkpoints/visits/spark/commits/[0-9]*")
    return max((int(commit.name) for commit in commits), default=-1)


def totals(client: Client) -> dict[str, int]:
    try:
        records = client.read("totals")
    except KeyError:  # created by the application
        return {}
    return {str(r.key_text): json.loads(r.value_text or "{}")["visits"] for r in records}
