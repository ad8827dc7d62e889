"""Repartition an application's state to another task count: its tables continue."""

import time
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine.errors import NotRepartitionable
from duolog.runtime.application import Application, Mode
from duolog.testing import Client, EmbeddedCluster
from fault.flow import Flow, ResultTables
from fault.journeys import SOURCES, Event, computed_in_one_batch, events, topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
EVENTS: Final = 400
SEED: Final = 1


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("tasks", "mode"),
    [
        (5, "micro-batch"),
        pytest.param(4, "real-time", marks=pytest.mark.deep),
        pytest.param(1, "micro-batch", marks=pytest.mark.deep),
    ],
)
def test_tables_and_aggregates_continue_with_another_task_count(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, tasks: int, mode: Mode
) -> None:
    """A join, second-level aggregates after it, and a table aggregate with retractions."""
    assert spark is not None, "the engine finds the session of this run"
    prefix = f"{uuid.uuid4().hex[:8]}-"
    address = cluster.bootstrap_servers
    incoming = events(Random(SEED))  # noqa: S311 - a seed that can be run again
    with (
        Flow(address, prefix, SEED, 0) as flow,
        ResultTables(address, prefix) as results,
        Application(
            topology(prefix),
            bootstrap_servers=address,
            data_dir=tmp_path,
            mode=mode,
            settings={"epoch.ms": "2000"},
        ) as application,
    ):
        flow.create_topics()
        flow.start()
        application.start()
        send_and_await(islice(incoming, EVENTS), flow, results, application)
        application.stop()

        done = application.repartition(tasks)

        assert (done.tasks_before, done.tasks) == (2, tasks)
        assert len(done.stores) == 5
        add_partitions(address, f"{prefix}flights", 5)
        application.start()
        send_and_await(islice(incoming, EVENTS), flow, results, application)
        application.stop()
        # Again, from another directory.
        application.repartition(tasks + 1)
        application.start()
        send_and_await(islice(incoming, EVENTS), flow, results, application)


def send_and_await(
    more: Iterator[Event], flow: Flow, results: ResultTables, application: Application
) -> None:
    for event in more:
        flow.send(event)
    expected = computed_in_one_batch(flow.sent)
    deadline = time.monotonic() + WAIT_S
    while (found := results.read_all()) != expected:
        assert application.query.exception() is None, application.query.exception()
        if time.monotonic() > deadline:
            assert found == expected
        time.sleep(0.2)
    # Results are visible before their micro-batch is committed, and a stop would abort the first
    # one off.
    assert application.query.wait_until_caught_up(WAIT_S)


def add_partitions(address: str, topic: str, count: int) -> None:
    assert count > SOURCES["flights"]
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_partitions([NewPartitions(topic, count)])[topic].result(30)


@pytest.mark.deep
def test_state_that_cannot_be_repartitioned_is_refused_and_kept(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    client.create_topic("visits", partitions=2)
    client.produce("visits", "ann", '{"n": 1}')
    windowed = Topology("windowed")
    visits = windowed.stream("visits", key="k STRING", value="n BIGINT")
    everyone = windowed.global_table("everyone", key="id STRING", value="m BIGINT")
    visits.join(everyone, on="k").to("visited")
    with Application(
        windowed, bootstrap_servers=cluster.bootstrap_servers, data_dir=tmp_path
    ) as application:
        assert application.start().wait_until_caught_up(WAIT_S)
        application.stop()
        pin = tmp_path / "checkpoints" / "windowed" / "application.json"
        before = pin.read_text()

        with pytest.raises(NotRepartitionable, match=r"does not choose tasks by the key"):
            application.repartition(4)

        assert pin.read_text() == before


def test_an_application_that_never_ran_has_no_state(tmp_path: Path) -> None:
    topology = Topology("never")
    topology.stream("visits", key="k STRING", value="n BIGINT").to("copies")
    application = Application(topology, bootstrap_servers="127.0.0.1:1", data_dir=tmp_path)

    with pytest.raises(NotRepartitionable, match='application "never" has no state'):
        application.repartition(4)
