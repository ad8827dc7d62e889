"""Rows that expire without updates: results of topologies, and errors."""

import pytest

from duolog import Topology, acc, col, lit, tumbling
from duolog.core.errors import StatementError
from duolog.testing import TopologyDriver


def test_an_expired_group_starts_over() -> None:
    topology = Topology("v")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    visits.group_by_key().materialized("kept", ttl="10 ms").count().to("out")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("visits").pipe_input

    for user, time in (("a", 0), ("b", 5), ("a", 9), ("b", 15), ("a", 18), ("b", 16)):
        pipe(user, {}, timestamp_ms=time)

    counts = [(key, value["count"]) for key, value in driver.output_topic("out").read_key_values()]
    assert counts == [("a", 1), ("b", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 2)]
    pipe("c", {}, timestamp_ms=27)
    assert driver.store("kept") == {"a": {"count": 3}, "c": {"count": 1}}


def test_a_join_does_not_find_expired_rows() -> None:
    topology = Topology("v")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    users = topology.table("users", key="user STRING", value="age INT", ttl="10 ms")
    visits.left_join(users.filter(col("age") > 0)).to("out")
    driver = TopologyDriver(topology)
    user, visit = (driver.input_topic(name).pipe_input for name in ("users", "visits"))

    user("a", {"age": 1}, timestamp_ms=0)
    visit("a", {}, timestamp_ms=30)
    user("b", {"age": 2}, timestamp_ms=10)
    visit("a", {}, timestamp_ms=30)
    visit("b", {}, timestamp_ms=30)

    ages = [value["age"] for _, value in driver.output_topic("out").read_key_values()]
    assert ages == [1, None, 2]


def test_rows_of_to_table_and_cogroups_expire_without_updates() -> None:
    topology = Topology("v")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    latest = visits.to_table("latest", ttl="10 ms")
    topology.stream("asked", key="user STRING", value="n INT").left_join(latest).to("out")
    counted = visits.group_by_key().cogroup({"c": acc("c") + 1}).materialized("both", ttl="10 ms")
    counted.aggregate(initializer={"c": lit(0)}).to("counted")
    driver = TopologyDriver(topology)
    visit, ask = (driver.input_topic(name).pipe_input for name in ("visits", "asked"))

    visit("a", {"place": "park"}, timestamp_ms=0)
    ask("a", {"n": 1}, timestamp_ms=0)
    visit("b", {"place": "pool"}, timestamp_ms=10)
    ask("a", {"n": 2}, timestamp_ms=10)
    visit("a", {"place": "zoo"}, timestamp_ms=11)

    found = [value["place"] for _, value in driver.output_topic("out").read_key_values()]
    assert found == ["park", None]
    counts = [(key, value["c"]) for key, value in driver.output_topic("counted").read_key_values()]
    assert counts == [("a", 1), ("b", 1), ("a", 1)]
    assert "not updated for 10 ms" in latest.node.expiry
    with pytest.raises(StatementError, match='cannot group table "to-table-2"'):
        latest.group_by("place").count()
    with pytest.raises(StatementError, match="the ttl must be positive"):
        visits.to_table(ttl="0 s")


def test_a_table_whose_rows_expire_cannot_be_grouped() -> None:
    topology = Topology("v")
    users = topology.table("users", key="user STRING", value="age INT", ttl="7 days")

    with pytest.raises(StatementError, match='cannot group table "filter-2"') as error:
        users.filter(col("age") > 3).group_by("age").count()
    assert "Its rows expire silently after 604800000 ms" in str(error.value.detail)
    users.to_stream().group_by("age").count()
    grouped = topology.table("t", key="k STRING", value="n INT").group_by("n")
    with pytest.raises(StatementError, match="cannot have a ttl"):
        grouped.materialized(ttl="1 day").count()
    orders = topology.table("orders", key="id STRING", value="user STRING")
    with pytest.raises(StatementError, match="cannot join by a foreign key table"):
        orders.join(users, on="user")


def test_windowed_rows_expire_with_their_windows() -> None:
    visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
    grouped = visits.group_by_key().materialized(ttl="1 day")

    with pytest.raises(StatementError, match="rows of windows cannot have a ttl"):
        grouped.windowed_by(tumbling("1 hour")).count()


def test_a_time_to_live_must_be_a_duration() -> None:
    with pytest.raises(StatementError, match="cannot read the ttl 'soon'"):
        Topology("v").table("users", key="user STRING", value="age INT", ttl="soon")
    with pytest.raises(StatementError, match="the ttl must be positive"):
        Topology("v").table("users", key="user STRING", value="age INT", ttl="0 s")
