"""Record metadata and row expiry on Spark, in both modes and over a restart."""

import json
import time
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, col, header, offset, row_time, topic
from duolog.engine import Engine, EngineConfig
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
Found = TypeVar("Found", bound=Sized)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@TWO_STARTS
def test_restart_keeps_record_metadata_and_expires_old_rows(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    client.create_topic("signals")
    for result in ("placed", "counted"):
        client.create_topic(result, partitions=4)
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))

    query = engine.start(topology().build(), "beside", modes[0])
    signal(client, "a", 1_000, 1)
    signal(client, "b", 2_000, 2)
    signal(client, "b", None, 3)
    wait_for(lambda: placed(client), 2)
    query.stop()
    query = engine.start(topology().build(), "beside", modes[1])
    signal(client, "b", 61_000, 3)
    signal(client, "a", 61_500, 0)
    found = wait_for(lambda: placed(client), 4)
    counts = wait_for(lambda: counted(client), 4)
    query.stop()

    assert found == {
        0: ("signals", "a", 1_001, 1, [("seen", b"yes")]),
        1: ("signals", "b", 2_001, 2, [("seen", b"yes")]),
        3: ("signals", "b", 61_001, 3, [("seen", b"yes")]),
        4: ("signals", "a", 61_501, 0, [("seen", b"yes")]),
    }
    # b was updated 59 s ago; a 60.5 s ago, which is too long.
    assert counts == {("a", 1_000, 1), ("b", 2_000, 1), ("b", 61_000, 2), ("a", 61_500, 1)}


def topology() -> Topology:
    found = Topology("beside")
    signals = found.stream(
        "signals",
        key="id STRING",
        value="at BIGINT, n INT",
        timestamp="at",
        invalid_timestamp="skip",
    )
    beside = signals.with_columns(topic(), offset(), who=header("who").cast(str))
    written = beside.without_headers("who").with_headers(seen="yes").with_time(row_time() + 1)
    written.to("placed", partitioner=col("n") % 4, name="result")
    counted = signals.group_by_key().materialized("seen", ttl="60 seconds").count()
    counted.named("seen-lately").to("counted")
    return found


def signal(client: Client, key: str, at: int | None, number: int) -> None:
    value = json.dumps({"at": at, "n": number})
    client.produce("signals", key, value, timestamp_ms=5, headers=[("who", key.encode())])


def placed(client: Client) -> dict[int, tuple[Any, ...]]:
    """Return the result of each signal and its partition, by offset."""
    found = {}
    for record in client.read("placed"):
        value = json.loads(str(record.value_text))
        written = record.timestamp_ms, record.partition, list(record.headers)
        found[value["offset"]] = (value["topic"], value["who"], *written)
    return found


def counted(client: Client) -> set[tuple[str | None, int, int]]:
    """Return key, timestamp and count of each result; a stop may write one twice."""
    return {
        (record.key_text, record.timestamp_ms, json.loads(str(record.value_text))["count"])
        for record in client.read("counted")
    }


def wait_for(find: Callable[[], Found], count: int) -> Found:
    deadline = time.monotonic() + WAIT_S
    while len(found := find()) < count and time.monotonic() < deadline:
        time.sleep(0.2)
    return found
