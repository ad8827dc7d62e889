"""The engine on real streaming queries, against Duolog's own broker.

Few, because each query costs seconds: what only a stream can show. What records become is tested in
memory (`test_engine_semantics.py`).
"""

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import Topology, avg, col, count, max_, sum_, tumbling
from duolog.core.windowed_key import WindowedKey
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import (
    CheckpointInUse,
    CheckpointMismatch,
    QueryFailed,
    SlotsMissing,
    SourceTopicMissing,
)
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import Mode
from duolog.plan.nodes import Plan
from duolog.plan.partitioner import partition_of
from duolog.plan.types import parse_columns
from duolog.serde.serde import key_serde
from duolog.testing import EmbeddedCluster
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

TASKS = 2
WAIT_S = 90
CARRIERS = ("UA", "AA", "DL", "B6")
SPILL = "spark.shuffle.spill.numElementsForceSpillThreshold"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Bench:
    """Topics with unique names, an engine, and the input records."""

    def __init__(self, bootstrap_servers: str, directory: Path) -> None:
        self.prefix = uuid.uuid4().hex[:8]
        self.bootstrap_servers = bootstrap_servers
        self.config = EngineConfig(bootstrap_servers, directory, epoch_ms=3000, tasks=TASKS)
        self.admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self.offsets: dict[tuple[str, int], int] = defaultdict(int)

    def topic(self, name: str) -> str:
        return f"{name}-{self.prefix}"

    def create(self, **partitions: int) -> None:
        # The records are older than any retention by time.
        config = {"retention.ms": "-1"}
        topics = [NewTopic(self.topic(name), n, 1, config=config) for name, n in partitions.items()]
        for created in self.admin.create_topics(topics).values():
            created.result(30)

    def plan(self) -> Plan:
        """Flights joined with their airline, with two downstream aggregates."""
        topology = Topology("flights")
        flights = topology.stream(
            self.topic("flights"),
            key="id STRING",
            value="carrier STRING, dest STRING, delay BIGINT",
        )
        airlines = topology.table(self.topic("airlines"), key="code STRING", value="name STRING")
        joined = flights.join(airlines, on="carrier")
        joined.group_by("name").aggregate(
            flights=count(), mean=avg("delay"), worst=max_("delay")
        ).to(self.topic("by_airline"))
        joined.group_by("dest").aggregate(flights=count(), total=sum_("delay")).to(
            self.topic("by_dest")
        )
        return topology.build()

    def produce(self, records: list[tuple[str, int, int, str, Any]]) -> list[SourceRecord]:
        """Produce (topic, partition, timestamp, key, value); return them with their offsets."""
        # librdkafka takes the timestamp 0 for "now".
        assert all(record[2] > 0 for record in records)
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        sent = []
        for name, partition, timestamp_ms, key, value in records:
            topic, data = self.topic(name), json.dumps(value).encode()
            producer.produce(topic, data, key, partition, timestamp=timestamp_ms)
            offset = self.offsets[topic, partition]
            self.offsets[topic, partition] += 1
            sent.append(SourceRecord(topic, partition, offset, timestamp_ms, key.encode(), data))
        assert producer.flush(30) == 0
        return sent

    @contextmanager
    def running(self, mode: Mode) -> Iterator[RunningQuery]:
        query = Engine(self.config).start(self.plan(), f"app-{self.prefix}", mode)
        try:
            yield query
        finally:
            query.stop()
        assert query.exception() is None
        assert query.state == "stopped"
        assert query.launcher.session.spark.streams.active == []
        wait_for_jobs_to_end(query)

    def read(self, name: str, partition: int) -> list[tuple[int, bytes | None, bytes | None]]:
        """Return (timestamp, key, value) of all records of a partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": self.prefix,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(self.topic(name), partition, 0)])
        read = []
        while (message := consumer.poll(30)) is not None:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - its only name
                break
            read.append((message.timestamp()[1], message.key(), message.value()))
        consumer.close()
        return read

    def written(self) -> dict[str, list[list[Any]]]:
        return {
            name: [self.read(name, partition) for partition in range(TASKS)]
            for name in ("by_airline", "by_dest")
        }

    def table(self, name: str) -> dict[str, Any]:
        rows = [row for partition in range(TASKS) for row in self.read(name, partition)]
        return {key.decode(): json.loads(value) for _, key, value in rows if key and value}

    def expected(self, *micro_batches: list[SourceRecord]) -> dict[str, list[list[Any]]]:
        """The output of the reference evaluator, by topic and task, in order."""
        evaluator = ReferenceEvaluator(
            self.plan(), tasks=TASKS, cache=self.config.cache_bytes_max > 0
        )
        found: dict[str, list[list[Any]]] = {
            name: [[] for _ in range(TASKS)] for name in ("by_airline", "by_dest")
        }
        for batch in micro_batches:
            for record in evaluator.run(batch):
                name = record.topic.rsplit("-", 1)[0]
                found[name][record.task].append((record.timestamp_ms, record.key, record.value))
        return found


@pytest.fixture
def bench(cluster: EmbeddedCluster, spark: SparkSession, tmp_path: Path) -> Bench:
    assert spark is not None, "the engine finds the session of this run"
    made = Bench(cluster.bootstrap_servers, tmp_path)
    made.create(flights=3, airlines=1, by_airline=TASKS, by_dest=TASKS)
    return made


@pytest.fixture(params=["record cache", "every update"])
def bench_with_each_cache(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    """With the default record cache, and with none."""
    if request.param == "every update":
        bench.config = replace(bench.config, cache_bytes_max=0)
    return bench


@pytest.fixture(params=["Duolog", pytest.param("Apache Kafka", marks=pytest.mark.deep)])
def bench_on_each_broker(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path
) -> Bench:
    """Run on Duolog's broker and on Apache Kafka: only bootstrap.servers differs."""
    assert spark is not None, "the engine finds the session of this run"
    broker = request.getfixturevalue("cluster" if request.param == "Duolog" else "kafka_peer")
    made = Bench(broker.bootstrap_servers, tmp_path)
    made.create(flights=3, airlines=1, by_airline=TASKS, by_dest=TASKS)
    return made


@pytest.fixture
def spills(spark: SparkSession) -> Iterator[None]:
    """Make every sort spill after a few rows, which loses the order within a partition."""
    conf: Any = spark._jsparkSession.sparkContext().conf()  # noqa: SLF001
    conf.set(SPILL, "7")
    yield
    conf.remove(SPILL)


Row = tuple[str, int, int, str, Any]


def airlines(start_ms: int, suffix: str = "") -> list[Row]:
    return [
        ("airlines", 0, start_ms + 40 * index, code, {"name": f"{code} Inc{suffix}"})
        for index, code in enumerate(CARRIERS)
    ]


def flights(numbers: range, time_of: Callable[[int], int]) -> list[Row]:
    return [
        (
            "flights",
            number % 3,
            time_of(number),
            f"f{number}",
            {
                "carrier": CARRIERS[number % 7 % len(CARRIERS)],
                "dest": ("SFO", "LAX", "JFK")[number % 5 % 3],
                "delay": None if number % 11 == 0 else number % 60 - 5,
            },
        )
        for number in numbers
    ]


@pytest.mark.usefixtures("spills")
def test_inputs_of_different_speed_are_merged_by_time_with_spilling_sorts(
    bench_with_each_cache: Bench,
) -> None:
    """Airlines change their names while flights are written; partitions differ in speed."""
    bench = bench_with_each_cache
    paces = (1, 3, 2)
    sent = bench.produce(
        [
            *airlines(1),
            *airlines(150, " II"),
            *flights(range(300), lambda number: 1 + number * paces[number % 3]),
        ]
    )

    with bench.running("micro-batch") as query:
        assert query.wait_until_caught_up(WAIT_S)

    assert bench.written() == bench.expected(sent)


def test_a_replayed_micro_batch_writes_the_same_rows_in_the_same_order(
    bench_with_each_cache: Bench,
) -> None:
    """Remove the last commit from the checkpoint, as after a crash before it."""
    bench = bench_with_each_cache
    first = bench.produce([*airlines(1), *flights(range(60), lambda number: 1 + number)])
    with bench.running("micro-batch") as query:
        assert query.wait_until_caught_up(WAIT_S)
    second = bench.produce(flights(range(60, 150), lambda number: 200 - number))
    with bench.running("micro-batch") as query:
        assert query.wait_until_caught_up(WAIT_S)
    once = bench.written()
    assert once == bench.expected(first, second)

    forget_last_commit(bench.config.checkpoint_dir)
    with bench.running("micro-batch") as query:
        assert query.wait_until_caught_up(WAIT_S)

    before = bench.expected(first)
    for name, partitions in bench.written().items():
        for task, rows in enumerate(partitions):
            replayed = once[name][task][len(before[name][task]) :]
            assert rows == once[name][task] + replayed


@pytest.mark.parametrize("mode", ["micro-batch", "auto"])
def test_stream_joins_the_current_count_in_every_mode(bench: Bench, mode: Mode) -> None:
    """Regression: with the record cache, a join saw the count before the micro-batch."""
    bench.create(counted=1, asking=1, joined=TASKS)
    topology = Topology("joined")
    counted = topology.stream(bench.topic("counted"), key="id STRING", value="x INT")
    asking = topology.stream(bench.topic("asking"), key="id STRING", value="x INT")
    often = counted.group_by_key().count("n").filter(col("n") > 1)
    asking.join(often).map_values("n").to(bench.topic("joined"))
    bench.produce([("counted", 0, 1 + 2 * number, "a", {"x": 0}) for number in range(3)])
    bench.produce([("asking", 0, 4 + 2 * number, "a", {"x": 0}) for number in range(3)])

    query = Engine(bench.config).start(topology.build(), f"joined-{bench.prefix}", mode)
    assert query.wait_until_caught_up(WAIT_S)
    query.stop()

    assert query.exception() is None
    rows = [row for partition in range(TASKS) for row in bench.read("joined", partition)]
    assert [(ts, json.loads(value)["n"]) for ts, _, value in rows if value] == [
        (4, 2),
        (6, 3),
        (8, 3),
    ]


def test_each_record_joins_a_count_that_includes_it_also_after_a_restart(
    bench: Bench,
) -> None:
    """Join and count one by one several records with one timestamp, in two partitions."""
    bench.create(visits=2, numbered=TASKS)
    topology = Topology("numbered")
    visits = topology.stream(bench.topic("visits"), key="user STRING", value="x INT")
    counts = visits.filter(col("x") >= 0).group_by_key().count("n")
    visits.join(counts).to(bench.topic("numbered"))
    expected: dict[str, list[tuple[int, int]]] = {"ann": [], "bob": []}

    modes: tuple[Mode, Mode] = ("micro-batch", "auto")
    for start, mode in zip((0, 3), modes, strict=True):
        numbers = range(start, start + 3)
        users = enumerate(expected)
        bench.produce([("visits", at, 7, user, {"x": x}) for at, user in users for x in numbers])
        query = Engine(bench.config).start(topology.build(), f"numbered-{bench.prefix}", mode)
        assert query.wait_until_caught_up(WAIT_S)
        query.stop()
        assert query.exception() is None
        for found in expected.values():
            found += [(x, x + 1) for x in numbers]

    rows = [row for partition in range(TASKS) for row in bench.read("numbered", partition)]
    for user, found in expected.items():
        of_user = [json.loads(value) for _, key, value in rows if key == user.encode() and value]
        assert [(row["x"], row["n"]) for row in of_user] == found


@TWO_STARTS
def test_windows_stay_closed_after_a_restart_and_share_a_partition_per_key(
    bench: Bench, modes: Modes
) -> None:
    bench.create(visits=2, hourly=3)
    topology = Topology("windowed")
    visits = topology.stream(bench.topic("visits"), key="user STRING", value="x INT")
    windows = tumbling("1 s", grace="1 s")
    visits.group_by_key().windowed_by(windows).count("n").to(bench.topic("hourly"))
    users = [f"user{number}" for number in range(8)]
    late = 0

    for times, mode in zip(((1100, 1200, 4100), (1200, 4200)), modes, strict=True):
        for at in times:
            bench.produce([("visits", 0, at, user, {"x": 1}) for user in users])
        query = Engine(bench.config).start(topology.build(), f"windowed-{bench.prefix}", mode)
        assert query.wait_until_caught_up(WAIT_S)
        late += sum(query.progress().late.values())
        query.stop()
        assert query.exception() is None

    keys = key_serde(
        "KAFKA", parse_columns("user STRING, start BIGINT, end BIGINT"), WindowedKey(1000)
    )
    found: dict[Any, int] = {}
    for partition in range(3):
        for _, key, value in bench.read("hourly", partition):
            row = keys.deserialize(key)
            assert row is not None
            assert partition_of(str(row[0]).encode(), 3) == partition
            found[row] = json.loads(value or b"{}")["n"]
    first = {(user, 1000, 2000): 2 for user in users}
    assert found == first | {(user, 4000, 5000): 2 for user in users}
    assert late == len(users)


def forget_last_commit(checkpoint_dir: Path) -> None:
    commits = list(checkpoint_dir.glob("*/spark/commits/[0-9]*"))
    last = max(commits, key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def test_modes_alternate_on_one_checkpoint_and_lose_nothing(bench_on_each_broker: Bench) -> None:
    bench = bench_on_each_broker
    bench.produce([*airlines(1), *flights(range(100), lambda number: 1000 + number)])
    with bench.running("auto") as query:
        assert query.wait_until_caught_up(WAIT_S)
        wait_for_mode(query, "real-time")
        bench.produce(flights(range(100, 150), lambda number: 1000 + number))
        assert query.wait_until_caught_up(WAIT_S)
    with bench.running("micro-batch") as query:
        bench.produce(flights(range(150, 200), lambda number: 1000 + number))
        assert query.wait_until_caught_up(WAIT_S)
        assert query.mode == "micro-batch"
    with bench.running("real-time") as query:
        bench.produce(flights(range(200, 250), lambda number: 1000 + number))
        assert query.wait_until_caught_up(WAIT_S)
        wait_for_flights(bench, 250)

    assert sum(row["flights"] for row in bench.table("by_dest").values()) == 250
    names = {f"{code} Inc" for code in CARRIERS}
    assert set(bench.table("by_airline")) == names


def wait_for_jobs_to_end(query: RunningQuery) -> None:
    """Spark's listener bus updates the status tracker some time after a job ends."""
    jobs = query.launcher.session.spark.sparkContext.statusTracker()
    for _ in range(WAIT_S * 10):
        if not jobs.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert jobs.getActiveJobsIds() == []


def wait_for_mode(query: RunningQuery, mode: str) -> None:
    for _ in range(WAIT_S * 10):
        if query.mode == mode or query.wait(0.1):
            break
    assert query.mode == mode


def wait_for_flights(bench: Bench, wanted: int) -> None:
    """Records that were read in real time are written a moment later."""
    for _ in range(WAIT_S):
        if sum(row["flights"] for row in bench.table("by_airline").values()) >= wanted:
            return


def test_unsupported_real_time_is_refused_and_auto_explains_why(bench: Bench) -> None:
    bench.config = replace(bench.config, tasks=40)
    engine = Engine(bench.config)

    with pytest.raises(SlotsMissing, match="It needs 84 slots, 62 of 64 are free"):
        engine.start(bench.plan(), "too-large", "real-time")

    assert "mode: micro-batch. It needs 84 slots, 62 of 64 are free." in engine.explain(
        bench.plan(), "too-large"
    )


def test_missing_source_topic_and_changed_plan_are_named_and_refused(bench: Bench) -> None:
    engine = Engine(bench.config)
    other = Topology("other")
    other.stream("nowhere", value="a INT").to("copy")
    with pytest.raises(SourceTopicMissing, match='source topic "nowhere" does not exist'):
        engine.start(other.build(), "other")
    # Another process need not wait for this one.
    owner = json.loads((bench.config.checkpoint_dir / "other" / "owner.json").read_text())
    assert owner["released"] is True

    with bench.running("micro-batch"):
        pass
    with pytest.raises(CheckpointMismatch, match="has changed since its checkpoint"):
        engine.start(recounted(bench), f"app-{bench.prefix}")


def test_running_application_is_not_started_by_another_engine(bench: Bench) -> None:
    """Otherwise Spark would silently stop the first query on the checkpoint."""
    with bench.running("micro-batch") as first:
        with pytest.raises(CheckpointInUse, match="is already running"):
            Engine(bench.config).start(bench.plan(), f"app-{bench.prefix}", "micro-batch")
        assert first.state == "running"

    with bench.running("micro-batch"):
        pass


@pytest.mark.parametrize("handler", ["log_and_continue", "log_and_fail"])
def test_records_deleted_before_they_were_read_are_counted_or_fatal(
    bench: Bench, handler: str
) -> None:
    """Retention or a user deleted records before the query read them."""
    bench.produce([*airlines(1), *flights(range(90), lambda number: 1 + number)])
    with bench.running("micro-batch") as query:
        assert query.wait_until_caught_up(WAIT_S)
    bench.produce(flights(range(90, 180), lambda number: 1 + number))
    ends = [TopicPartition(bench.topic("flights"), partition, -1) for partition in range(3)]
    for deleted in bench.admin.delete_records(ends).values():
        deleted.result(30)
    bench.produce(flights(range(180, 200), lambda number: 1 + number))

    engine = Engine(replace(bench.config, lost_records=handler))
    query = engine.start(bench.plan(), f"app-{bench.prefix}", "micro-batch")
    if handler == "log_and_continue":
        assert query.wait_until_caught_up(WAIT_S)
        (lost,) = query.skipped()
        counted = query.progress()
        query.stop()
        assert (counted.skipped, counted.records_in) == ({"retention": 90}, 20)
        assert (lost.count, lost.topic) == (90, bench.topic("flights"))
        assert "cannot read 90 records" in str(lost)
        return
    with pytest.raises(QueryFailed) as caught:
        query.wait(WAIT_S)

    assert query.state == "failed"
    assert "Run `duolog state reset APPLICATION`" in caught.value.hint
    assert query.progress().state == "failed"


def recounted(bench: Bench) -> Plan:
    topology = Topology("flights")
    flights = topology.stream(bench.topic("flights"), key="id STRING", value="carrier STRING")
    flights.group_by("carrier").count().to(bench.topic("by_airline"))
    return topology.build()
