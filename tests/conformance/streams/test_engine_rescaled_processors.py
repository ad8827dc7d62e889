"""Processors after a change of the task count: rows are co-located, punctuators run."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from conformance.streams.test_engine_restore import Bench
from duolog import Processor, Record, Topology, key_value_store, versioned_store, window_store
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import NotRepartitionable
from duolog.engine.repartition import repartition
from duolog.engine.settings import Mode
from duolog.plan.nodes import Plan
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

KEYS: Final = [f'key "{number}", ]' for number in range(9)]
_BEGIN_MS: Final = 1_600_000_000_000
_MINUTE_MS: Final = 60_000
_OF_CODE: Final = 'of [a "code", {'


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Remembering(Processor):
    """Counts by key, and by key and minute; lists its keys when stream time advances."""

    def init(self, context: Any) -> None:
        self.context = context
        self.counts = context.store("counts")
        self.minutes = context.store("minutes")
        self.versions = context.store("versions")
        context.schedule("10 seconds", "stream time", self.punctuate)

    def process(self, record: Record) -> None:
        key, at = record.key, record.timestamp_ms
        count = (self.counts.get(key) or 0) + 1
        self.counts.put(key, count)
        minute = at - at % _MINUTE_MS
        by_minute = (self.minutes.fetch((_OF_CODE, key), minute) or 0) + 1
        self.minutes.put((_OF_CODE, key), by_minute, minute)
        before = self.versions.get(key, at - 5_000)
        self.versions.put(key, count, at)
        row = {
            "n": count,
            "minute": by_minute,
            "before": before.value if before else None,
        }
        self.context.forward(record.with_value(row))

    def punctuate(self, now: int) -> None:
        for key, _ in self.counts.all():
            self.context.forward(Record(key, {"n": -1, "minute": 0, "before": None}, now))


class Wandering(Processor):
    """Stores a row under a key other than its record's."""

    def init(self, context: Any) -> None:
        self.counts = context.store("counts")

    def process(self, record: Record) -> None:
        self.counts.put("all", 1)


class Processing(Bench):
    tasks = 2

    def plan(self) -> Plan:
        made = Topology(self.name)
        visits = made.stream(self.of("s1"), key="k STRING", value="n BIGINT")
        stores = [
            key_value_store("counts", key="k STRING", value="n BIGINT"),
            window_store(
                "minutes",
                key="code STRING, k STRING",
                value="n BIGINT",
                size="1 minute",
                retention="10 minutes",
            ),
            versioned_store("versions", key="k STRING", value="n BIGINT", history="10 minutes"),
        ]
        value = "n BIGINT, minute BIGINT, before BIGINT"
        visits.process(Remembering, stores=stores, value=value).to(self.of("counted"))
        return made.build()

    def config(self) -> EngineConfig:
        return replace(super().config(), tasks=self.tasks)

    def move(self, tasks: int) -> None:
        self.tasks = tasks
        repartition(Engine(self.config()), self.plan(), self.name, tasks)

    def visit(self, seconds: Sequence[int]) -> None:
        """Write a record of each key for each second, so that all tasks see the same times."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for second in seconds:
            for key in KEYS:
                at = _BEGIN_MS + second * 1000
                producer.produce(self.of("s1"), json.dumps({"n": second}), key, timestamp=at)
        assert producer.flush(30) == 0

    def counted_records(self) -> list[Any]:
        records = self.client.read(self.of("counted"))
        return sorted((r.key or b"", r.timestamp_ms, r.value or b"") for r in records)


@pytest.mark.parametrize(
    ("mode", "ways"),
    [
        pytest.param("micro-batch", (3,), marks=pytest.mark.deep),
        pytest.param("real-time", (4, 1), marks=pytest.mark.deep),
    ],
)
def test_processors_continue_with_another_task_count(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode, ways: Sequence[int]
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    name = f"{mode}-{len(ways)}"
    undisturbed, moved = (Processing(cluster, tmp_path, f"{of}-{name}") for of in ("left", "moved"))
    for bench in (undisturbed, moved):
        bench.visit(range(0, 27, 3))
        bench.run(mode)

    for part, tasks in enumerate(ways, start=1):
        moved.move(tasks)
        for bench in (undisturbed, moved):
            bench.visit(range(27 * part, 27 * part + 27, 3))
            bench.run(mode)

    found = moved.counted_records()
    assert found == undisturbed.counted_records()
    assert len(found) > len(KEYS) * 9 * (1 + len(ways)), "and calls by time"


class Elsewhere(Processing):
    def plan(self) -> Plan:
        made = Topology(self.name)
        visits = made.stream(self.of("s1"), key="k STRING", value="n BIGINT")
        counts = key_value_store("counts", key="k STRING", value="n BIGINT")
        visits.process(Wandering, stores=[counts], value="n BIGINT")
        return made.build()


def test_store_not_keyed_by_record_key_is_refused_and_kept(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    bench = Elsewhere(cluster, tmp_path, "elsewhere")
    bench.visit([1])
    bench.run()
    before = (bench.checkpoint / "application.json").read_text()

    with pytest.raises(NotRepartitionable, match=r'store "counts" has a row of key \["all"\] that'):
        bench.move(3)

    assert (bench.checkpoint / "application.json").read_text() == before
