"""Final results on Spark, in both modes: each window emits its count across a restart."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, session, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
USERS: Final = [f"user-{number}" for number in range(12)]
WINDOW_MS: Final = 10_000
BEGIN_MS: Final = 1_700_000_000_000
RESULTS: Final = ("closed", "visits-over", "held", "last-of-hour")
Counts = dict[tuple[str, int], int]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_each_window_is_emitted_on_close_across_a_restart(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", *RESULTS):
        client.create_topic(topic, partitions=2)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    wanted: Counts = {}

    for start, mode in enumerate(modes):
        query = engine.start(topology().build(), "closing", mode)
        for window in (2 * start, 2 * start + 1):
            visit(client, window, wanted)
        # Windows closed by later ones: all but the last, which stays open across the second
        # start.
        open_from = BEGIN_MS + (2 * start + 1) * WINDOW_MS
        closed = {at: n for at, n in wanted.items() if at[1] < open_from}
        wait_for(client, closed)
        assert query.wait_until_caught_up(WAIT_S), "what was written is committed"
        query.stop()

    if modes[0] == "micro-batch":
        keys = [record.key_text for record in client.read("closed")]
        assert len(keys) == len(set(keys)), "a result leaves once"


def topology() -> Topology:
    found = Topology("closing")
    grouped = found.stream("visits", key="user STRING", value="n BIGINT").group_by_key()
    windows = tumbling(f"{WINDOW_MS} ms", grace="0 s")
    closed = grouped.windowed_by(windows, emit="on close").count("n")
    over = grouped.windowed_by(session("1 s", grace="0 s"), emit="on close").count("n")
    held = grouped.windowed_by(windows).count("n").suppress(until="window close")
    late = grouped.windowed_by(windows).count("n").suppress(f"{WINDOW_MS} ms", max_records=1_000)
    for table, topic in zip((closed, over, held, late), RESULTS, strict=True):
        table.to_stream().select_key("user", "window_start").to(topic)
    return found


def visit(client: Client, window: int, wanted: Counts) -> None:
    """Write several visits of each user at the window's start, within one second."""
    at = BEGIN_MS + window * WINDOW_MS
    for number, user in enumerate(USERS):
        for step in range(1 + number % 3):
            client.produce("visits", user, json.dumps({"n": 1}), timestamp_ms=at + step)
        wanted[user, at] = 1 + number % 3


def wait_for(client: Client, wanted: Counts) -> None:
    waiting.wait_for_equal(
        lambda: {topic: counts(client, topic) for topic in RESULTS},
        dict.fromkeys(RESULTS, wanted),
        WAIT_S,
    )


def counts(client: Client, topic: str) -> Counts:
    found: Counts = {}
    for record in client.read(topic):
        key = json.loads(str(record.key_text))
        value = json.loads(str(record.value_text))
        found[key["user"], key["window_start"]] = value["n"]
    return found
