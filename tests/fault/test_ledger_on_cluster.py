"""Applications of the ledger on a Spark cluster, each result once: executors, workers and drivers are killed at points.

What is seen at the end is checked by `history`. The seed is printed, and can be given back by
DUOLOG_SEED.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from conformance.kafka.peer import KafkaPeer
from duolog.testing import EmbeddedCluster, SparkCluster
from fault.campaign import Broker, Campaign, Strike, seed_of_run, strike_until

KILLS: Final = 12
NAMES: Final = ("each", "live")
"""In micro-batches and in real time."""

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(3600)]


@contextlib.contextmanager
def machines(directory: Path) -> Iterator[SparkCluster]:
    with SparkCluster(directory / "spark", cores=16, memory="2g") as cluster:
        yield cluster


@contextlib.contextmanager
def broker_of(kind: str, directory: Path, require: Callable[..., None]) -> Iterator[Broker]:
    if kind == "embedded":
        with EmbeddedCluster(directory / "broker") as broker:
            yield broker
        return
    require("java", package="openjdk-17-jre-headless")
    require("mvn", package="maven")
    with KafkaPeer(directory / "kafka") as peer:
        yield peer


STRIKES: Final = [
    Strike("executor", "sink.written", 3),
    Strike("executor", "executor.named", 2),
    Strike("jvm", "transaction.decided", 2),
    Strike("both", "transaction.end", 4),
    Strike("python", "transaction.commit", 3),
    Strike("both", "transaction.committed", 2),
    Strike("worker"),
]


@pytest.mark.parametrize("broker", ["embedded", "kafka"])
def test_each_result_is_written_once_whichever_cluster_process_is_killed(
    broker: str, require_program: Callable[..., None], tmp_path: Path
) -> None:
    with broker_of(broker, tmp_path, require_program) as servers, machines(tmp_path) as cluster:
        campaign = Campaign(servers, tmp_path, seed_of_run(), names=NAMES, cluster=cluster)
        tally = campaign.run(STRIKES)

    assert tally.anomalies == []
    assert tally.kills.total() >= len(STRIKES)
    assert tally.kills["both at transaction.end"] == 1, "no executor arrived"
    assert tally.kills["jvm at transaction.decided"] == 1, "no executor arrived"


def test_each_result_is_written_once_whatever_is_killed_on_a_cluster(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path / "broker") as broker, machines(tmp_path) as cluster:
        campaign = Campaign(broker, tmp_path, seed_of_run(), names=NAMES, cluster=cluster)
        tally = strike_until(KILLS, campaign)

    assert tally.anomalies == []
