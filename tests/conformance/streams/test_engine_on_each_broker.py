"""The same topology on Duolog's broker and on a real Apache Kafka: only bootstrap.servers differs.

Events flow in without a pause: while the query starts, while it catches up and goes live, while it
is stopped in the middle of an epoch and started again on the same checkpoint. In the end the result
tables, timestamps included, are those of one batch over all that was written. `auto` goes through
both of Spark's modes; each alone is a long form, and so is Duolog's broker, under which engines are
also killed.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource
from pyspark.sql import SparkSession

import waiting
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import Mode
from duolog.runtime.result_topics import create_result_topics
from duolog.testing import EmbeddedCluster
from fault.flow import TIMEOUT_S, Flow, ResultTables
from fault.journeys import RESULTS, TASKS, computed_in_one_batch, topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

BROKERS = ("embedded", "apache-kafka")
MODES = ("auto", "micro-batch", "real-time")
EVENTS_PER_SECOND = 400
EPOCH_MS = 2000


@pytest.fixture(scope="module")
def bootstrap_servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "embedded":
        with EmbeddedCluster() as cluster:
            yield cluster.bootstrap_servers
    else:
        yield request.getfixturevalue("kafka_peer").bootstrap_servers


class Run:
    """An application with unique names, and the events written to it."""

    def __init__(self, bootstrap_servers: str, directory: Path, mode: Mode) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.mode: Mode = mode
        self.prefix = f"{uuid.uuid4().hex[:8]}-"
        self.plan = topology(self.prefix).build()
        self.engine = Engine(EngineConfig(bootstrap_servers, directory, epoch_ms=EPOCH_MS))
        self.flow = Flow(bootstrap_servers, self.prefix, seed=1, per_second=EVENTS_PER_SECOND)
        self.flow.create_topics()
        create_result_topics(self.plan, bootstrap_servers)

    def start(self) -> RunningQuery:
        """Start the query, and return once it runs in its final mode."""
        query = self.engine.start(self.plan, f"{self.prefix}journeys", self.mode)
        self.wait_for(query, lambda: query.state == "running" and query.mode == self.last_mode)
        return query

    @property
    def last_mode(self) -> str:
        return "micro-batch" if self.mode == "micro-batch" else "real-time"

    def flow_while_it_starts(self) -> RunningQuery:
        """A flight that overtakes its airline in real time is correctly joined with none."""
        if self.mode != "real-time":
            self.flow.start()
            return self.start()
        query = self.start()
        self.wait_for(query, lambda: any(r.epoch_id >= 0 for r in query.reports()))
        self.flow.start()
        return query

    def wait_for(self, query: RunningQuery, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < deadline, "it did not happen in time"
            assert not query.wait(0.05), "the query ended"


@pytest.mark.parametrize(
    ("bootstrap_servers", "mode"),
    [
        pytest.param(
            broker, mode, marks=[pytest.mark.deep] * ((broker, mode) != ("apache-kafka", "auto"))
        )
        for broker in BROKERS
        for mode in MODES
    ],
    indirect=["bootstrap_servers"],
)
def test_restarts_and_mode_changes_with_data_in_flight_equal_the_batch(
    mode: Mode, bootstrap_servers: str, spark: SparkSession, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    run = Run(bootstrap_servers, tmp_path, mode)
    with run.flow as flow:
        query = run.flow_while_it_starts()
        time.sleep(1.5 * EPOCH_MS / 1000)
        query.stop()
        assert query.exception() is None
        query = run.start()
        time.sleep(1.5 * EPOCH_MS / 1000)
        expected = computed_in_one_batch(flow.stop())

    with ResultTables(bootstrap_servers, run.prefix) as results:
        deadline = time.monotonic() + TIMEOUT_S
        while results.read_all() != expected and time.monotonic() < deadline:
            assert not query.wait(0.2), "the query ended"
        query.stop()
        assert results.read_all() == expected
    assert query.exception() is None


@pytest.mark.parametrize("bootstrap_servers", BROKERS, indirect=True)
def test_result_tables_become_compacted_topics_with_a_partition_for_each_task(
    bootstrap_servers: str,
) -> None:
    prefix = f"{uuid.uuid4().hex[:8]}-"
    with Flow(bootstrap_servers, prefix, seed=1, per_second=1) as flow:
        flow.create_topics()

    create_result_topics(topology(prefix).build(), bootstrap_servers)

    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    names = [prefix + name for name in RESULTS]
    # Apache Kafka acknowledges a new topic before the broker's metadata has it.
    waiting.wait_until(
        lambda: set(names) <= set(admin.list_topics(timeout=TIMEOUT_S).topics),
        "the topics did not appear",
    )
    answers = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, n) for n in names])
    policies = {answer.result(TIMEOUT_S)["cleanup.policy"].value for answer in answers.values()}
    assert policies == {"compact"}
    topics = admin.list_topics(timeout=TIMEOUT_S).topics
    assert [len(topics[name].partitions) for name in names] == [TASKS] * len(names)
