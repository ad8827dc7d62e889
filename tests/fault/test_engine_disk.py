"""A disk under a running query that is full, or read-only: told in words, and nothing is lost.

On a file system of its own, which a process may mount in a namespace of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import RequireProgram
from duolog.testing import Client, EmbeddedCluster

PROGRAM = """
import contextlib, json, subprocess, sys
from pathlib import Path

from duolog import Topology
from duolog.engine.errors import QueryFailed
from duolog.runtime.application import Application
from duolog.testing import Client

bootstrap_servers, data_dir = sys.argv[1], Path(sys.argv[2])
data_dir.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", data_dir], check=True)
filler = data_dir / "filler"
offsets = data_dir / "checkpoints" / "disk" / "spark" / "offsets"

def fill():
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))

def lock():
    # Not all of it: what is open for writing, a lock say, stands in the way.
    subprocess.run(["mount", "--bind", offsets, offsets], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", offsets], check=True)

def unlock():
    subprocess.run(["umount", offsets], check=True)

topology = Topology("disk")
topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
client = Client(bootstrap_servers)
application = Application(
    topology,
    bootstrap_servers=bootstrap_servers,
    data_dir=data_dir,
    mode=sys.argv[3],
    settings={"epoch.ms": "2000"},
)
told = []

def count_one_more(query):
    client.produce("in", "a", '{"n": 1}')
    assert query.wait_until_caught_up(60), query.progress()

with application:
    for spoil, mend in ((fill, filler.unlink), (lock, unlock)):
        query = application.start()
        count_one_more(query)
        spoil()
        client.produce("in", "a", '{"n": 1}')
        try:
            query.wait(60)
        except QueryFailed as error:
            told.append([error.message, error.hint])
        mend()
    query = application.start()
    count_one_more(query)
counts = [json.loads(record.value_text)["n"] for record in client.read("out")]
print(json.dumps({"told": told, "counts": counts}))
"""
AGAIN = ", then start again: nothing is lost, the query goes on behind what it has committed last."


def run(servers: str, directory: Path, mode: str) -> dict[str, Any]:
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", PROGRAM, servers, str(directory / "data"), mode],
        env=os.environ | {"TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_a_disk_that_cannot_be_written_is_told_in_words_and_costs_nothing(
    mode: str, require_program: RequireProgram, tmp_path: Path
) -> None:
    """`FSError: No space left on device`: neither which file, nor what is lost, nor what to do."""
    require_program("unshare", package="util-linux")
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system of his own")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        Client(cluster.bootstrap_servers).create_topic("in", partitions=2)

        told = run(cluster.bootstrap_servers, tmp_path, mode)

    (full, free), (read_only, mount) = told["told"]
    files = str(tmp_path / "data" / "checkpoints" / "disk")
    assert f'application "disk" failed: NotWrittenException: cannot write {files}' in full
    assert full.endswith("No space left on device")
    assert free == f"Free space there{AGAIN}"
    assert files in read_only
    assert "Read-only file system" in read_only
    assert mount == f"Mount the file system for writing{AGAIN}"
    assert told["counts"] == sorted(told["counts"])
    assert told["counts"][-1] == 5
