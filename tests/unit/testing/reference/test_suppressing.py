"""Suppressed changes, in the driver without a JVM."""

import pytest

from duolog import Topology, count, tumbling
from duolog.testing import TopologyDriver
from duolog.testing.reference.suppressing import Full


def test_the_last_change_of_each_key_is_emitted_after_the_wait() -> None:
    topology = Topology("t")
    topology.table("users", key="name STRING", value="city STRING").suppress("5 ms").to("slow")
    driver = TopologyDriver(topology)
    users = driver.input_topic("users")

    for key, city, at in [("a", "x", 0), ("b", "x", 2), ("a", "y", 3), ("c", "z", 5)]:
        users.pipe_input(key, None if city is None else {"city": city}, at)
    first = driver.output_topic("slow").read_records()
    waiting = driver.store("suppress-2-store")
    users.pipe_input("c", None, 7)

    assert [tuple(record) for record in first] == [("a", {"city": "y"}, 3)]
    assert driver.output_topic("slow").read_key_values() == [("b", {"city": "x"})]
    assert waiting == {"b": {"city": "x"}, "c": {"city": "z"}}
    assert driver.store("suppress-2-store") == {}


def test_the_old_row_of_a_change_is_the_one_last_emitted() -> None:
    """Kafka Streams retracts the row before the last change, which was never emitted."""
    topology = Topology("t")
    slow = topology.table("users", key="name STRING", value="city STRING").suppress("5 ms")
    slow.group_by("city").count().to("cities")
    driver = TopologyDriver(topology)
    users = driver.input_topic("users")

    for city, at in [("x", 0), ("y", 6), ("z", 7), ("w", 20), ("w", 30)]:
        users.pipe_input("a", {"city": city}, at)

    assert driver.output_topic("cities").read_table() == {
        "y": {"count": 0},
        "w": {"count": 1},
    }


def test_the_buffer_is_bounded() -> None:
    def driver_of(**limits: object) -> TopologyDriver:
        topology = Topology("t")
        users = topology.table("users", key="name STRING", value="city STRING")
        users.suppress("1 minute", max_records=2, **limits).to("out")  # type: ignore[arg-type]
        return TopologyDriver(topology)

    eager, strict = driver_of(), driver_of(when_full="shut down")
    for at, key in enumerate("bca"):
        eager.input_topic("users").pipe_input(key, {"city": key}, at)

    assert eager.output_topic("out").read_key_values() == [("b", {"city": "b"})]
    strict.input_topic("users").pipe_inputs([("b", {"city": "b"}), ("c", {"city": "c"})])
    with pytest.raises(Full, match="but has 3"):
        strict.input_topic("users").pipe_input("a", {"city": "a"})


def test_results_are_emitted_after_their_windows_close() -> None:
    topology = Topology("t")
    visits = topology.stream("visits", key="user STRING", value="n INT")
    windows = tumbling("10 ms", grace="5 ms")
    grouped = visits.group_by_key()
    grouped.windowed_by(windows, emit="on close").aggregate(c=count()).to("closed")
    grouped.windowed_by(windows).aggregate(c=count()).suppress(until="window close").to("held")
    driver = TopologyDriver(topology)

    for user, at in [("b", 1), ("a", 3), ("b", 12), ("a", 14), ("b", 15), ("a", 4), ("a", 30)]:
        driver.input_topic("visits").pipe_input(user, {"n": 1}, at)

    closed = driver.output_topic("closed").read_key_values()
    assert [value["c"] for _, value in closed] == [1, 1, 1, 2]
    assert driver.output_topic("held").read_key_values() == closed
