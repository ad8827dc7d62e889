"""Python functions on Spark: in micro-batches, in real time and after a restart."""

import json
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from duolog import Application, Topology, call, col
from duolog.engine.settings import Mode
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

PARTITIONS = 3


def half(n: int) -> float:
    if n == 5:
        raise ValueError("five is right out")
    return n / 2


async def looked_up(id: str, half: float) -> str:  # noqa: A002 - a column's name
    return f"{id} {half}"


def topology() -> Topology:
    topology = Topology("functions")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    halves = numbers.map_values(half=half).filter(lambda half: half >= 1)
    halves.map_async(looked_up).to("looked-up")
    counted = halves.group_by_key().count()
    counted.to_stream().map_values(call(lambda n: -n, col("count"), returns=int).alias("less")).to(
        "counted"
    )
    return topology


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_functions_run_in_each_mode_and_after_a_restart(
    spark: SparkSession, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("numbers", PARTITIONS)
        for start in range(2):
            numbers = range(start * 10, start * 10 + 10)
            with Application(
                topology(),
                bootstrap_servers=cluster.bootstrap_servers,
                data_dir=tmp_path,
                mode=mode,
                settings={
                    "processing.exception.handler": "log_and_continue",
                    "epoch.ms": "1000",
                },
            ) as application:
                query = application.start()
                for n in numbers:
                    client.produce("numbers", f"k{n % 4}", json.dumps({"n": n}))
                assert query.wait_until_caught_up(90)
                wanted = [n for n in range(start * 10 + 10) if n >= 2 and n != 5]
                deadline = time.monotonic() + 60
                while (read := _values(client, "looked-up")) != _expected(wanted):
                    assert time.monotonic() < deadline, read
                    time.sleep(0.1)
                while (least := _least(client)) != _least_expected(wanted):
                    assert time.monotonic() < deadline, least
                    time.sleep(0.1)


def _values(client: Client, topic: str) -> list[str]:
    found = (json.loads(record.value or b"")["value"] for record in client.read(topic))
    return sorted(set(found))


def _expected(numbers: list[int]) -> list[str]:
    return sorted(f"k{n % 4} {n / 2}" for n in numbers)


def _least(client: Client) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for record in client.read("counted"):
        less = json.loads(record.value or b"")["less"]
        found[record.key_text] = min(less, found.get(record.key_text, 0))
    return found


def _least_expected(numbers: list[int]) -> dict[str, int]:
    return {f"k{key}": -sum(n % 4 == key for n in numbers) for key in range(4)}
