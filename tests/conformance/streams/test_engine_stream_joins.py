"""Stream-stream joins on Spark, in both modes: all pairs, and unmatched records in time."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.query import RunningQuery
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
KEYS: Final = tuple(f"u{number}" for number in range(30))
ALONE: Final = KEYS[::3]
MINUTE: Final = 60_000
Found = Counter[tuple[str, int | None, int | None]]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_stream_joins_emit_each_pair_and_each_unmatched_record(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    # Their numbers of partitions differ: a record goes to the task of its key.
    for topic, partitions in (("clicks", 2), ("views", 3), ("both", 2)):
        client.create_topic(topic, partitions=partitions)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    expected: Found = Counter()

    once = modes[0] == "micro-batch"
    for start, mode in enumerate(modes):
        query = engine.start(topology().build(), "ads", mode)
        for batch in range(2):
            minute = 100 + 10 * (2 * start + batch)
            expected += click_and_view(client, minute)
            wait_for(client, expected, once=once)
            # Time advances in all tasks and closes the windows. In real time each topic is read at
            # its own pace.
            for number in range(40):
                close = json.dumps({"c": -1})
                client.produce("clicks", f"t{number}", close, timestamp_ms=(minute + 5) * MINUTE)
            expected += Counter({(key, minute, None): 1 for key in ALONE})
            wait_for(client, expected, once=once)
        if start == 0:
            # Its window has closed in each task, so no record would join it.
            client.produce("clicks", "t0", json.dumps({"c": -1}), timestamp_ms=MINUTE)
            assert late_records(query) == [1]
        assert query.wait_until_caught_up(WAIT_S), "what was written is committed"
        query.stop()


def click_and_view(client: Client, minute: int) -> Found:
    """Write a click of each key, and two views of keys that match; return the pairs."""
    for key in KEYS:
        row = json.dumps({"c": minute})
        client.produce("clicks", key, row, timestamp_ms=minute * MINUTE)
    pairs: Found = Counter()
    for key in KEYS:
        for view in () if key in ALONE else (minute, minute + 1):
            row = json.dumps({"v": view})
            client.produce("views", key, row, timestamp_ms=view * MINUTE)
            pairs[key, minute, view] += 1
    return pairs


def late_records(query: RunningQuery) -> list[int]:
    """Return the number of late records by operator, once there are some."""
    deadline = time.monotonic() + WAIT_S
    while not (late := query.progress().late) and time.monotonic() < deadline:
        time.sleep(0.2)
    return list(late.values())


def wait_for(client: Client, expected: Found, *, once: bool) -> None:
    """Wait for these results; a real-time epoch aborted by a stop is written again."""
    deadline = time.monotonic() + WAIT_S
    while not is_found(now := found(client), expected, once=once) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert is_found(now, expected, once=once), (now, expected)


def is_found(now: Found, expected: Found, *, once: bool) -> bool:
    return now == expected if once else set(now) == set(expected)


def topology() -> Topology:
    made = Topology("ads")
    clicks = made.stream("clicks", key="user STRING", value="c BIGINT")
    views = made.stream("views", key="user STRING", value="v BIGINT")
    clicks.left_join(views, within="1 minute", grace="1 minute").to("both")
    return made


def found(client: Client) -> Found:
    """Return the output without records that only advance time."""
    rows = [(str(one.key_text), json.loads(one.value_text or "")) for one in client.read("both")]
    return Counter((key, row["c"], row["v"]) for key, row in rows if row["c"] >= 0)
