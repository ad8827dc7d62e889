"""Compare `distinct` with a loop over the records: the first of each key in a period."""

from random import Random
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, col, session
from duolog.core.errors import StatementError
from duolog.testing import TopologyDriver

pytestmark = pytest.mark.spark

Form = Literal["reference", "kernel"]
Given = tuple[str | None, dict[str, Any] | None, int]
WITHIN_MS = 10


def records(seed: int, many: int) -> list[Given]:
    """Return records with many duplicates, some late by less than the period."""
    drawn = Random(seed)  # noqa: S311 - the same each time
    return [
        (
            drawn.choice(["x", "y"]),
            {"id": drawn.choice("abcdef"), "n": number},
            100 + number * 2 - drawn.randrange(WITHIN_MS),
        )
        for number in range(many)
    ]


def expected(given: list[Given], *, by: str) -> list[Given]:
    found, since = list[Given](), dict[Any, int]()
    for key, value, time in given:
        assert value is not None
        same = key if by == "user" else value[by]
        if same not in since or abs(time - since[same]) >= WITHIN_MS:
            since[same] = max(time, since.get(same, time))
            found.append((key, value, time))
    return found


def deduplicated(
    engine: Form, given: list[Given], *, tasks: int = 1, cache_bytes_max: int = 0
) -> dict[str, list[Any]]:
    topology = Topology("events")
    events = topology.stream("events", key="user STRING", value="id STRING, n BIGINT")
    events.distinct(by="id", within="10 ms").to("by-id")
    events.distinct(within="10 ms", store="users").to("by-user")
    counted = events.distinct(by=["id"], within="10 ms").group_by_key().count("c")
    counted.to_stream().to("counted")
    with TopologyDriver(
        topology, engine=engine, tasks=tasks, cache_bytes_max=cache_bytes_max
    ) as driver:
        for number, (key, value, time) in enumerate(given):
            headers = (("n", b"%d" % number),)
            driver.input_topic("events").pipe_input(key, value, time, headers=headers)
        driver.commit()
        return {
            name: list(driver.output_topic(name).read_records()) for name in driver.output_topics
        }


@pytest.mark.parametrize("cache_bytes_max", [0, 1_000_000])
@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_first_record_of_each_key_is_forwarded_unchanged(
    spark: SparkSession, engine: Form, cache_bytes_max: int
) -> None:
    assert spark is not None, "drivers find the session of this run"
    given = records(1, 200)

    out = deduplicated(engine, given, cache_bytes_max=cache_bytes_max)

    assert out["by-id"] == expected(given, by="id")
    assert out["by-user"] == expected(given, by="user")
    assert 20 < len(out["by-id"]) < 150
    numbers = [one.value["n"] for one in out["by-id"]]
    assert [one.headers for one in out["by-id"]] == [(("n", b"%d" % n),) for n in numbers]
    last = {one.key: one.value["c"] for one in out["counted"]}
    keys = [key for key, _, _ in expected(given, by="id")]
    assert last == {key: keys.count(key) for key in keys}


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_duplicates_in_different_partitions_are_found(spark: SparkSession, engine: Form) -> None:
    assert spark is not None
    given: list[Given] = [(f"u{n}", {"id": "a", "n": n}, 100) for n in range(8)]

    assert len(deduplicated(engine, given, tasks=3)["by-id"]) == 1


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_state_does_not_grow_with_keys(spark: SparkSession, engine: Form) -> None:
    assert spark is not None
    topology = Topology("events")
    events = topology.stream("events", key="user STRING", value="id BIGINT")
    events.distinct(by="id", within="10 ms", store="seen").to("out")
    with TopologyDriver(topology, engine=engine) as driver:
        for number in range(200):
            driver.input_topic("events").pipe_input("u", {"id": number}, number)
        kept = len(list(driver.store("seen").items()))
        found = len(driver.output_topic("out").read_records())

    assert (found, kept <= 20) == (200, True)


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_records_without_a_comparison_value_are_dropped(spark: SparkSession, engine: Form) -> None:
    assert spark is not None
    given: list[Given] = [
        ("x", None, 1),
        ("x", {"id": None, "n": 1}, 2),
        (None, {"id": "a", "n": 2}, 3),
    ]

    out = deduplicated(engine, given)

    assert out["by-id"] == [(None, {"id": "a", "n": 2}, 3)]
    assert out["by-user"] == [("x", {"id": None, "n": 1}, 2)]


def test_records_can_be_compared_by_expressions() -> None:
    topology = Topology("events")
    events = topology.stream("events", key="user STRING", value="id STRING, n BIGINT")
    events.distinct(by=col("id").lower().alias("same"), within="1 hour").to("out")
    with TopologyDriver(topology) as driver:
        for number, name in enumerate(["A", "a", "b"]):
            driver.input_topic("events").pipe_input("u", {"id": name, "n": number}, 0)
        found = driver.output_topic("out").read_key_values()

    assert found == [("u", {"id": "A", "n": 0}), ("u", {"id": "b", "n": 2})]


def test_stream_without_a_comparison_value_is_refused() -> None:
    topology = Topology("events")
    events = topology.stream("events", value="id STRING")
    with pytest.raises(StatementError):
        events.distinct(within="1 hour")
    with pytest.raises(StatementError, match="0 ms"):
        events.distinct(by="id", within="0 ms")
    counted = events.group_by("id").windowed_by(session("1 hour")).count("n").to_stream()
    with pytest.raises(StatementError, match="window"):
        counted.distinct(within="1 hour")
