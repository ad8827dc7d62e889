"""Interactive queries of a running application's stores, of each kind, in both modes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog import Topology, count, session, sum_, tumbling
from duolog.core.errors import StatementError
from duolog.plan.partitioner import partition_of
from duolog.runtime.application import Application, Mode
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 90
PARTITIONS: Final = 3
BEGIN_MS: Final = 100_000  # librdkafka takes the timestamp 0 for "now".
NAMES: Final = ("amy", "ann", "bob", "eve", "zoe")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


def topology(name: str) -> Topology:
    made = Topology(name)
    value = "place STRING, n BIGINT"
    orders = made.stream(f"{name}-orders", key="customer STRING", value=value)
    seats = made.table(
        f"{name}-seats", key="row INT, seat STRING", value="guest STRING", store="seats"
    )
    seats.to(f"{name}-guests")
    sums = orders.group_by_key().materialized("totals").aggregate(n=count(), total=sum_("n"))
    sums.to(f"{name}-totals")
    places = orders.group_by("place", "customer").materialized("by-place")
    places.count("n").to(f"{name}-places")
    windowed = orders.group_by_key().windowed_by(tumbling("10 s", grace="1 day"))
    windowed.materialized("hourly").count("n").to(f"{name}-hourly")
    over = orders.group_by_key().windowed_by(tumbling("4 s", grace="0 s")).materialized("recent")
    over.count("n").to(f"{name}-recent")
    orders.group_by_key().materialized("fresh", ttl="7 s").count("n").to(f"{name}-fresh")
    sessions = orders.group_by_key().windowed_by(session("5 s", grace="1 day"))
    sessions.materialized("visits").count("n").to(f"{name}-visits")
    return made


def order(client: Client, name: str, numbers: range) -> None:
    """Order `n` is of customer n mod 5, at n seconds after the start."""
    for n in numbers:
        value = json.dumps({"place": f"p{n % 2}", "n": n})
        client.produce(f"{name}-orders", NAMES[n % 5], value, timestamp_ms=BEGIN_MS + 1000 * n)


def wait_for(done: Callable[[], bool]) -> None:
    waiting.wait_until(done, "it was not committed in time", WAIT_S)


def totals(numbers: range) -> dict[str, dict[str, Any]]:
    of = {name: [n for n in numbers if NAMES[n % 5] == name] for name in NAMES}
    return {name: {"n": len(ns), "total": sum(ns)} for name, ns in of.items()}


@pytest.mark.parametrize(
    "mode",
    ["micro-batch", pytest.param("real-time", marks=pytest.mark.deep)],
)
def test_each_kind_of_store_query_returns_committed_rows(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    name = f"looks-{mode}"
    client = Client(cluster.bootstrap_servers)
    for topic in (
        "orders",
        "seats",
        "guests",
        "totals",
        "places",
        "hourly",
        "visits",
        "recent",
        "fresh",
    ):
        client.create_topic(
            f"{name}-{topic}", partitions=PARTITIONS, configs={"retention.ms": "-1"}
        )
    for seat, guest in (("1:a", "ann"), ("1:b", "bob"), ("2:a", "eve")):
        row, place = seat.split(":")
        key = json.dumps({"row": int(row), "seat": place})
        client.produce(f"{name}-seats", key, json.dumps({"guest": guest}))
    order(client, name, range(20))
    application = Application(
        topology(name),
        bootstrap_servers=cluster.bootstrap_servers,
        data_dir=tmp_path,
        mode=mode,
        settings={"epoch.ms": "2000", "class.archive": "false"},
    )
    with application:
        assert application.store("totals").all() == {}, "nothing was committed yet"
        application.start()
        wait_for(lambda: application.store("totals").all() == totals(range(20)))
        see_rows(application, range(20))
        see_windows(application)
        order(client, name, range(20, 25))
        wait_for(lambda: application.store("totals").all() == totals(range(25)))
        see_rows(application, range(25))
        see_what_is_not_over(application, range(25))
        application.stop()

        rows = application.store("totals").all()
        assert rows == totals(range(25)), "and when it has stopped"
        assert application.store("totals").all() is rows, "nothing was committed since"
        application.store("by-place").all()
        application.store("hourly").all()
        see_rows(application, range(25))
        with pytest.raises(StatementError, match='unknown store "total"'):
            application.store("total")
        with pytest.raises(StatementError, match="is not windowed"):
            application.store("totals").fetch("ann")
        with pytest.raises(StatementError, match="have no prefix"):
            application.store("seats").prefix_scan("1")


def see_rows(application: Application, numbers: range) -> None:
    store, expected = application.store("totals"), totals(numbers)
    assert store.get("ann") == expected["ann"]
    assert store.get("nobody") is None
    assert list(store.range("ann", "eve")) == ["ann", "bob", "eve"]
    assert list(store.range(high="ann")) == ["amy", "ann"]
    assert list(store.range("eve")) == ["eve", "zoe"]
    assert dict(store.prefix_scan("a")) == {name: expected[name] for name in ("amy", "ann")}
    assert not store.prefix_scan("x")
    rows = store.all()
    assert list(rows) == sorted(NAMES)
    assert rows.timestamp_ms("zoe") == max(BEGIN_MS + 1000 * n for n in numbers if n % 5 == 4)
    (position,) = [
        partitions for topic, partitions in rows.position.items() if topic.endswith("-orders")
    ]
    assert sum(position.values()) == len(numbers), "what it stands for: all of them"
    assert len(position) == PARTITIONS

    places = application.store("by-place")
    of = {(f"p{n % 2}", NAMES[n % 5]) for n in numbers}
    assert set(places.all()) == of
    ns = [n for n in numbers if n % 2 == 1 and NAMES[n % 5] == "bob"]
    assert places.get(("p1", "bob")) == {"n": len(ns)}
    assert set(places.prefix_scan("p1")) == {key for key in of if key[0] == "p1"}
    assert set(places.range(("p0", "eve"), ("p1", "ann"))) == {
        key for key in of if ("p0", "eve") <= key <= ("p1", "ann")
    }
    seats = application.store("seats")
    assert seats.get((1, "b")) == {"guest": "bob"}
    assert list(seats.range((1, "b"), (2, "a"))) == [(1, "b"), (2, "a")]


def see_what_is_not_over(application: Application, numbers: range) -> None:
    """Each partition expires by its own time; without grace, when the next window starts."""
    name = {n: NAMES[n % 5] for n in numbers}
    task = {n: partition_of(name[n].encode(), PARTITIONS) for n in numbers}
    assert len(set(task.values())) > 1
    latest = {one: max(n for n in numbers if task[n] == one) for one in task.values()}
    time_of = {n: BEGIN_MS + 1000 * n for n in numbers}
    starts = {n: time_of[n] // 4000 * 4000 for n in numbers}
    windows = {
        (name[n], starts[n], starts[n] + 4000): {"n": 1}
        for n in numbers
        if starts[n] == starts[latest[task[n]]]
    }
    assert application.store("recent").all() == windows
    fresh = {name[n] for n in numbers if time_of[n] > time_of[latest[task[n]]] - 7000}
    assert set(application.store("fresh").all()) == fresh


def see_windows(application: Application) -> None:
    """Among 20 orders, ann's are at 101, 106, 111 and 116 s."""
    hourly = application.store("hourly")
    assert hourly.fetch("ann") == {(100_000, 110_000): {"n": 2}, (110_000, 120_000): {"n": 2}}
    assert hourly.fetch("ann", from_ms=100_001, to_ms=110_000) == {(110_000, 120_000): {"n": 2}}
    assert hourly.fetch("ann", from_ms=110_001) == {}
    assert hourly.fetch("nobody") == {}
    assert hourly.get(("ann", 100_000, 110_000)) == {"n": 2}
    first = hourly.fetch_all(to_ms=100_000)
    assert set(first) == {(name, 100_000, 110_000) for name in NAMES}
    assert len(hourly.all()) == 2 * len(NAMES)
    assert set(hourly.prefix_scan("an")) == {("ann", 100_000, 110_000), ("ann", 110_000, 120_000)}

    visits = application.store("visits")
    found = visits.fetch("ann")
    assert found == {(101_000, 116_000): {"n": 4}}, "5 s apart is one session"
    assert visits.find_sessions("ann", earliest_end_ms=116_000, latest_start_ms=101_000) == found
    assert visits.find_sessions("ann", earliest_end_ms=116_001) == {}
    assert visits.find_sessions("ann", latest_start_ms=100_999) == {}
