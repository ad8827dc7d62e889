"""Queries of stores through the test driver, without a JVM, and refusals."""

import math
from pathlib import Path

import pytest

from duolog import Application, Topology, tumbling
from duolog.core.errors import StatementError
from duolog.runtime.store_rows import StoredRow, StoreRows, table_of_store
from duolog.testing import TopologyDriver


def visits() -> Topology:
    topology = Topology("visits")
    read = topology.stream("visits", key="name STRING", value="place STRING, n BIGINT")
    read.group_by("place", "name").materialized("by-place").count("n").to("places")
    by_name = read.group_by_key()
    by_name.windowed_by(tumbling("10 s", grace="1 day")).materialized("windows").count("n").to("w")
    read.join(read, within="1 minute", grace="1 minute", prefix="o_").to("pairs")
    return topology


@pytest.fixture
def driver() -> TopologyDriver:
    driver = TopologyDriver(visits())
    for name, place, time in [
        ("bob", "zoo", 1_000),
        ("amy", "park", 12_000),
        ("bob", "park", 15_000),
        ("bob", None, 31_000),
    ]:
        driver.input_topic("visits").pipe_input(name, {"place": place}, time)
    return driver


def test_rows_are_a_read_only_mapping_in_key_order(
    driver: TopologyDriver,
) -> None:
    rows = driver.store("by-place")

    assert list(rows) == [("park", "amy"), ("park", "bob"), ("zoo", "bob")]
    assert rows.all() == dict(rows)
    assert rows.timestamp_ms(("park", "bob")) == 15_000
    assert not hasattr(rows, "__setitem__")
    assert repr(rows.range(("z", ""))) == "{('zoo', 'bob'): {'n': 1}}"


def test_a_range_has_both_its_ends_and_may_be_open(driver: TopologyDriver) -> None:
    rows = driver.store("by-place")

    assert list(rows.range(("park", "amy"), ("park", "bob"))) == [("park", "amy"), ("park", "bob")]
    assert list(rows.range(high=("park", "amy"))) == [("park", "amy")]
    assert list(rows.range(("park", "bob"))) == [("park", "bob"), ("zoo", "bob")]


def test_keys_are_found_by_prefix_or_by_their_first_column(
    driver: TopologyDriver,
) -> None:
    assert list(driver.store("by-place").prefix_scan("p")) == [("park", "amy"), ("park", "bob")]
    assert list(driver.store("by-place").prefix_scan("")) == list(driver.store("by-place"))
    assert not driver.store("by-place").prefix_scan("park ")
    assert {key[0] for key in driver.store("windows").prefix_scan("bo")} == {"bob"}
    assert driver.store("windows").position == {}


def test_a_number_has_no_prefix() -> None:
    topology = Topology("numbers")
    read = topology.stream("numbers", key="n INT", value="x INT")
    read.group_by_key().materialized("counted").count().to("counts")

    with pytest.raises(StatementError, match="have no prefix"):
        TopologyDriver(topology).store("counted").prefix_scan("1")


def test_windows_are_found_by_key_and_start_time(driver: TopologyDriver) -> None:
    rows = driver.store("windows")

    assert rows.fetch("bob") == {
        (0, 10_000): {"n": 1},
        (10_000, 20_000): {"n": 1},
        (30_000, 40_000): {"n": 1},
    }
    assert list(rows.fetch("bob", from_ms=10_000, to_ms=29_999)) == [(10_000, 20_000)]
    assert list(rows.fetch_all(to_ms=10_000)) == [
        ("amy", 10_000, 20_000),
        ("bob", 0, 10_000),
        ("bob", 10_000, 20_000),
    ]
    found = rows.find_sessions("bob", earliest_end_ms=20_000, latest_start_ms=29_999)
    assert list(found) == [(10_000, 20_000)]


def test_rows_of_nan_are_found_as_other_rows() -> None:
    topology = Topology("numbers")
    read = topology.stream("numbers", key="x DOUBLE", value="n INT")
    windowed = read.group_by_key().windowed_by(tumbling("10 ms", grace="1 day"))
    windowed.materialized("windows").count("n").to("w")
    table = table_of_store(topology.build(), "windows")
    kept = [StoredRow((x, at, at + 10), (at,), at) for x in (math.nan, 1.5) for at in (10, 0)]

    rows = StoreRows(table, kept)

    assert list(rows.fetch(math.nan)) == [(0, 10), (10, 20)]
    assert rows[float("nan"), 10, 20] == {"n": 10}
    assert [row["n"] for row in rows.values()] == [0, 10, 0, 10]
    assert list(rows.range(high=(2.0,))) == [(1.5, 0, 10), (1.5, 10, 20)]


def test_unsupported_lookups_are_refused_with_a_hint(driver: TopologyDriver) -> None:
    waits = next(
        store for node in visits().build().nodes for store in node.stores if "join" in store
    )

    with pytest.raises(StatementError, match=r'the store of ".*" is not windowed'):
        driver.store("by-place").fetch("bob")
    with pytest.raises(StatementError, match="not rows of a table") as caught:
        driver.store(waits)
    assert "Use one of by-place, windows" in caught.value.hint


def test_an_application_that_never_ran_has_no_rows_and_starts_no_jvm(tmp_path: Path) -> None:
    application = Application(visits(), bootstrap_servers="127.0.0.1:1", data_dir=tmp_path)

    store = application.store("by-place")

    assert store.get(("park", "bob")) is None
    assert store.all() == {}
    assert application.store("windows").fetch("bob", from_ms=0) == {}
    with pytest.raises(StatementError, match='unknown store "by-plaec"'):
        application.store("by-plaec")
    with pytest.raises(StatementError, match="is not windowed"):
        store.fetch("bob")
