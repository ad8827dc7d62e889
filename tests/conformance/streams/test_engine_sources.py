"""Start offsets and functions called with records, on Spark over four starts."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

import waiting
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, Written
from duolog import Topology, col, topic
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import QueryFailed
from duolog.serde.called_record import CalledRecord
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


class Called:
    """Records its calls; raises at one key while failing is enabled."""

    def __init__(self) -> None:
        self.records: list[CalledRecord] = []
        self.fails_at = ""
        self.threads: set[threading.Thread] = set()

    def __call__(self, record: CalledRecord) -> None:
        self.threads.add(threading.current_thread())
        if record.key == self.fails_at:
            raise ValueError(f"{record.key} is refused")
        self.records.append(record)

    def values_of(self, key: str) -> list[int]:
        return [record.value["n"] for record in self.records if record.key == key and record.value]


PARTITIONS: Final = {"a": 1, "b": 0}
"""The partitions that a function returns for keys; None for others."""


def topology(called: Called) -> Topology:
    found = Topology("orders")
    orders = found.stream("orders", key="id STRING", value="n BIGINT", start="latest")
    orders.for_each(called)
    orders.repartition(partitioner=col("n"), partitions=1).to("one")
    orders.to("placed", partitioner=PARTITIONS.get)
    sent = orders.repartition(partitioner=PARTITIONS.get)
    sent.group_by_key().count().to("by-id")
    found.stream("timed", key="id STRING", value="n BIGINT", start=2000).to("since")
    visits = found.stream(pattern="visits-.*", key="id STRING", value="n BIGINT")
    visits.group_by(topic().alias("at")).count().to("counted")
    return found


def test_application_starts_at_the_given_offsets_and_calls_each_record(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for name in (
        "orders",
        "timed",
        "visits-eu",
        "visits-us",
        "one",
        "since",
        "counted",
        "placed",
        "by-id",
    ):
        client.create_topic(name, partitions=2)
    produce(client, "visits-eu", "v", range(3))
    produce(client, "visits-us", "v", range(4))
    produce(client, "orders", "before", range(20))
    for at in (1000, 2000, 3000):
        client.produce("timed", "t", json.dumps({"n": at}), timestamp_ms=at)
    called, engine = Called(), Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))

    query = engine.start(topology(called).build(), "orders", "micro-batch")
    wait_for(lambda: numbers(client, "since") == [2000, 3000])
    assert query.wait_until_caught_up(WAIT_S)
    assert set(query.progress().lag_records.values()) == {0}
    assert counted(client) == {"visits-eu": 3, "visits-us": 4}
    produce(client, "orders", "a", range(50))
    wait_for(lambda: called.values_of("a") == list(range(50)))
    wait_for(lambda: len(numbers(client, "one")) == 50)
    assert query.wait_until_caught_up(WAIT_S), "what is not committed yet is called again"
    query.stop()

    called.fails_at = "b"
    query = engine.start(topology(called).build(), "orders", "micro-batch")
    produce(client, "orders", "b", [1])
    with pytest.raises(QueryFailed, match="at for-each-2: ValueError: b is refused") as failed:
        query.wait(WAIT_S)
    assert isinstance(failed.value.__cause__, ValueError)
    assert "for-each-2 is written at" in (failed.value.detail or "")

    called.fails_at = ""
    client.create_topic("visits-asia", partitions=3)
    produce(client, "visits-asia", "v", range(5))
    query = engine.start(topology(called).build(), "orders", "micro-batch")
    wait_for(lambda: called.values_of("b") == [1])
    assert query.wait_until_caught_up(WAIT_S)
    query.stop()

    query = engine.start(topology(called).build(), "orders", "real-time")
    produce(client, "orders", "c", range(50))
    wait_for(lambda: called.values_of("c") == list(range(50)))
    produce(client, "visits-asia", "w", [1])
    wait_for(lambda: counted(client) == {"visits-asia": 6, "visits-eu": 3, "visits-us": 4})
    wait_for(lambda: counted(client, "by-id").get("c") == 50)
    query.stop()

    placed = {(record.key_text, record.partition) for record in client.read("placed")}
    assert {at for at in placed if at[0] != "c"} == {("a", 1), ("b", 0)}
    assert {at[0] for at in placed} == {"a", "b", "c"}
    assert counted(client, "by-id") == {"a": 50, "b": 1, "c": 50}
    assert called.values_of("before") == []
    assert called.values_of("a") == list(range(50)), "what was committed is not called again"
    assert len(called.threads) == 4


def test_records_reach_the_chosen_tasks(spark: SparkSession) -> None:
    """A micro-batch runs tasks one by one, so the order of results identifies them."""
    chosen = Topology("chosen")
    orders = chosen.stream("orders", key="id STRING", value="n BIGINT, at BIGINT")
    orders.repartition(partitioner=col("n")).to("by-number")
    orders.repartition(partitioner=col("n"), partitions=2).to("of-two")
    orders.repartition(partitions=1).to("one")
    orders.repartition(partitions=2).group_by_key().count().to("counted")
    drawn = random.Random(7)  # noqa: S311 - the same records each time
    records = [
        Given(
            "orders", (f"k{drawn.randrange(9)}",), (drawn.choice([None, *range(7)]), at), at, at % 2
        )
        for at in range(200)
    ]
    batches = [records[:120], records[120:]]

    in_kernel = run_in_memory(spark, chosen.build(), batches, cache_bytes_max=0, tasks=3)

    assert in_kernel == run_in_reference(chosen.build(), batches, cache_bytes_max=0, tasks=3)
    first = in_kernel[0]
    assert [record.time for record in first["one"]] == list(range(120))
    tasks = [n % 3 for n in map(number_of, first["by-number"]) if n is not None]
    assert tasks == sorted(tasks)
    assert set(tasks) == {0, 1, 2}


def number_of(record: Written) -> int | None:
    assert record.value is not None
    n = record.value[0]
    assert n is None or isinstance(n, int)
    return n


def produce(client: Client, topic: str, key: str, numbers: range | list[int]) -> None:
    for n in numbers:
        client.produce(topic, key, json.dumps({"n": n}))


def counted(client: Client, topic: str = "counted") -> dict[str, int]:
    records = client.read(topic)
    return {str(one.key_text): json.loads(one.value_text or "")["count"] for one in records}


def numbers(client: Client, topic: str) -> list[int]:
    return sorted(json.loads(record.value_text or "")["n"] for record in client.read(topic))


def wait_for(holds: Callable[[], bool]) -> None:
    waiting.wait_until(holds, "it does not happen", WAIT_S)
