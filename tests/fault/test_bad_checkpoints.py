"""Copies of a real checkpoint that are not whole: each is refused by name, with what to do, and writes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duolog.testing import Client, EmbeddedCluster

PROGRAM = """
import json, shutil, sys, time
from pathlib import Path

from duolog import Topology
from duolog.core.errors import DuologError
from duolog.runtime.application import Application
from duolog.testing import Client

servers, directory = sys.argv[1], Path(sys.argv[2])
client = Client(servers)
SPARK = "checkpoints/counted/spark"
TASK = SPARK + "/state/0/0"

def application(data_dir):
    topology = Topology("counted")
    topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
    settings = {"task.timeout.ms": "0"}
    return Application(
        topology, bootstrap_servers=servers, data_dir=data_dir, mode="micro-batch", settings=settings
    )

def newest(directory, suffix=""):
    return max(directory.glob("[0-9]*" + suffix), key=lambda path: int(path.name.split("_")[0]))

def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))

def drop_first_state(copy):
    for path in (copy / TASK).glob("1_*"):
        path.unlink()

SPOILED = {
    "spark": lambda copy: shutil.rmtree(copy / SPARK),
    "commits": lambda copy: shutil.rmtree(copy / SPARK / "commits"),
    "offsets": lambda copy: shutil.rmtree(copy / SPARK / "offsets"),
    "commit": lambda copy: newest(copy / SPARK / "commits").unlink(),
    "metadata": lambda copy: (copy / SPARK / "metadata").unlink(),
    "state": lambda copy: shutil.rmtree(copy / SPARK / "state"),
    "last state": lambda copy: newest(copy / TASK, ".changelog").unlink(),
    "application.json": lambda copy: cut(copy / "checkpoints/counted/application.json"),
    "first state": drop_first_state,
    "cut state": lambda copy: cut(newest(copy / TASK, ".changelog")),
    "flipped state": lambda copy: flip(newest(copy / TASK, ".changelog")),
    "operator": lambda copy: shutil.rmtree(copy / SPARK / "state/0/_metadata"),
    "schemas": lambda copy: shutil.rmtree(copy / SPARK / "state/0/_stateSchema"),
    "operator's entry": lambda copy: cut(copy / SPARK / "state/0/_metadata/v2/0"),
    "nothing": lambda copy: None,
}

def start_error(copy):
    with application(copy) as starting:
        try:
            query = starting.start()
            query.wait_until_caught_up(60)
        except DuologError as error:
            return [type(error).__name__, error.message, error.hint]
    return ["ran", "", ""]

data = directory / "data"
with application(data) as first:
    query = first.start()
    for _ in range(3):
        for key in "abcdefgh":
            client.produce("in", key, '{"n": 1}')
        assert query.wait_until_caught_up(60)
    first.stop()
    written = len(client.read("out"))
    # New records, which a query that should not run would count.
    client.produce("in", "a", '{"n": 1}')
    found = {}
    for name, spoil in SPOILED.items():
        shutil.copytree(data, directory / name)
        spoil(directory / name)
        found[name] = [*start_error(directory / name), len(client.read("out")) - written]
    for name, place in (("again", "nothing"), ("moved", "elsewhere")):
        (data if name == "moved" else directory / place).rename(directory / f"{place} ü%20")
        client.produce("in", "a", '{"n": 1}')
        before = len(client.read("out"))
        found[name] = [*start_error(directory / f"{place} ü%20"), len(client.read("out")) - before]
print(json.dumps(found))
"""
REMOVE = "` to compute everything again from the topics."


def run(servers: str, directory: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, servers, str(directory)],
        env=os.environ | {"TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(900)
def test_a_checkpoint_that_is_not_whole_is_refused_by_name(tmp_path: Path) -> None:
    """Spark ran on without commits, offsets or metadata: from the first record again, or on older state."""
    copies = tmp_path / "copies"
    copies.mkdir()
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        Client(cluster.bootstrap_servers).create_topic("in", partitions=2)
        found = run(cluster.bootstrap_servers, copies)

    assert found.pop("nothing") == ["ran", "", "", 1]
    assert found.pop("again") == ["ran", "", "", 1], "a copy that was moved"
    assert found.pop("moved") == ["ran", "", "", 1], "it looked for schemas where it had been"
    before_spark = {
        name: found.pop(name)
        for name in (
            "spark",
            "commits",
            "offsets",
            "commit",
            "metadata",
            "state",
            "last state",
            "application.json",
            "schemas",
            "operator's entry",
        )
    }
    for name, (error, message, hint, written) in before_spark.items():
        assert (error, written) == ("CheckpointDamaged", 0), name
        assert str(copies / name) in message
        assert message.endswith(("is missing", "is damaged"))
        assert hint
    for name, (error, message, hint, written) in found.items():
        assert (error, written) == ("QueryFailed", 0), name
        assert message.startswith('application "counted" failed: ')
        assert hint.startswith("A file of the checkpoint is damaged."), message
        assert REMOVE in hint
