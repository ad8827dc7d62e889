"""Derived records inherit headers, on Spark with default settings."""

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.settings import Mode
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

WAIT_S = 60
TRACE: list[tuple[str, str | bytes | None]] = [
    ("trace", b"\x00\xff"),
    ("retry", None),
    ("trace", b""),
]
TOPICS = ("flights", "airlines", "joined", "counted")


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_joins_and_counts_inherit_the_headers_of_the_stream_record(
    mode: Mode, spark: SparkSession, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("headers")
    flights = topology.stream("flights", key="id STRING", value="carrier STRING")
    airlines = topology.table("airlines", key="code STRING", value="name STRING")
    joined = flights.join(airlines, on="carrier")
    joined.to("joined")
    joined.group_by("name").count().to("counted")

    with EmbeddedCluster() as cluster:
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        for made in admin.create_topics([NewTopic(name, 2, 1) for name in TOPICS]).values():
            made.result(WAIT_S)
        producer = Producer({"bootstrap.servers": servers})
        producer.produce("airlines", b'{"name":"American"}', b"AA", headers=[("of", b"table")])
        producer.flush(WAIT_S)
        query = Engine(EngineConfig(servers, tmp_path, epoch_ms=2000)).start(
            topology.build(), f"headers-{mode}", mode
        )
        assert query.wait_until_caught_up(WAIT_S)
        producer.produce("flights", b'{"carrier":"AA"}', b"1", headers=TRACE)
        producer.flush(WAIT_S)
        found = {**read(servers, "joined"), **read(servers, "counted")}
        query.stop()

    assert query.exception() is None
    assert found == {"joined": TRACE, "counted": TRACE}


def read(servers: str, topic: str) -> dict[str, Any]:
    """Return the headers of the first record of a topic, by the topic."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + WAIT_S
    message = None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(1)
    consumer.close()
    assert message is not None, f"nothing in {topic}"
    return {topic: message.headers()}
