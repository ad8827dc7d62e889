"""Every kind of store continues with another task count as if it had always had it."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from conformance.streams.test_engine_restore import KEYS, RESULTS, Bench
from duolog import Topology, collect_list, count, hopping, session, sliding, sum_, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.repartition import repartition
from duolog.engine.settings import Mode
from duolog.plan.nodes import Plan
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(900)]

OTHERS: Final = ("unmatched", "brief", "waited", "on-close", "on-close-sessions", "on-close-both")
STREAMS: Final = ("joined", "versioned", *OTHERS)
"""Topics all of whose records count; of the others the last one of each key does."""
_BEGIN_MS: Final = 1_600_000_000_000
_LATER_MS: Final = 1_600_000_600_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Moved(Bench):
    """An application that starts with another task count each time."""

    tasks = 2
    wait_s = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        for topic in OTHERS:
            settings = {"retention.ms": "-1"}
            self.client.create_topic(self.of(topic), partitions=2, configs=settings)

    def plan(self) -> Plan:
        """Every kind of store that can be repartitioned."""
        made = Topology(self.name)
        of, value = self.of, "n BIGINT, a STRING"
        one = made.stream(of("s1"), key="k STRING", value=value)
        two = made.stream(of("s2"), key="k STRING", value=value)
        rows = made.table(of("t1"), key="k STRING", value=value)
        others = made.table(of("t2"), key="k STRING", value=value)
        brief = made.table(of("t2"), key="k STRING", value=value, ttl="1 hour")
        prices = made.table(of("t3"), key="k STRING", value=value, history="1 hour")
        one.group_by("a").aggregate(c=count(), t=sum_("n")).to(of("counted"))
        windowed = one.group_by_key()
        windowed.aggregate(all=collect_list("n")).to(of("listed"))
        windowed.windowed_by(tumbling("10 seconds", grace="1 minute")).count().to(of("tumbling"))
        hops = hopping("20 seconds", "10 seconds", grace="1 minute")
        windowed.windowed_by(hops).count().to(of("hopping"))
        windowed.windowed_by(session("3 seconds", grace="1 minute")).count().to(of("sessions"))
        windowed.windowed_by(sliding("4 seconds", grace="1 minute")).count().to(of("sliding"))
        closing = windowed.windowed_by(tumbling("10 seconds", grace="5 seconds")).count()
        closing.suppress(until="window close").to(of("closed"))
        in_windows = windowed.windowed_by(
            tumbling("10 seconds", grace="5 seconds"), emit="on close"
        )
        in_windows.count().to(of("on-close"))
        in_windows.aggregate(c=count()).join(in_windows.aggregate(t=sum_("n"))).to(
            of("on-close-both")
        )
        sessions = windowed.windowed_by(session("3 seconds", grace="5 seconds"), emit="on close")
        sessions.count().to(of("on-close-sessions"))
        rows.group_by("a").aggregate(t=sum_("n")).suppress("5 seconds").to(of("late"))
        one.join(two, within="5 s", grace="20 s", prefix="r_").to(of("joined"))
        one.outer_join(two, within="5 s", grace="20 s", prefix="r_").to(of("unmatched"))
        rows.left_join(others, prefix="o_").to(of("both"))
        rows.left_join(others, on="a", prefix="f_").to(of("foreign"))
        one.left_join(brief, prefix="b_").to(of("brief"))
        one.left_join(prices, prefix="p_").to(of("versioned"))
        one.left_join(prices, prefix="w_", grace="10 seconds").to(of("waited"))
        return made.build()

    def config(self) -> EngineConfig:
        return replace(super().config(), tasks=self.tasks)

    def move(self, tasks: int) -> None:
        self.tasks = tasks
        engine = Engine(self.config())
        done = repartition(engine, self.plan(), self.name, tasks)
        assert done.tasks == tasks
        assert len(done.stores) >= 20

    def write(self, part: int, records: int = 300) -> None:
        """Write the records of a part: each key in one partition, ordered by time.

        Otherwise the order of a key's records depends on the other keys of its task.
        """
        rng = Random(part)  # noqa: S311 - the same each time
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for n in range(records):
            topic = rng.choice(("s1", "s1", "s2", "t1", "t2", "t3"))
            row = {"n": rng.randrange(100), "a": f"key-{rng.randrange(KEYS)}"}
            value = json.dumps(row) if topic.startswith("s") or rng.random() < 0.8 else None
            number = rng.randrange(KEYS)
            at = _BEGIN_MS + (part * records + n) * 97
            key, partition = f"key-{number}", number % 2
            producer.produce(self.of(topic), value, key, timestamp=at, partition=partition)
        assert producer.flush(30) == 0

    def close_all(self) -> None:
        """Write later records for each key, so that each task emits suppressed results."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for at in (_LATER_MS, _LATER_MS + 20_000):
            for topic in ("s1", "s2", "t1", "t2", "t3"):
                for number in range(KEYS):
                    key = f"key-{number}"
                    value = json.dumps({"n": 1, "a": key})
                    producer.produce(self.of(topic), value, key, timestamp=at, partition=number % 2)
        assert producer.flush(30) == 0

    def final_rows(self) -> dict[str, Any]:
        """Return the final rows of the result topics."""
        found: dict[str, Any] = {}
        for topic in (*RESULTS, *OTHERS):
            records = self.client.read(self.of(topic))
            rows = [(r.key or b"", r.value or b"", r.timestamp_ms) for r in records]
            found[topic] = (
                sorted(rows) if topic in STREAMS else {key: value for key, value, _ in rows}
            )
        return found


class Case(NamedTuple):
    mode: Mode
    changelog: str
    ways: tuple[int, ...]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case("micro-batch", "off", (3,)), id="grown"),
        pytest.param(Case("micro-batch", "off", (3, 5, 2)), id="twice-and-shrunk"),
        pytest.param(Case("micro-batch", "on", (3,)), id="lost-behind-it"),
        pytest.param(Case("real-time", "off", (5, 2)), id="real-time"),
    ],
)
def test_every_kind_of_store_continues_with_another_task_count(
    spark: SparkSession,
    cluster: EmbeddedCluster,
    tmp_path: Path,
    case: Case,
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    mode, changelog, ways = case
    name = f"{mode}-{changelog}-{len(ways)}"
    undisturbed, moved = (
        Moved(cluster, tmp_path, f"{kind}-{name}", changelog=changelog, cache_bytes_max=0)
        for kind in ("left", "moved")
    )
    undisturbed.tasks = 3
    for bench in (undisturbed, moved):
        bench.write(0)
        bench.run(mode)

    for part, tasks in enumerate(ways, start=1):
        moved.move(tasks)
        for bench in (undisturbed, moved):
            bench.write(part)
            bench.run(mode)
    if changelog == "on":
        shutil.rmtree(moved.checkpoint)
    for bench in (undisturbed, moved):
        bench.close_all()
        bench.run(mode)

    assert bool(moved.restored) == (changelog == "on")
    found, expected = moved.final_rows(), undisturbed.final_rows()
    assert all(expected.values())
    assert [topic for topic, rows in expected.items() if found[topic] != rows] == []
