"""More and larger records than fit the memory of the JVM, with the settings of a user but for that memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duolog.core.units import MIB

PROGRAM = """
import json, os, sys
from pathlib import Path

from confluent_kafka import Producer

from duolog import Topology, col
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

directory, records, *settings = Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
text = os.urandom(7000).hex()
topology = Topology("large")
names = topology.table("names", key="g STRING", value="name STRING")
for topic in ("before", "meanwhile"):
    texts = topology.stream(topic, key="k STRING", value="g STRING, text STRING")
    # The texts go through the shuffle, and are in memory where they are merged with the names.
    joined = texts.join(names, on="g")
    joined.filter(col("text") != "").map_values("name").to(f"out-{topic}")

def produce(topic):
    # Small on the disk of the broker, and large in the JVM.
    config = {"bootstrap.servers": cluster.bootstrap_servers, "compression.type": "lz4"}
    producer = Producer(config | {"linger.ms": 20})
    for number in range(records):
        producer.produce(topic, json.dumps({"g": f"g{number % 20}", "text": text}), f"k{number}")
        if number % 5000 == 0:
            producer.flush()
    producer.flush()

with EmbeddedCluster(directory / "broker") as cluster:
    client = Client(cluster.bootstrap_servers)
    for topic in ("names", "before", "meanwhile"):
        client.create_topic(topic, partitions=2)
    for number in range(20):
        client.produce("names", f"g{number}", '{"name":"x"}')
    produce("before")
    with Application(
        topology,
        bootstrap_servers=cluster.bootstrap_servers,
        data_dir=directory / "data",
        mode="micro-batch",
        settings=dict(setting.split("=") for setting in settings),
    ) as application:
        query = application.start()
        jvm = query.launcher.session
        assert query.wait_until_caught_up(180), query.progress()
        produce("meanwhile")
        assert query.wait_until_caught_up(180), query.progress()
        same_jvm = query.launcher.session is jvm and not jvm.has_ended
    written = [len(client.read(f"out-{topic}")) for topic in ("before", "meanwhile")]
print(json.dumps({"same_jvm": same_jvm, "written": written}))
"""
RECORDS = 40_000
MEMORY = 512 * MIB


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_micro_batches_fit_the_memory_of_the_jvm(tmp_path: Path) -> None:
    """200,000 records of 3.5 KB ended a JVM of 2 GiB; so do 40,000 of 14 KB in half a GiB.

    The backlog of an idle topic counts too: when the query started, its later size was unknown.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path, str(RECORDS), f"driver.memory.bytes={MEMORY}"],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    reported: dict[str, Any] = json.loads(done.stdout)

    assert reported["same_jvm"]
    # A query that restarts with better bounds may write some records again.
    assert all(count >= RECORDS for count in reported["written"]), reported
