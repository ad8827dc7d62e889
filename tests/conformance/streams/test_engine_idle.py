"""Idle windows close once on Spark, in both modes and over a restart, without idle ticks."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import Mode
from duolog.testing import Client, EmbeddedCluster
from waiting import settled

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
USERS: Final = [f"user-{number}" for number in range(12)]
BEGIN_MS: Final = 1_700_000_000_000


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_each_window_is_emitted_once_without_a_newer_record(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", "counts"):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path, epoch_ms=1000))
    wanted = {}

    for start, mode in enumerate(modes):
        query = engine.start(topology("1 second").build(), "idle", mode)
        at = BEGIN_MS + start * 10_000
        for user in USERS:
            client.produce("visits", user, json.dumps({"n": 1}), timestamp_ms=at)
            wanted[user, at] = 1
        wait_until(lambda: emitted_counts(client).keys() >= wanted.keys())
        # It has closed: further records are late.
        client.produce("visits", USERS[0], json.dumps({"n": 1}), timestamp_ms=at + 1)
        wait_until(lambda: sum(query.progress().late.values()) == 1)  # noqa: B023 - called at once
        # Records that real time did not commit are read again; then the late record comes before
        # the window closes.
        wait_until_committed(query, mode)
        query.stop()

    counted = [json.loads(one.value_text or "") for one in client.read("counts")]
    assert emitted_counts(client) == wanted
    assert len(counted) == len(wanted), "a result leaves once"


@pytest.mark.deep
def test_downtime_does_not_make_real_time_records_late(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Regression: downtime counted as idle, so the first tick closed windows too early."""
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", "counts"):
        client.create_topic(topic, partitions=1)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path, epoch_ms=1000))
    query = engine.start(topology("8 seconds").build(), "idle", "real-time")
    wait_until(lambda: query.mode == "real-time")
    # A window that is open while the first query runs, and has ended when the second one starts.
    at = (int(time.time()) // 10 + 2) * 10_000
    client.produce("visits", "ann", json.dumps({"n": 1}), timestamp_ms=at)
    wait_until(lambda: query.counters().records_in == 1)
    # A tick comes within an epoch or two, a quarter of the timeout after the record.
    wait_for_epochs(query, 3)
    wait_until_committed(query, "real-time")
    query.stop()
    assert emitted_counts(client) == {}
    wait_until(lambda: time.time() * 1000 > at + 10_000)

    query = engine.start(topology("8 seconds").build(), "idle", "real-time")
    wait_until(lambda: query.mode == "real-time")
    wait_for_epochs(query, 3)  # So did a tick of this one.
    client.produce("visits", "ann", json.dumps({"n": 1}), timestamp_ms=at + 1)
    wait_until(lambda: bool(emitted_counts(client)))
    query.stop()

    assert emitted_counts(client) == {("ann", at): 2}


def test_no_micro_batch_runs_without_open_windows(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", "counts"):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    query = engine.start(topology("400 ms").build(), "idle", "micro-batch")
    client.produce("visits", "ann", json.dumps({"n": 1}), timestamp_ms=BEGIN_MS)
    wait_until(lambda: bool(emitted_counts(client)))
    wait_until(lambda: query.wait_until_caught_up(WAIT_S))

    # Five timeouts.
    settled(lambda: query.progress().epoch_id, 2, "nothing is open, and no micro-batch runs")
    query.stop()


def test_a_checkpoint_without_a_timeout_does_not_get_one(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", "counts"):
        client.create_topic(topic, partitions=1)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    engine.start(topology(None).build(), "idle", "micro-batch").stop()

    with pytest.raises(CheckpointMismatch) as refused:
        engine.start(topology("1 second").build(), "idle", "micro-batch")

    assert "also close after an idle timeout" in refused.value.detail


def topology(idle: str | None) -> Topology:
    found = Topology("idle")
    visits = found.stream("visits", key="user STRING", value="n BIGINT").group_by_key()
    windows = tumbling("10 seconds", grace="0 s")
    counted = visits.windowed_by(windows, emit="on close", idle=idle).count("n")
    counted.to_stream().select_key("user", "window_start").to("counts")
    return found


def emitted_counts(client: Client) -> dict[tuple[str, int], int]:
    found = {}
    for record in client.read("counts"):
        key, row = json.loads(record.key_text or ""), json.loads(record.value_text or "")
        found[key["user"], key["window_start"]] = row["n"]
    return found


def wait_until_committed(query: RunningQuery, mode: Mode) -> None:
    if mode == "micro-batch":
        assert query.wait_until_caught_up(WAIT_S)
        return
    # The last reported epoch may be the one before the last that has ended.
    last = query.progress().epoch_id
    wait_until(lambda: query.progress().epoch_id > last + 1)


def wait_for_epochs(query: RunningQuery, count: int) -> None:
    last = query.progress().epoch_id
    wait_until(lambda: query.progress().epoch_id >= last + count)


def wait_until(holds: Callable[[], bool]) -> None:
    waiting.wait_until(holds, "it does not happen", WAIT_S)
