"""A topic read as both stream and table: each record joins the row it wrote."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.engine.settings import Mode
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]

WAIT_S = 60
RECORDS = 400


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_record_joins_its_own_row_in_every_mode(
    spark: SparkSession, tmp_path: Path, mode: Mode
) -> None:
    """Regression: the topic was read twice; in real time the stream often came first."""
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("twice")
    stream = topology.stream("visits", key="user STRING", value="place BIGINT")
    table = topology.table("visits", key="user STRING", value="place BIGINT")
    stream.left_join(table, prefix="last_").to("joined")

    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = {"bootstrap.servers": cluster.bootstrap_servers}
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topics = [NewTopic("visits", 2, 1), NewTopic("joined", 1, 1)]
        for created in admin.create_topics(topics).values():
            created.result(30)
        config = EngineConfig(cluster.bootstrap_servers, tmp_path)
        query = Engine(config).start(topology.build(), "twice", mode)
        for _ in range(WAIT_S * 10):
            if query.mode == mode or query.wait(0.1):
                break
        time.sleep(2)  # In real time it waits for records.
        producer = Producer(client)
        for number in range(RECORDS):
            producer.produce("visits", json.dumps({"place": number}), f"u{number % 50}")
        assert producer.flush(30) == 0

        consumer = Consumer(client | {"group.id": "twice", "auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition("joined", 0, 0)])
        messages = consumer.consume(RECORDS, WAIT_S)
        consumer.close()
        query.stop()

    rows = [json.loads(message.value() or b"") for message in messages]
    assert sorted(row["place"] for row in rows) == list(range(RECORDS))
    assert [row for row in rows if row["last_place"] != row["place"]] == []
