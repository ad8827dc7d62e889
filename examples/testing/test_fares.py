"""Tests of the topology in `fares.py`: `python -m pytest examples/testing`."""

import json
from pathlib import Path

import pytest
from fares import topology

from duolog.testing import Client, EmbeddedCluster, TopologyDriver


@pytest.fixture
def driver() -> TopologyDriver:
    return TopologyDriver(topology)


def test_each_ride_changes_what_its_rider_has_spent(driver: TopologyDriver) -> None:
    rides = driver.input_topic("rides")

    rides.pipe_input("r1", {"rider": "ann", "fare": 10})
    rides.pipe_input("r2", {"rider": "bob", "fare": 7})
    rides.pipe_input("r3", {"rider": "ann", "fare": 30})

    assert driver.output_topic("spent-by-rider").read_key_values() == [
        ("ann", {"rides": 1, "total": 10.0, "mean": 10.0}),
        ("bob", {"rides": 1, "total": 7.0, "mean": 7.0}),
        ("ann", {"rides": 2, "total": 40.0, "mean": 20.0}),
    ]
    assert driver.store("spent")["ann"]["total"] == 40.0


def test_free_ride_is_ignored(driver: TopologyDriver) -> None:
    driver.input_topic("rides").pipe_input("r1", {"rider": "ann", "fare": 0})

    assert len(driver.output_topic("spent-by-rider")) == 0
    assert driver.store("spent") == {}


def test_expensive_ride_is_compared_with_a_mean_that_includes_it(driver: TopologyDriver) -> None:
    rides = driver.input_topic("rides", timestamp_ms=1_000, advance_ms=60_000)

    rides.pipe_inputs((f"r{n}", {"rider": "ann", "fare": 10}) for n in range(4))
    rides.pipe_input("r4", {"rider": "ann", "fare": 100})

    dear = driver.output_topic("dear-rides").read_record()
    assert (dear.key, dear.value) == ("ann", {"id": "r4", "fare": 100.0, "mean": 28.0})
    assert dear.timestamp_ms == 241_000


def test_record_that_is_not_json_is_skipped(driver: TopologyDriver) -> None:
    driver.input_topic("rides").pipe_bytes(b"r1", b"{")

    assert driver.skipped == 1


def test_engine_and_driver_have_the_same_results(tmp_path: Path) -> None:
    """Verify on a cluster what the driver cannot test; takes some seconds to start a JVM."""
    from duolog import Application  # noqa: PLC0415 - the tests above need none

    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("rides", partitions=2)
        for ride in range(4):
            client.produce("rides", f"r{ride}", '{"rider": "ann", "fare": 10}')
        with Application(
            topology, bootstrap_servers=cluster.bootstrap_servers, data_dir=tmp_path
        ) as application:
            query = application.start()
            assert query.wait_until_caught_up(timeout_s=120)

        last = client.read("spent-by-rider")[-1]
        assert json.loads(last.value or b"") == {"rides": 4, "total": 40.0, "mean": 10.0}
