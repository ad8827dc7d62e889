"""A disk under a running query is full, read-only, or fails: errors are reported, and no record is lost.

The tests use a file system of their own, which a process may mount in its own namespace.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import RequireProgram
from duolog.testing import Client, EmbeddedCluster
from fault.points import Armed

PROGRAM = """
import contextlib, json, subprocess, sys, time
from functools import partial
from pathlib import Path

from duolog import Topology
from duolog.engine.errors import QueryFailed
from duolog.runtime.application import Application
from duolog.testing import Client

bootstrap_servers, data_dir, guarantee = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
data_dir.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", data_dir], check=True)
filler = data_dir / "filler"

def fill():
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))

def lock(offsets):
    # Not all of it: a file open for writing, such as a lock, prevents it.
    subprocess.run(["mount", "--bind", offsets, offsets], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", offsets], check=True)

def unlock(offsets):
    subprocess.run(["umount", offsets], check=True)

def application(mode):
    topology = Topology(mode)
    stream = topology.stream(f"in-{mode}", key="k STRING", value="n BIGINT")
    stream.group_by_key().count("n").to(f"out-{mode}")
    return Application(
        topology,
        bootstrap_servers=bootstrap_servers,
        data_dir=data_dir,
        mode=mode,
        settings={"epoch.ms": "2000", "processing.guarantee": guarantee},
    )

def run(application):
    mode = application.mode
    offsets = data_dir / "checkpoints" / mode / "spark" / "offsets"
    reported = []

    def count_one_more(query):
        client.produce(f"in-{mode}", "a", '{"n": 1}')
        assert query.wait_until_caught_up(60), query.progress()

    for spoil, repair in ((fill, filler.unlink), (partial(lock, offsets), partial(unlock, offsets))):
        query = application.start()
        count_one_more(query)
        spoil()
        client.produce(f"in-{mode}", "a", '{"n": 1}')
        try:
            query.wait(120)
        except QueryFailed as error:
            reported.append([error.message, error.hint])
        repair()
    query = application.start()
    count_one_more(query)
    until = time.monotonic() + 60
    while (counts := counted(mode))[-1] < 5 and time.monotonic() < until:
        time.sleep(0.1)  # In real time a result is written a moment after its record was read.
    application.stop()
    return {"reported": reported, "counts": counts}

def counted(mode):
    return [json.loads(record.value_text)["n"] for record in client.read(f"out-{mode}")]

client = Client(bootstrap_servers)
with contextlib.ExitStack() as opened:  # In one JVM.
    applications = [opened.enter_context(application(mode)) for mode in sys.argv[4:]]
    for one in applications:
        one.open()
    print(json.dumps({one.mode: run(one) for one in applications}))
"""
AGAIN = ", then start again: nothing is lost, the query continues after its last commit."


MODES = ("micro-batch", "real-time")


def run(servers: str, directory: Path, guarantee: str) -> dict[str, Any]:
    program = [sys.executable, "-c", PROGRAM, servers, str(directory / "data"), guarantee, *MODES]
    done = subprocess.run(
        ["unshare", "-rm", *program],
        env=os.environ | {"TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.deep)]
)
def test_a_disk_that_cannot_be_written_is_reported_in_words_and_costs_nothing(
    guarantee: str, require_program: RequireProgram, tmp_path: Path
) -> None:
    """The error used to be `FSError: No space left on device`, without the file, the loss or a remedy."""
    require_program("unshare", package="util-linux")
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets no user mount a file system")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        for mode in MODES:
            Client(cluster.bootstrap_servers).create_topic(f"in-{mode}", partitions=2)

        found = run(cluster.bootstrap_servers, tmp_path, guarantee)

    assert list(found) == list(MODES)
    for mode, reported in found.items():
        (full, free), (read_only, mount) = reported["reported"]
        files = str(tmp_path / "data" / "checkpoints" / mode)
        # Spark, the kernel and the engine write files there: the first one that is refused ends the
        # query.
        cannot = re.escape(f'application "{mode}" cannot write {files}')
        assert re.fullmatch(rf"{cannot}\S*: No space left on device", full), full
        assert free == f"Free space there{AGAIN}"
        assert re.fullmatch(rf"{cannot}\S*: Read-only file system", read_only), read_only
        assert mount == f"Mount the file system for writing{AGAIN}"
        assert reported["counts"] == sorted(reported["counts"])
        if guarantee == "exactly_once_v2":
            assert len(reported["counts"]) == len(set(reported["counts"])), reported["counts"]
        assert reported["counts"][-1] == 5


SYNCED = """
import json, sys

from duolog import Topology
from duolog.engine.errors import QueryFailed
from duolog.runtime.application import Application
from duolog.testing import Client

servers, data_dir = sys.argv[1:]
topology = Topology("synced")
topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
client, reported, written = Client(servers), [], 0
with Application(topology, bootstrap_servers=servers, data_dir=data_dir, mode="micro-batch") as application:
    for _ in range(2):
        try:
            query = application.start()
            for _ in range(10):
                client.produce("in", "a", '{"n": 1}')
                written += 1
                assert query.wait_until_caught_up(60), query.progress()
            application.stop()
        except QueryFailed as error:
            reported.append([error.message, error.hint])
print(json.dumps([reported, written]))
"""


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_a_sync_that_fails_ends_the_query_and_the_same_process_does_not_try_again(
    tmp_path: Path,
) -> None:
    """After a failed fsync, the page cache may treat unwritten data as clean: a retry would succeed without an error."""
    data = tmp_path / "data"
    fails = Armed("checkpoint.sync", 60, "fail", tmp_path / "reached")

    def run_program(servers: str) -> Any:
        command = [sys.executable, "-c", SYNCED, servers, str(data)]
        environment = os.environ | fails.environment
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=140, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)

    with EmbeddedCluster(tmp_path / "broker") as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("in", partitions=2)
        (first, second), before = run_program(cluster.bootstrap_servers)
        nothing, after = run_program(cluster.bootstrap_servers)
        counts = [json.loads(record.value or b"{}")["n"] for record in client.read("out")]

    assert fails.is_reached
    files = data / "checkpoints" / "synced"
    failed = f'application "synced" cannot sync {files}'
    assert first[0].startswith(failed)
    assert first[0].endswith("Input/output error")
    assert first == second, "the second start reports the same"
    assert first[1].endswith(f"Replace the disk, end the process{AGAIN}")
    assert nothing == [], "another process continues"
    assert counts[-1] == before + after
