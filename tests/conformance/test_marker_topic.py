"""Topics with the name of an application's marker, on a broker; the kernel is a mock."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest.mock import MagicMock

import pytest
from confluent_kafka import Producer

from duolog.engine import EngineConfig
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.errors import ChangelogMismatch
from duolog.engine.query.launch.launcher import Launcher
from duolog.testing import Client, EmbeddedCluster
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(60)

COMPACTED: Final = {"cleanup.policy": "compact"}
OWNER: Final = json.dumps({"claim": "c", "host": "h", "pid": 1, "checkpoint": "/c"})
EPOCH: Final = json.dumps({"query": "q", "epoch": 5})


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


def open_transactions(cluster: EmbeddedCluster, directory: Path, name: str) -> MagicMock:
    """Start exactly-once writes; return the mock of the kernel's entry point."""
    session = MagicMock()
    kernel: MagicMock = session.kernel.return_value
    kernel.markers.return_value = kernel.open.return_value = "{}"
    config = EngineConfig(cluster.bootstrap_servers, directory, exactly_once=True)
    spec = {"application_id": name, "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(session, config, Checkpoint(directory / name), spec)
    launcher.transactions.open("micro-batch", None)
    return kernel


def test_user_topic_with_the_name_of_the_marker_is_not_written(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("billing-epochs", partitions=6)
    client.create_topic("shop-epochs", partitions=1, configs=COMPACTED)
    client.produce("shop-epochs", "stone age", "of the shop")
    client.create_topic("rock-epochs", partitions=1, configs=COMPACTED)
    client.produce("rock-epochs", "epoch", "no marker")

    with pytest.raises(ChangelogMismatch, match=r'"billing-epochs" is not the marker') as many:
        open_transactions(cluster, tmp_path, "billing")
    with pytest.raises(ChangelogMismatch, match=r'"shop-epochs" is not the marker') as other:
        open_transactions(cluster, tmp_path, "shop")
    with pytest.raises(ChangelogMismatch, match=r'"rock-epochs" is not the marker'):
        open_transactions(cluster, tmp_path, "rock")

    assert "6 partitions" in many.value.detail
    assert '"stone age"' in other.value.detail
    assert len(client.read("shop-epochs")) == 1


def test_marker_topic_with_time_retention_is_refused(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("rests-epochs", partitions=1, configs={"cleanup.policy": "delete"})
    client.produce("rests-epochs", "owner", OWNER)

    with pytest.raises(ChangelogMismatch, match=r'"rests-epochs" has cleanup\.policy=delete'):
        open_transactions(cluster, tmp_path, "rests")


def test_existing_and_missing_marker_topics_are_accepted(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("sales-epochs", partitions=1, configs=COMPACTED)
    for _ in range(120):
        client.produce("sales-epochs", "owner", OWNER)
        client.produce("sales-epochs", "epoch", EPOCH)
    client.create_topic("fresh-epochs", partitions=1, configs=COMPACTED)

    for name in ("sales", "fresh", "first"):
        assert open_transactions(cluster, tmp_path, name).open.called


@pytest.mark.parametrize("owners", [0, 49, 60, 6000])
def test_marker_is_found_after_many_later_starts(cluster: EmbeddedCluster, owners: int) -> None:
    """Each start writes its owner, so the marker can be far from the end of the topic."""
    topic = f"often{owners}-epochs"
    client = Client(cluster.bootstrap_servers)
    client.create_topic(topic, partitions=1, configs=COMPACTED)
    client.produce(topic, "epoch", json.dumps({"query": "before", "epoch": 4}))
    client.produce(topic, "epoch", EPOCH)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for _ in range(owners):
        producer.produce(topic, OWNER, "owner")
    assert producer.flush(30) == 0

    found = "".join(run_java("TransactionMarkerScan", f"often{owners}", cluster.bootstrap_servers))

    assert json.loads(found)["epoch"] == json.loads(EPOCH)
