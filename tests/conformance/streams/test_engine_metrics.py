"""Metrics of a running application: in its program, for Prometheus and `duolog top`."""

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology, col, count
from duolog.engine.query.metrics import Metrics
from duolog.engine.settings import Mode
from duolog.runtime.application import Application
from duolog.runtime.metrics import local_registry
from duolog.runtime.metrics.endpoint import serve_metrics
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S = 90
RECORDS = 20
BUYERS = 3


@pytest.fixture
def servers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    assert spark is not None, "the engine finds the session of this run"
    # A process has one metrics socket, and other tests of the run bind it elsewhere.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(local_registry, "_sockets", [])
    with EmbeddedCluster() as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for made in admin.create_topics([NewTopic("orders", 2, 1)]).values():
            made.result(WAIT_S)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(RECORDS):
            value = json.dumps({"buyer": f"b{number % 3}", "n": number % 2})
            producer.produce("orders", value, f"o{number}", number % 2)
        producer.produce("orders", b"{", "bad", 0)
        assert producer.flush(WAIT_S) == 0
        yield cluster.bootstrap_servers


def topology(name: str) -> Topology:
    made = Topology(name)
    orders = made.stream("orders", key="id STRING", value="buyer STRING, n BIGINT")
    orders.filter(col("n") > 0).group_by("buyer").aggregate(orders=count()).to("counts")
    return made


def processed(metrics: Metrics, node: str) -> int:
    return sum(
        one.process_total for task in metrics.tasks for one in task.nodes if one.node == node
    )


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_metrics_are_reported_by_node_topic_and_epoch(
    servers: str, tmp_path: Path, mode: Mode
) -> None:
    name = f"counted-{mode}"
    with Application(
        topology(name), bootstrap_servers=servers, data_dir=tmp_path / "data", mode=mode
    ) as application:
        query = application.start()
        assert query.wait_until_caught_up(WAIT_S)
        deadline = time.monotonic() + WAIT_S
        while not (measured := application.metrics()).state_rows and time.monotonic() < deadline:
            time.sleep(0.2)

        assert measured.records_in == RECORDS + 1
        assert measured.skipped == {"deserialization": 1}
        assert processed(measured, "filter-2") == RECORDS
        assert [(one.partition, one.lag_records) for one in measured.sources] == [(0, 0), (1, 0)]
        assert sum(one.records_consumed for one in measured.sources) == RECORDS + 1
        assert measured.records_out == sum(one.records_produced for one in measured.sinks) > 0
        assert measured.epochs.phases_ms["addBatch"] > 0
        assert measured.state_bytes > 0
        assert measured.state_rows == query.progress().state_rows == BUYERS
        for task in measured.tasks:
            for store in task.stores:
                counts = [node.process_total for node in task.nodes if node.node.startswith("agg")]
                assert store.counted_at_ms
                assert (store.bytes > 0) is (store.rows > 0) is (sum(counts) > 0)
        assert [one["application_id"] for one in local_registry.list_applications()] == [name]
        endpoint = serve_metrics("127.0.0.1:0")
        with urllib.request.urlopen(f"http://{endpoint.address}/metrics", timeout=WAIT_S) as page:
            text = page.read().decode()
        endpoint.close()

    assert f'duolog_records_in_total{{application_id="{name}"}} {RECORDS + 1}\n' in text
