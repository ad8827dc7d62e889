"""Output that Python functions print on executors appears where the application was started."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]

PROGRAM = """
import json, logging
from pathlib import Path

from duolog import Application, Topology, col, sum_
from duolog.testing import Client, EmbeddedCluster

def loud(n: int) -> int:
    print("called with", n)
    logging.info("logged %d", n)
    return n

with EmbeddedCluster(Path("broker")) as broker:
    client = Client(broker.bootstrap_servers)
    client.create_topic("numbers", partitions=2)
    for n in range(6):
        client.produce("numbers", f"k{n}", json.dumps({"n": n}))
    topology = Topology("loud")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT").map_values(n=loud)
    numbers.group_by_key().aggregate(n=sum_(col("n"))).to("out")
    application = Application(
        topology,
        bootstrap_servers=broker.bootstrap_servers,
        data_dir=Path("data"),
        mode="micro-batch",
        settings={"master": "local-cluster[2,2,1024]"},
    )
    with application:
        query = application.start()
        assert query.wait_until_caught_up(240)
"""


def test_lines_printed_on_executors_reach_the_driver(
    tmp_path: Path,
) -> None:
    """Executors forward their output each second, and the rest at their end."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=380,
    )

    assert done.returncode == 0, done.stderr[-4000:]
    assert sorted(done.stdout.splitlines()) == sorted(
        line for n in range(6) for line in (f"called with {n}", f"INFO root: logged {n}")
    )
