"""`distinct` on Spark: in micro-batches, in real time, and after a restart."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from duolog import Application, Topology
from duolog.engine.settings import Mode
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

NOW_MS = 1_795_690_000_000


def topology() -> Topology:
    topology = Topology("distinct")
    events = topology.stream("events", key="user STRING", value="id STRING")
    events.distinct(by="id", within="1 hour").to("once")
    return topology


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_duplicates_are_dropped_in_each_mode_and_after_a_restart(
    spark: SparkSession, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("events", 3)
        for start in range(2):
            for number in range(30):
                value = json.dumps({"id": f"e{number % 10 + start * 5}"})
                client.produce("events", f"u{number}", value, timestamp_ms=NOW_MS + number)
            with Application(
                topology(),
                bootstrap_servers=cluster.bootstrap_servers,
                data_dir=tmp_path,
                mode=mode,
                settings={"epoch.ms": "1000"},
            ) as application:
                assert application.start().wait_until_caught_up(120)
        found = [json.loads(record.value or b"")["id"] for record in client.read("once")]

    assert sorted(found) == sorted(f"e{number}" for number in range(15))
