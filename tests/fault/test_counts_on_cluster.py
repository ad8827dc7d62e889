"""Counts of executors on a cluster are available when a micro-batch is done, or a moment later."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]

ROUNDS = 6
MOMENT_S = 0.2  # A part of the one-second interval at which executors report anyway.
PROGRAM = f"""
import json
import time
from pathlib import Path

from duolog import Application, Topology
from duolog.testing import Client, EmbeddedCluster, SparkCluster

with EmbeddedCluster(Path("broker")) as broker, SparkCluster(Path("spark"), cores=4) as spark:
    client = Client(broker.bootstrap_servers)
    client.create_topic("numbers", partitions=2)
    topology = Topology("counted")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    numbers.group_by_key().count("n").to("out")
    application = Application(
        topology,
        bootstrap_servers=broker.bootstrap_servers,
        data_dir=Path("data"),
        mode="micro-batch",
        settings={{"master": spark.master, "spark.executor.memory": "600m"}},
    )
    found = []
    with application:
        query = application.start()
        for n in range({ROUNDS}):
            client.produce("numbers", f"k{{n}}", "no JSON")
            client.produce("numbers", f"k{{n}}", json.dumps({{"n": n}}))
            assert query.wait_until_caught_up(240)
            # The driver has a thread for counts, and another one for ends of tasks: neither waits for the other.
            until = time.monotonic() + {MOMENT_S}
            while True:
                counts = [sum(one.count for one in query.skipped()), query.counters().records_out]
                if counts == [n + 1, n + 1] or time.monotonic() > until:
                    break
                time.sleep(0.01)
            found.append(counts)
    print(json.dumps(found))
"""


def test_skipped_records_are_reported_once_all_are_read(tmp_path: Path) -> None:
    """Executors used to report once a second: right after a micro-batch, the skipped records were still missing."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=380,
    )

    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [[n, n] for n in range(1, ROUNDS + 1)]
