"""Restore stores of a lost checkpoint from changelogs, entry by entry, and continue.

Each test runs the same records twice, with and without losing the checkpoint in between.
"""

import json
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from duolog import Topology, col, collect_list, count, hopping, session, sliding, sum_, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.settings import Mode
from duolog.plan.nodes import Plan
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
PARTITIONS: Final = 2
KEYS: Final = 12
RESULTS: Final = (
    *("counted", "listed", "tumbling", "hopping", "sessions", "sliding", "closed", "late"),
    *("joined", "both", "foreign", "versioned"),
)
_BEGIN_MS: Final = 1_600_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


@dataclass
class Bench:
    """An application with unique topics, and its checkpoint."""

    wait_s = WAIT_S

    cluster: EmbeddedCluster
    directory: Path
    name: str
    changelog: str = "on"
    exactly_once: bool = False
    cache_bytes_max: int = 10 << 20

    def __post_init__(self) -> None:
        self.client = Client(self.cluster.bootstrap_servers)
        for topic in ("s1", "s2", "t1", "t2", "t3"):
            # The records are older than any retention by time.
            settings = {"retention.ms": "-1"}
            self.client.create_topic(self.of(topic), partitions=PARTITIONS, configs=settings)
        for topic in RESULTS:
            settings = {"retention.ms": "-1"}  # Results have the records' times.
            self.client.create_topic(self.of(topic), partitions=PARTITIONS, configs=settings)
        self.restored: list[Any] = []

    def of(self, topic: str) -> str:
        return f"{topic}-{self.name}"

    @property
    def checkpoint(self) -> Path:
        return self.directory / self.name

    def plan(self) -> Plan:
        """Every kind of store."""
        made = Topology(self.name)
        of, value = self.of, "n BIGINT, a STRING"
        one = made.stream(of("s1"), key="k STRING", value=value)
        two = made.stream(of("s2"), key="k STRING", value=value)
        rows = made.table(of("t1"), key="k STRING", value=value)
        others = made.table(of("t2"), key="k STRING", value=value)
        prices = made.table(of("t3"), key="k STRING", value=value, history="1 hour")
        one.group_by("a").aggregate(c=count(), t=sum_("n")).to(of("counted"))
        one.group_by_key().aggregate(all=collect_list("n")).to(of("listed"))
        windowed = one.group_by_key()
        windowed.windowed_by(tumbling("10 seconds", grace="1 minute")).count().to(of("tumbling"))
        windowed.windowed_by(hopping("20 seconds", "10 seconds", grace="1 minute")).count().to(
            of("hopping")
        )
        windowed.windowed_by(session("3 seconds", grace="1 minute")).count().to(of("sessions"))
        windowed.windowed_by(sliding("4 seconds", grace="1 minute")).count().to(of("sliding"))
        closing = windowed.windowed_by(tumbling("10 seconds", grace="5 seconds")).count()
        closing.suppress(until="window close").to(of("closed"))
        rows.group_by("a").aggregate(t=sum_("n")).suppress("5 seconds").to(of("late"))
        one.join(two, within="5 seconds", grace="1 minute", prefix="r_").to(of("joined"))
        rows.left_join(others, prefix="o_").to(of("both"))
        rows.left_join(others, on="a", prefix="f_").to(of("foreign"))
        one.left_join(prices, prefix="p_").to(of("versioned"))
        return made.build()

    def write(self, part: int, records: int = 300) -> None:
        """Write the records of a part: the same for each application."""
        rng = Random(part)  # noqa: S311 - the same each time
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for n in range(records):
            at = _BEGIN_MS + (part * records + n) * 97 + rng.randrange(-2000, 2000)
            topic = rng.choice(("s1", "s1", "s2", "t1", "t2", "t3"))
            row = {"n": rng.randrange(100), "a": f"key-{rng.randrange(KEYS)}"}
            value = json.dumps(row) if topic.startswith("s") or rng.random() < 0.8 else None
            key = f"key-{rng.randrange(KEYS)}"
            producer.produce(self.of(topic), value, key, timestamp=at, partition=n % PARTITIONS)
        assert producer.flush(30) == 0

    def config(self) -> EngineConfig:
        return EngineConfig(
            self.cluster.bootstrap_servers,
            self.directory,
            epoch_ms=2000,
            changelog=self.changelog,
            exactly_once=self.exactly_once,
            cache_bytes_max=self.cache_bytes_max,
        )

    def run(self, mode: Mode = "micro-batch") -> None:
        """Run until all available records are read, then stop."""
        engine = Engine(self.config())
        engine.on_restore = self.restored.append
        engine.check(self.plan(), self.name)
        query = engine.start(self.plan(), self.name, mode)
        try:
            assert query.wait_until_caught_up(self.wait_s), query.exception()
        finally:
            query.stop()
        assert query.exception() is None

    def topics(self) -> list[str]:
        return list(AdminClient(self._servers).list_topics(timeout=60).topics)

    @property
    def _servers(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.cluster.bootstrap_servers}

    @property
    def changelogs(self) -> list[str]:
        named = f"{self.name}-"
        return [
            name for name in self.topics() if name.startswith(named) and name.endswith("-changelog")
        ]

    def write_uncommitted_changes(self) -> None:
        """Write a change of each entry as if the following commit had failed."""
        producer = Producer(self._servers)
        for topic in self.changelogs:
            last = {row.key: row for row in self.client.read(topic)}
            epochs = (dict(row.headers)["duolog.epoch"] or b"" for row in last.values())
            generation, epoch = max(struct.unpack(">iq", header) for header in epochs)
            header = struct.pack(">iq", generation, epoch + 1)
            for row in last.values():
                spoiled = (row.value or b"")[:-1] + b"\x7f"
                headers: list[tuple[str, str | bytes | None]] = [("duolog.epoch", header)]
                producer.produce(topic, spoiled, row.key, row.partition, headers=headers)
        assert producer.flush(30) == 0

    def last_entries(self) -> dict[bytes | None, bytes | None]:
        """Return the last value of each key of the changelogs."""
        return {row.key: row.value for topic in self.changelogs for row in self.client.read(topic)}

    def spoiled(self) -> set[bytes | None]:
        """Return the entries whose last change is one of `spoil`."""
        last = {row.key: row for topic in self.changelogs for row in self.client.read(topic)}
        return {key for key, row in last.items() if (row.value or b"").endswith(b"\x7f")}

    def results(self) -> dict[str, list[Any]]:
        """Return the output by topic: all records of each key in order."""
        found = {}
        for topic in RESULTS:
            records = self.client.read(self.of(topic))
            rows = [(r.key, r.value, r.timestamp_ms) for r in records]
            found[topic] = sorted(rows, key=lambda row: row[0] or b"")
        return found

    def state(self, spark: SparkSession) -> dict[str, list[Any]]:
        """Return all entries of all stores, as Spark has them."""
        return state_of(spark, self.checkpoint / "spark")


def state_of(spark: SparkSession, directory: Path) -> dict[str, list[Any]]:
    found = {}
    for path in sorted(directory.glob("state/*/_metadata/v2/[0-9]*")):
        content = json.loads(path.read_text().partition("\n")[2])
        operator = int(path.parents[2].name)
        for variable in json.loads(content["operatorPropertiesJson"])["stateVariables"]:
            name = variable["stateName"]
            read = spark.read.format("statestore").option("operatorId", operator)
            rows = read.option("stateVarName", name).load(str(directory))
            rows = rows.selectExpr("key.*", "user_map_key.*", "user_map_value.*")
            found[name] = sorted((row[0], bytes(row[1]), bytes(row[2])) for row in rows.collect())
    return found


Lose = Callable[[Path], None]


def remove_all(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)


def remove_sparks(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "spark")


def tear_the_last_commit(checkpoint: Path) -> None:
    last = max((checkpoint / "spark/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.write_bytes(b"")


def damage_what_the_first_start_fixed(checkpoint: Path) -> None:
    path = checkpoint / "application.json"
    path.write_text(path.read_text().replace('"tasks": 2', '"tasks": 3'))


def test_every_store_is_restored_entry_by_entry(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    bench = Bench(cluster, tmp_path, "every")
    for part in (0, 1):  # The second removes part of the first one's output.
        bench.write(part)
        bench.run()
    before = bench.state(spark)
    assert len(before) >= 15
    assert all(before.values()), "each store has something"
    assert any(value is None for value in bench.last_entries().values()), "something was removed"
    bench.write_uncommitted_changes()  # Entries of a commit that never happened.

    remove_all(bench.checkpoint)
    bench.run()

    assert bench.restored[-1].done
    assert bench.restored[-1].records >= sum(map(len, before.values()))
    assert bench.state(spark) == before


@pytest.mark.deep
def test_results_continue_after_a_lost_checkpoint(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    undisturbed, disturbed = (Bench(cluster, tmp_path, name) for name in ("left", "lost"))
    for bench in (undisturbed, disturbed):
        bench.write(0)
        bench.run()

    remove_all(disturbed.checkpoint)
    disturbed.run()
    for bench in (undisturbed, disturbed):
        bench.write(1)
        bench.run()

    assert disturbed.restored[-1].done
    assert disturbed.results() == undisturbed.results()


class Passing(Bench):
    """An application with an empty store, and results that need no store."""

    def plan(self) -> Plan:
        made = Topology(self.name)
        one = made.stream(self.of("s1"), key="k STRING", value="n BIGINT, a STRING")
        one.to(self.of("listed"))
        one.filter(col("n") < 0).group_by("a").aggregate(c=count()).to(self.of("counted"))
        return made.build()


def test_application_without_entries_resumes_from_its_commit(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    bench = Passing(cluster, tmp_path, "passing")
    bench.write(0, records=50)
    bench.run()
    written = len(bench.client.read(bench.of("listed")))

    for _ in range(2):  # No records arrive, so nothing is committed in between.
        remove_all(bench.checkpoint)
        bench.run()

    assert [of.records for of in bench.restored if of.done] == [0, 0]
    assert len(bench.client.read(bench.of("listed"))) == written
    bench.write(1, records=50)
    bench.run()
    assert len(bench.client.read(bench.of("listed"))) > written


class Counts(Bench):
    """An application with one store."""

    def plan(self) -> Plan:
        made = Topology(self.name)
        one = made.stream(self.of("s1"), key="k STRING", value="n BIGINT, a STRING")
        one.group_by("a").aggregate(c=count(), t=sum_("n")).to(self.of("counted"))
        return made.build()

    def counted(self) -> dict[str, int]:
        """Return the last written count of each group."""
        rows = self.client.read(self.of("counted"))
        return {row.key_text or "": json.loads(row.value or b"")["c"] for row in rows}

    def written(self) -> dict[str, int]:
        """Return the number of written records of each group."""
        rows = self.client.read(self.of("s1"))
        return dict(Counter(json.loads(row.value or b"")["a"] for row in rows))


@pytest.mark.deep
@pytest.mark.parametrize(
    "lose", [remove_sparks, tear_the_last_commit, damage_what_the_first_start_fixed]
)
def test_damaged_checkpoint_is_restored(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, lose: Lose
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    bench = Counts(cluster, tmp_path, f"counts-{lose.__name__}")
    for part in range(2):
        bench.write(part)
        bench.run()

    lose(bench.checkpoint)
    bench.write(2)
    bench.run()

    assert len(bench.restored) >= 1
    assert bench.counted() == bench.written()


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_uncommitted_entries_are_not_restored(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode
) -> None:
    """Entries of a failed commit are at the end of the changelog, after the valid ones."""
    assert spark is not None, "the engine finds the session of this run"
    bench = Counts(cluster, tmp_path, f"ahead-{mode}")
    bench.write(0)
    bench.run(mode)
    bench.write_uncommitted_changes()
    ahead = bench.spoiled()

    for part in (1, 2):
        remove_all(bench.checkpoint)
        bench.write(part)
        bench.run(mode)

        assert bench.counted() == bench.written()
    assert ahead
    assert not ahead & bench.spoiled(), "the valid entries follow it"


@pytest.mark.deep
def test_uncommitted_entries_do_not_undo_later_ones(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """The valid value of such a key is rewritten last: lose the checkpoint twice unchanged."""
    assert spark is not None, "the engine finds the session of this run"
    bench = Counts(cluster, tmp_path, "behind")
    bench.write(0)
    bench.run()
    bench.write_uncommitted_changes()
    bench.write(1)
    bench.run()
    last = bench.last_entries()
    assert not bench.spoiled(), "each key was changed after it"

    for _ in range(2):
        remove_all(bench.checkpoint)
        bench.run()

        assert bench.last_entries() == last
    bench.write(2)
    bench.run()

    assert bench.counted() == bench.written()


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_results_are_written_once_after_a_lost_checkpoint(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode
) -> None:
    """Lose it twice: first after results of the restored query, then without any."""
    assert spark is not None, "the engine finds the session of this run"
    bench = Counts(cluster, tmp_path, f"once-{mode}", exactly_once=True, cache_bytes_max=0)
    for part in (0, 1, None, None, 2):
        if part is not None:
            bench.write(part)
        bench.run(mode)
        results = len(bench.client.read(bench.of("counted")))

        assert bench.counted() == bench.written()
        assert results == sum(bench.written().values()), "each record is counted once"
        remove_all(bench.checkpoint)


def test_the_setting_is_fixed_by_the_first_start(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    bench = Counts(cluster, tmp_path, "fixed", changelog="off")
    bench.write(0)
    bench.run()

    bench.changelog = "on"

    with pytest.raises(CheckpointMismatch, match=r"cannot change to state\.changelog=on"):
        bench.run()
    assert not [name for name in bench.topics() if name.startswith("fixed-")]
