"""Compare outputs and stores of `TopologyDriver` on the kernel and on the reference.

All share the JVM of the run.
"""

import json
from datetime import timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import batches_of
from duolog import (
    Processor,
    Record,
    Topology,
    col,
    count,
    partition,
    session,
    session_store,
    sum_,
    top_k,
    tumbling,
    wall_clock,
    window_store,
)
from duolog.core.errors import QueryError
from duolog.plan.partitioner import partition_of
from duolog.testing import TopologyDriver
from topologies import RawRecord, raw_records, topologies

pytestmark = pytest.mark.spark

EXAMPLES = 12
Form = Literal["reference", "kernel"]
FORMS: tuple[Form, ...] = ("reference", "kernel")


@pytest.fixture(params=FORMS)
def engine(request: pytest.FixtureRequest) -> Form:
    """Each form; the kernel form uses the JVM of the test run."""
    if request.param == "kernel":
        request.getfixturevalue("spark")
    form: Form = request.param
    return form


@settings(max_examples=EXAMPLES)
@given(
    topology=topologies(steps_max=4),
    records=st.lists(raw_records, min_size=4, max_size=12),
    tasks=st.sampled_from([1, 2]),
    cache_bytes_max=st.sampled_from([0, 1_000_000]),
)
def test_kernel_and_reference_write_and_store_the_same_rows(
    spark: SparkSession,
    topology: Topology,
    records: list[RawRecord],
    tasks: int,
    cache_bytes_max: int,
) -> None:
    plan = topology.build()
    seen: list[Any] = []
    for engine in FORMS:
        driver = TopologyDriver(
            topology, engine=engine, tasks=tasks, cache_bytes_max=cache_bytes_max
        )
        seen.append([])
        for (record,) in batches_of(plan, records, "each"):
            value = None if record.value is None else dict(zip("an", record.value, strict=True))
            driver.input_topic(record.topic).pipe_input(record.key, value, record.time)
            seen[-1].append(written_by(driver))
        driver.commit()
        seen[-1] += [written_by(driver), rows_of(driver)]
        driver.close()

    assert seen[0] == seen[1], topology.describe()


def written_by(driver: TopologyDriver) -> dict[str, Any]:
    """Return the output since the last call, with timestamps, headers and partitions."""
    return {
        topic: [
            (*one, one.headers, one.partition) for one in driver.output_topic(topic).read_records()
        ]
        for topic in driver.output_topics
    }


def rows_of(driver: TopologyDriver) -> dict[str, Any]:
    stores = {name: driver.store(name) for name in driver.stores}
    return {
        name: [(key, row, rows.timestamp_ms(key)) for key, row in rows.items()]
        for name, rows in stores.items()
    }


def stores_of_all_kinds() -> Topology:
    """Stores with internal entries: stream times, indices, versions, pages, expiry entries."""
    topology = Topology("kinds")
    topology.table(
        "users", key="name STRING", value="city STRING", store="users", history="1 day"
    ).to("u")
    old = topology.table("old", key="name STRING", value="n INT", store="old", ttl="10 s")
    old.to("o")
    visits = topology.stream("visits", key="name STRING", value="place STRING, n BIGINT")
    by_name = visits.group_by_key()
    by_name.materialized("sums").aggregate(total=sum_("n"), mean=sum_("n") / count()).to("sums")
    by_name.windowed_by(tumbling("10 s")).materialized("windows").count("n").to("windowed")
    by_name.windowed_by(session("5 s")).materialized("sessions").count("n").to("sessions")
    closed = by_name.windowed_by(tumbling("10 s", grace="0 s"), emit="on close")
    closed.materialized("closed", retention="30 s").count("n").to("closed")
    ranks = topology.table("ranks", key="name STRING", value="n INT")
    ranks.group_by("n").materialized("top").aggregate(top=top_k("name", 2)).to("top")
    held = visits.group_by("place", "name").count("n").suppress("1 minute")
    held.to("held")
    visits.map_values(at=partition()).with_headers(seen="yes").to("beside")
    return topology


def test_stores_of_all_kinds_can_be_queried(engine: Form) -> None:
    with TopologyDriver(stores_of_all_kinds(), engine=engine) as driver:
        visits = driver.input_topic("visits")
        for name, place, n, time in [
            ("bob", "park", 1, 1_000),
            ("amy", "park", 5, 2_000),
            ("bob", "zoo", 2, 8_000),
            ("bob", "park", 4, 21_000),
        ]:
            visits.pipe_input(name, {"place": place, "n": n}, time)
        users, old = driver.input_topic("users"), driver.input_topic("old")
        for city, time in [("Oslo", 1), ("Rome", 5), ("Bonn", 3)]:
            users.pipe_input("bob", {"city": city}, time)
        users.pipe_input("eve", None, 4)
        old.pipe_input("bob", {"n": 1}, 0)
        old.pipe_input("amy", {"n": 2}, 20_000)
        driver.input_topic("ranks").pipe_inputs([("bob", {"n": 1}), ("amy", {"n": 1})])

        assert driver.store("users") == {"bob": {"city": "Rome"}}
        assert driver.store("users").timestamp_ms("bob") == 5
        assert driver.store("old") == {"amy": {"n": 2}}
        sums = driver.store("sums")
        assert list(sums.items()) == [
            ("amy", {"total": 5, "mean": 5.0}),
            ("bob", {"total": 7, "mean": 7 / 3}),
        ]
        assert sums.get("eve") is None
        assert list(sums.range("b")) == ["bob"]
        assert list(sums.range(high="b")) == ["amy"]
        assert driver.store("windows").fetch("bob") == {(20_000, 30_000): {"n": 1}}
        both = {(0, 10_000): {"n": 2}, (20_000, 30_000): {"n": 1}}
        assert driver.store("closed").fetch("bob") == both
        sessions = driver.store("sessions")
        assert list(sessions.fetch_all(from_ms=21_000)) == [("bob", 21_000, 21_000)]
        assert sessions.find_sessions("bob", earliest_end_ms=9_000) == {(21_000, 21_000): {"n": 1}}
        held = driver.store(next(name for name in driver.stores if "suppress" in name))
        assert held[("park", "bob")] == {"n": 2}
        assert driver.store("top") == {1: {"top": ["bob", "amy"]}}


def test_headers_partition_and_clock_reach_the_topology(
    engine: Form,
) -> None:
    topology = Topology("beside")
    lines = topology.stream("lines", key="k STRING", value="a STRING", timestamp=wall_clock())
    lines.map_values("a", at=partition()).with_headers(seen="yes").to("out")
    driver = TopologyDriver(topology, engine=engine, wall_clock_ms=5)
    headers = (("trace", b"\x01"), ("none", None))

    driver.input_topic("lines").pipe_input("x", {"a": "1"}, headers=headers, partition=3)
    driver.advance_wall_clock_time(timedelta(seconds=2))
    driver.input_topic("lines").pipe_input("x", None, timestamp_ms=7)

    first, second = driver.output_topic("out").read_records()
    assert tuple(first) == ("x", {"a": "1", "at": 3}, 5)
    assert first.headers == (*headers, ("seen", b"yes"))
    assert second == ("x", None, 2005)


def test_record_cache_emits_the_last_update_at_the_commit(
    engine: Form,
) -> None:
    topology = Topology("cached")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().materialized("counts").count("n").to("out")
    driver = TopologyDriver(topology, engine=engine, cache_bytes_max=10_000)
    out = driver.output_topic("out")

    driver.input_topic("visits").pipe_inputs((name, {}) for name in ("b", "a", "b"))

    assert len(out) + len(driver.store("counts")) == 0
    driver.commit()
    assert out.read_key_values() == [("a", {"n": 1}), ("b", {"n": 2})]
    assert driver.store("counts") == {"a": {"n": 1}, "b": {"n": 2}}
    driver.commit()
    assert len(out) == 0


def test_failed_record_is_reported_and_the_next_one_processed(
    engine: Form,
) -> None:
    topology = Topology("sums")
    fares = topology.stream("fares", key="k STRING", value={"fare": "DECIMAL(38,0)"})
    fares.filter(col("fare").is_not_null()).group_by_key().aggregate(total=sum_("fare")).to("sums")
    huge = {"fare": 10**38 - 1}

    driver = TopologyDriver(topology, engine=engine)
    pipe = driver.input_topic("fares").pipe_input
    pipe("a", huge)
    with pytest.raises(QueryError, match=r'the record of topic "fares".* offset 1'):
        pipe("a", huge)
    pipe("b", {"fare": 1})
    assert [key for key, _ in driver.output_topic("sums").read_key_values()] == ["a", "b"]

    driver = TopologyDriver(
        topology, engine=engine, processing_exception_handler="log_and_continue"
    )
    driver.input_topic("fares").pipe_inputs([("a", huge), ("a", huge)])
    driver.input_topic("fares").pipe_bytes(b'"a"', b"no json")
    assert driver.skipped == 2


class Keeping(Processor):
    """Store records by minute and in sessions of ten seconds, and forward those found."""

    def process(self, record: Record) -> None:
        at = record.timestamp_ms
        windows, sessions = self.context.store("windows"), self.context.store("sessions")
        windows.put(record.key, record.value["n"], at // MINUTE * MINUTE)
        sessions.put(record.key, at, at + 10_000, record.value["n"])
        found = [
            [[one.key, one.start_ms, one.end_ms] for one, _ in store.all()]
            for store in (windows, sessions)
        ]
        self.context.forward(record.with_value({"found": json.dumps(found)}))


MINUTE = 60_000
TASKS = 3
# Three tasks: two names in one task, and one in another.
TOGETHER, APART = ("k0", "k1"), "k3"


def test_expired_windows_and_sessions_of_a_processor_are_not_returned(engine: Form) -> None:
    """Like Kafka Streams, hide rows older than the latest put less the retention, per task."""
    kept = {"key": "id STRING", "value": "n BIGINT", "retention": "2 minutes"}
    topology = Topology("keeping")
    came = topology.stream("in", key="id STRING", value="n BIGINT")
    stores = [window_store("windows", size="1 minute", **kept), session_store("sessions", **kept)]
    came.process(Keeping, stores=stores, value="found STRING").to("out")
    first, other = TOGETHER
    tasks = [partition_of(key.encode(), TASKS) for key in (first, other, APART)]
    assert tasks[0] == tasks[1] != tasks[2]

    with TopologyDriver(topology, engine=engine, tasks=TASKS) as driver:
        for key, minute in [(first, 0), (other, 0), (APART, 0), (first, 1), (other, 2)]:
            driver.input_topic("in").pipe_input(key, {"n": minute}, minute * MINUTE)
        *_, (_, last) = driver.output_topic("out").read_key_values()
        windows, sessions = driver.store("windows"), driver.store("sessions")

        assert list(windows) == [
            (first, MINUTE, 2 * MINUTE),
            (other, 2 * MINUTE, 3 * MINUTE),
            (APART, 0, MINUTE),
        ]
        assert list(sessions) == [
            (first, MINUTE, MINUTE + 10_000),
            (other, 2 * MINUTE, 2 * MINUTE + 10_000),
            (APART, 0, 10_000),
        ]
        assert windows.fetch(first) == {(MINUTE, 2 * MINUTE): {"n": 1}}
        assert sessions.find_sessions(other, earliest_end_ms=0) == {
            (2 * MINUTE, 2 * MINUTE + 10_000): {"n": 2}
        }
        own = [[list(key) for key in store if key[0] != APART] for store in (windows, sessions)]
        assert json.loads(last["found"]) == own, "as its processor finds them"
