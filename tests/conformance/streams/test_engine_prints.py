"""Printed records and reasons of skipped ones reach the user, with real commands and a JVM."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

WAIT_S = 200
APP = """
from duolog import Topology, col

topology = Topology("shown")
orders = topology.stream("orders", key="id STRING", value="lines ARRAY<STRING>, at TIMESTAMP")
orders.explode("lines").map_values("lines").print("lines", limit=5)
counted = orders.peek().group_by_key().count("n")
counted.print("counts")
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        yield cluster


def test_topology_that_only_prints_runs_and_prints(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """In `auto`, micro-batches print the backlog and real time prints later records."""
    (tmp_path / "app.py").write_text(APP)
    client = Client(cluster.bootstrap_servers)
    client.create_topic("orders", partitions=2)
    client.produce("orders", "a", '{"lines": ["é", null, "y"], "at": "2013-01-01T00:00:00Z"}')
    client.produce("orders", "b", "{")
    command = [sys.executable, "-m", "duolog", "run", "app.py", "--data", "data"]
    command += ["-b", cluster.bootstrap_servers]
    out, err = tmp_path / "out", tmp_path / "err"

    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=stdout, stderr=stderr)
        try:
            ensure_soon(lambda: "real-time, running" in err.read_text(), process, err)
            client.produce("orders", "a", '{"lines": ["1", "2", "3", "4"]}')
            ensure_soon(lambda: '"a" {"n":2}' in out.read_text(), process, err)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(WAIT_S)

    reported = [line.split(" ", 2) for line in out.read_text().splitlines()]
    of = {label: [rest for one, _, rest in reported if one == label] for label, _, _ in reported}
    values = ('"é"', "null", '"y"', '"1"', '"2"')
    assert of["[lines]"] == [f'"a" {{"lines":{value}}}' for value in values]
    assert of["[orders]"] == [
        '"a" {"lines":["é",null,"y"],"at":"2013-01-01T00:00:00.000Z"}',
        '"a" {"lines":["1","2","3","4"],"at":null}',
    ]
    assert of["[counts]"] == ['"a" {"n":1}', '"a" {"n":2}']
    assert (
        '  skipped: cannot read 1 record of topic "orders": its value is not JSON of (lines '
        "ARRAY<STRING>, at TIMESTAMP): no JSON at line 1, column 2; the first: partition "
    ) in err.read_text()
    assert ", key b, value {\n" in err.read_text()


def ensure_soon(holds: Callable[[], bool], process: subprocess.Popen[bytes], err: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert process.poll() is None, err.read_text()
        assert time.monotonic() < deadline, err.read_text()
        time.sleep(0.1)
