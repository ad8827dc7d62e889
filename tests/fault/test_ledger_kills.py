"""Applications of the ledger are killed at points and at random times, and a checker reads what they have written.

The seed is printed, and a failing one can be given back: DUOLOG_SEED=123 pytest tests/fault/...
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.kafka.peer import KafkaPeer
from duolog.testing import EmbeddedCluster
from fault.campaign import Campaign, Strike, Tally, seed_of_run, strike_until
from fault.history import OF_AT_LEAST_ONCE
from fault.ledger import LEAST

pytestmark = pytest.mark.spark

KILLS = 20
CAMPAIGNS = 10
"""Campaigns of the long form, on the embedded broker, with KILLS kills each."""


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_each_result_is_written_once_if_the_jvm_dies_after_a_transaction(tmp_path: Path) -> None:
    """In micro-batches and in real time: results are committed before Spark records the epoch as done."""
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        campaign = Campaign(cluster, tmp_path, seed_of_run(), names=["each", "live"])
        tally = campaign.run([Strike("both", "transaction.committed", 2)])

    assert tally.kills == {"both at transaction.committed": 1}
    assert tally.anomalies == []


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_at_least_once_loses_nothing_and_writes_duplicates(tmp_path: Path) -> None:
    """Also that the checker sees what a JVM leaves that was killed with its results written and its state not."""
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        campaign = Campaign(cluster, tmp_path, seed_of_run(), names=["least"])
        tally = campaign.run([Strike("both", "sink.written")])

    assert tally.kills == {"both at sink.written": 1}
    assert tally.kinds["duplicate"] > 0
    assert tally.kinds.keys() <= OF_AT_LEAST_ONCE, tally.anomalies


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(CAMPAIGNS))
def test_each_result_is_written_once_whatever_is_killed(number: int, tmp_path: Path) -> None:
    seed = seed_of_run() + number
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        tally = strike_until(KILLS, Campaign(cluster, tmp_path, seed))

    assert tally.anomalies == []


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_each_result_is_written_once_to_apache_kafka(
    require_program: Callable[..., None], tmp_path: Path
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with KafkaPeer(tmp_path / "kafka") as kafka:
        tally = strike_until(KILLS, Campaign(kafka, tmp_path, seed_of_run()))

    assert tally.anomalies == []


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_at_least_once_loses_nothing_whatever_is_killed(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        campaign = Campaign(cluster, tmp_path, seed_of_run(), names=LEAST)
        tally: Tally = strike_until(KILLS, campaign)

    assert tally.kinds["duplicate"] > 0
    assert tally.kinds.keys() <= OF_AT_LEAST_ONCE, tally.anomalies
