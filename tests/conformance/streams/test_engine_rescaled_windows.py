"""Final results are emitted once after a change of the task count, whatever the tasks' times."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from conformance.streams.test_engine_restore import Bench
from duolog import Topology, count, hopping, session, sliding, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.repartition import repartition
from duolog.engine.settings import Mode
from duolog.plan.nodes import Plan
from duolog.plan.partitioner import partition_of
from duolog.testing import EmbeddedCluster

if TYPE_CHECKING:
    from duolog.plan.windows import Windows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CLOSED: Final = ("tumbling", "hopping", "sessions", "sliding")
KEYS: Final = [f"key-{number}" for number in range(12)]
AHEAD: Final = [key for key in KEYS if partition_of(key.encode(), 2) == 0]
_BEGIN_MS: Final = 1_600_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Closing(Bench):
    """Every kind of window on close, with keys partitioned as the clients and two tasks do."""

    tasks = 2

    def plan(self) -> Plan:
        made = Topology(self.name)
        visits = made.stream(self.of("s1"), key="k STRING", value="n BIGINT").group_by_key()
        kinds: dict[str, Windows] = {
            "tumbling": tumbling("10 seconds", grace="2 seconds"),
            "hopping": hopping("20 seconds", "10 seconds", grace="2 seconds"),
            "sessions": session("3 seconds", grace="2 seconds"),
            "sliding": sliding("4 seconds", grace="2 seconds"),
        }
        for name, windows in kinds.items():
            closing = visits.windowed_by(windows, emit="on close")
            if name == "hopping":
                closing = closing.materialized(retention="1 day")
            closing.aggregate(c=count()).to(self.of(name))
        return made.build()

    def config(self) -> EngineConfig:
        return replace(super().config(), tasks=self.tasks)

    def move(self, tasks: int) -> None:
        self.tasks = tasks
        done = repartition(Engine(self.config()), self.plan(), self.name, tasks)
        assert len(done.stores) == len(CLOSED)

    def visit(self, keys: Sequence[str], seconds: Sequence[int]) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for second in seconds:
            for key in keys:
                value, at = json.dumps({"n": second}), _BEGIN_MS + second * 1000
                producer.produce(self.of("s1"), value, key, timestamp=at)
        assert producer.flush(30) == 0

    def emitted_results(self) -> dict[str, Any]:
        """Return the emitted results, and how often each was emitted."""
        return {
            topic: sorted((r.key or b"", r.value or b"") for r in self.client.read(self.of(topic)))
            for topic in CLOSED
        }

    def shown(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the rows of these keys that an interactive query finds, by store."""
        engine, plan = Engine(self.config()), self.plan()
        found = {}
        for table in (node for node in plan.nodes if node.stores):
            rows = engine.committed_rows(plan, self.name, table).rows
            found[table.name] = sorted(row for row in rows if row[0][0] in keys)
        return found


def first_half(bench: Closing, mode: Mode) -> None:
    """One of two tasks ends a minute ahead: its results were emitted and stay stored."""
    assert 0 < len(AHEAD) < len(KEYS)
    bench.visit(KEYS, [*range(5), *range(12, 30, 3)])
    bench.visit(AHEAD, range(40, 43))
    bench.visit(AHEAD[::2], [43])
    bench.run(mode)
    # One of the adjacent sessions that end at 42 and 43 has expired by the next record.
    bench.visit(AHEAD[:1], [48])
    # The last record emits all of them; they are found until the next one.
    bench.visit(AHEAD[:1], [90])
    bench.run(mode)


def second_half(bench: Closing, mode: Mode) -> None:
    bench.visit(KEYS, [*range(95, 120, 4), 300])
    bench.run(mode)
    bench.visit(KEYS, [1000, 1100])
    bench.run(mode)


@pytest.mark.parametrize(
    ("mode", "ways"),
    [
        pytest.param("micro-batch", (3,), id="grown", marks=pytest.mark.deep),
        # Earlier results are known after both changes.
        pytest.param("micro-batch", (5, 3), id="twice", marks=pytest.mark.deep),
        pytest.param("micro-batch", (1,), id="into-one", marks=pytest.mark.deep),
        pytest.param("real-time", (3,), id="real-time", marks=pytest.mark.deep),
    ],
)
def test_each_final_result_is_emitted_once_with_another_task_count(
    spark: SparkSession,
    cluster: EmbeddedCluster,
    tmp_path: Path,
    mode: Mode,
    ways: Sequence[int],
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    name = f"{mode}-{'-'.join(map(str, ways))}"
    undisturbed, moved = (Closing(cluster, tmp_path, f"{of}-{name}") for of in ("left", "moved"))
    for bench in (undisturbed, moved):
        first_half(bench, mode)

    visited = partition_of(KEYS[0].encode(), ways[0])
    # Rows of tasks that lag expire sooner: the greatest stream time counts.
    others = [key for key in AHEAD if partition_of(key.encode(), ways[0]) != visited]
    shown = moved.shown(others)
    for second, tasks in enumerate(ways, start=91):
        moved.move(tasks)
        for bench in (undisturbed, moved):
            # A record for one task: results of the others are only known from before the change.
            bench.visit(KEYS[:1], [second])
            bench.run(mode)
        if tasks == ways[0]:
            assert all(shown.values()) == bool(others)
            assert moved.shown(others) == shown, "what had gone for who looks it up stays gone"
    for bench in (undisturbed, moved):
        second_half(bench, mode)

    assert all(undisturbed.emitted_results().values())
    assert moved.emitted_results() == undisturbed.emitted_results()
