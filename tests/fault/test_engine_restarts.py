"""A query whose JVM or broker goes away under it, and comes back: nothing is started by hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, signal, sys, time
from pathlib import Path

from duolog import Topology
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

directory, what, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
topology = Topology("restarts")
topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")

def wait_for(condition, timeout_s=400):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, query.progress()
        assert query.exception() is None, query.exception()
        time.sleep(0.1)

with EmbeddedCluster(directory / "broker") as cluster:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("in", partitions=2)
    with Application(
        topology,
        bootstrap_servers=cluster.bootstrap_servers,
        data_dir=Path("data"),
        mode=mode,
    ) as application:
        client.produce("in", "a", '{"n": 1}')
        query = application.start()
        assert query.wait_until_caught_up(120)
        if what == "jvm":
            os.kill(query.launcher.session.java_pid, signal.SIGKILL)
            client.produce("in", "a", '{"n": 1}')
            wait_for(lambda: query.progress().trouble)
        else:
            cluster.kill()
            wait_for(lambda: query.progress().trouble)
            cluster.restart()
            client = Client(cluster.bootstrap_servers)
            client.produce("in", "a", '{"n": 1}')
        trouble = query.progress().trouble
        wait_for(lambda: not query.progress().trouble)
        client.produce("in", "b", '{"n": 1}')
        assert query.wait_until_caught_up(120)
    last = {record.key_text: json.loads(record.value_text)["n"] for record in client.read("out")}
    print(json.dumps({"trouble": trouble, "last": last, "state": query.state}))
"""


def run(directory: Path, what: str, mode: str, timeout_s: int) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(directory), what, mode],
        cwd=directory,
        env=os.environ | {"TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.timeout(280)
def test_a_query_whose_jvm_was_killed_goes_on_with_its_state_on_another(tmp_path: Path) -> None:
    told = run(tmp_path, "jvm", "auto", 250)

    assert str(told["trouble"]).startswith('application "restarts" failed: ')
    assert (told["last"], told["state"]) == ({"a": 2, "b": 1}, "stopped")


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["auto", "micro-batch", "real-time"])
def test_a_query_whose_broker_was_away_for_a_minute_goes_on(tmp_path: Path, mode: str) -> None:
    told = run(tmp_path, "broker", mode, 550)

    assert (told["last"], told["state"]) == ({"a": 2, "b": 1}, "stopped")
