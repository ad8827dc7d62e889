"""A query whose JVM or broker fails and recovers continues without a manual restart."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duolog.engine.settings import EPOCH_MS_DEFAULT

PROGRAM = """
import contextlib, json, os, signal, sys, time
from pathlib import Path

from duolog import Topology
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

directory, what, modes, epoch_ms = Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(), sys.argv[4]

def topology(mode):
    made = Topology(mode)
    made.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to(f"out-{mode}")
    return made

def wait_for(condition, timeout_s=400):
    deadline = time.monotonic() + timeout_s
    while not all(condition(query) for query in queries):
        assert time.monotonic() < deadline, [query.progress() for query in queries]
        assert not any(query.exception() for query in queries), [q.exception() for q in queries]
        time.sleep(0.1)

def count_one_more(key):
    client.produce("in", key, '{"n": 1}')
    assert all(query.wait_until_caught_up(120) for query in queries)

WANTED = {"a": 2, "b": 1}

def results():
    return [
        {record.key_text: json.loads(record.value_text)["n"] for record in client.read(f"out-{mode}")}
        for mode in modes
    ]

def seconds_to_stop(query):
    began = time.monotonic()
    query.stop()
    return time.monotonic() - began

with EmbeddedCluster(directory / "broker") as cluster, contextlib.ExitStack() as opened:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("in", partitions=2)
    client.produce("in", "a", '{"n": 1}')
    applications = [
        opened.enter_context(
            Application(
                topology(mode),
                bootstrap_servers=cluster.bootstrap_servers,
                data_dir=Path("data"),
                mode=mode,
                settings={"epoch.ms": epoch_ms},
            )
        )
        for mode in modes
    ]
    queries = [application.start() for application in applications]
    assert all(query.wait_until_caught_up(120) for query in queries)
    if what == "jvm":
        # A JVM that is killed loses what it counted after the last poll.
        wait_for(lambda query: query.progress().records_in)
        os.kill(queries[0].launcher.session.java_pid, signal.SIGKILL)
    else:
        cluster.kill()
    wait_for(lambda query: query.progress().trouble)
    troubles = [query.progress().trouble for query in queries]
    if what == "broker":
        cluster.restart()
    count_one_more("a")
    wait_for(lambda query: not query.progress().trouble)
    count_one_more("b")
    records = [query.progress().records_in for query in queries]
    deadline = time.monotonic() + 30  # In real time what was read is written a moment later.
    while (last := results()) != [WANTED] * len(modes) and time.monotonic() < deadline:
        time.sleep(0.1)
    for query in queries if what == "jvm" else ():
        query.stop()
    last = results()
    if what == "broker":
        cluster.kill()
    stopped = [seconds_to_stop(query) for query in queries]
    states = [query.state for query in queries]
    seen = {"troubles": troubles, "last": last, "records": records}
    print(json.dumps(seen | {"stopped": stopped, "states": states}))
"""
STOP_S_MAX = 15
LOADED_S = 5
"""What a busy machine may add."""


def run(directory: Path, what: str, modes: str, epoch_ms: int, timeout_s: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(directory), what, modes, str(epoch_ms)],
        cwd=directory,
        env=os.environ | {"TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


@pytest.mark.timeout(900)
def test_a_query_continues_with_its_state_after_its_jvm_was_killed(tmp_path: Path) -> None:
    reported = run(tmp_path, "jvm", "auto", 2000, 250)

    assert reported["troubles"][0].startswith('application "auto" failed: ')
    assert (reported["last"], reported["states"]) == ([{"a": 2, "b": 1}], ["stopped"])
    assert reported["records"][0] >= 3, "what the first JVM has read counts too"


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_queries_resume_when_their_broker_returns_and_stop_when_it_leaves_again(
    tmp_path: Path,
) -> None:
    """A stop took 48 s: Kafka's clients wait a minute for a broker that is not there."""
    reported = run(tmp_path, "broker", "micro-batch real-time", 2000, 250)

    assert (reported["last"], reported["states"]) == ([{"a": 2, "b": 1}] * 2, ["stopped"] * 2)
    assert max(reported["stopped"]) < STOP_S_MAX + LOADED_S


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ["auto", "micro-batch", "real-time"])
def test_a_query_continues_after_a_minute_without_broker(tmp_path: Path, mode: str) -> None:
    reported = run(tmp_path, "broker", mode, EPOCH_MS_DEFAULT, 550)

    assert (reported["last"], reported["states"]) == ([{"a": 2, "b": 1}], ["stopped"])
    assert max(reported["stopped"]) < STOP_S_MAX + LOADED_S
