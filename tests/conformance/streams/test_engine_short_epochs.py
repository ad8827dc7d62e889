"""Epochs that end before Spark's tasks start, as on a busy machine."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog import Topology, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WAIT_S = 90
PARTITIONS = 2
KEYS = 20
SHORTER_THAN_A_START_MS = 5


def test_epochs_shorter_than_task_startup_still_read_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark ends an epoch a fixed time after planning; tasks that started later read nothing."""
    assert spark is not None
    topology = Topology("short")
    topology.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to("out")
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        for name in ("in", "out"):
            client.create_topic(name, partitions=PARTITIONS)
        config = EngineConfig(
            cluster.bootstrap_servers,
            tmp_path,
            exactly_once=True,
            epoch_ms=SHORTER_THAN_A_START_MS,
        )
        query = Engine(config).start(topology.build(), "short", "real-time")
        waiting.wait_until(lambda: query.mode == "real-time", "it does not go live", WAIT_S)
        for number in range(KEYS):
            client.produce("in", f"key-{number}", '{"n": 1}')

        waiting.wait_until(
            lambda: len(client.read("out")) == KEYS, lambda: str(query.progress()), WAIT_S
        )
        query.stop()
        counted = [json.loads(record.value_text or "")["n"] for record in client.read("out")]

    assert query.exception() is None
    assert counted == [1] * KEYS


def test_idle_windows_close_with_epochs_shorter_than_task_startup(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Regression: the tick source is also a task and never emitted a tick."""
    assert spark is not None
    topology = Topology("idle")
    visits = topology.stream("in", key="k STRING", value="n BIGINT").group_by_key()
    windows = tumbling("10 seconds", grace="0 s")
    counted = visits.windowed_by(windows, emit="on close", idle="200 ms").count("n")
    counted.to_stream().select_key("k", "window_start").to("out")
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        for name in ("in", "out"):
            client.create_topic(name, partitions=1)
        config = EngineConfig(cluster.bootstrap_servers, tmp_path, epoch_ms=SHORTER_THAN_A_START_MS)
        query = Engine(config).start(topology.build(), "idle", "real-time")
        waiting.wait_until(lambda: query.mode == "real-time", "it does not go live", WAIT_S)
        client.produce("in", "ann", '{"n": 1}', timestamp_ms=1_700_000_000_000)

        waiting.wait_until(
            lambda: len(client.read("out")) == 1, lambda: str(query.progress()), WAIT_S
        )
        query.stop()

    assert query.exception() is None
