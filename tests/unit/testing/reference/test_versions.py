"""Versioned tables in the topology driver: rows found by time."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.testing import TopologyDriver

MINUTE = 60_000


def priced(topology: Topology) -> None:
    prices = topology.table("prices", key="item STRING", value="price BIGINT", history="10 minutes")
    orders = topology.stream("orders", key="item STRING", value="pieces BIGINT")
    orders.left_join(prices).to("priced")
    prices.to("changes")
    prices.filter(col("price") > 1).group_by("price").count("items").to("by-price")


def driver() -> TopologyDriver:
    topology = Topology("shop")
    priced(topology)
    return TopologyDriver(topology)


def price(to: TopologyDriver, minute: int, price: int | None) -> None:
    value = None if price is None else {"price": price}
    to.input_topic("prices").pipe_input("pen", value, timestamp_ms=minute * MINUTE)


def price_of(to: TopologyDriver, minute: int) -> int | None:
    to.input_topic("orders").pipe_input("pen", {"pieces": 1}, timestamp_ms=minute * MINUTE)
    found: int | None = to.output_topic("priced").read_record().value["price"]
    return found


def test_a_record_finds_the_row_of_its_time_even_if_that_arrived_late() -> None:
    to = driver()
    for minute, now in ((20, 5), (12, 3), (16, None)):
        price(to, minute, now)

    found = [price_of(to, minute) for minute in (11, 12, 15, 16, 19, 20, 90)]

    assert found == [None, 3, 3, None, None, 5, 5]


def test_versions_older_than_the_history_are_neither_stored_nor_found() -> None:
    to = driver()
    for minute, now in ((1, 1), (2, 2), (14, 3), (3, 4)):
        price(to, minute, now)

    assert to.output_topic("changes").read_key_values() == [
        ("pen", {"price": 1}),
        ("pen", {"price": 2}),
        ("pen", {"price": 3}),
    ]
    assert [price_of(to, minute) for minute in (2, 3, 4, 13, 14)] == [None, None, 2, 2, 3]


def test_the_latest_row_is_found_at_any_age() -> None:
    to = driver()
    price(to, 1, 7)
    to.input_topic("prices").pipe_input("ink", {"price": 2}, timestamp_ms=500 * MINUTE)

    assert [price_of(to, minute) for minute in (0, 1, 100)] == [None, 7, 7]


def test_a_late_version_is_not_counted_in_a_group() -> None:
    to = driver()
    for minute, now in ((20, 5), (12, 3), (21, 4)):
        price(to, minute, now)

    assert to.output_topic("by-price").read_key_values() == [
        (5, {"items": 1}),
        (5, {"items": 0}),
        (4, {"items": 1}),
    ]


def test_an_empty_history_is_refused() -> None:
    with pytest.raises(StatementError, match='table "prices" has a history that is not positive'):
        Topology("shop").table("prices", key="k STRING", value="v STRING", history="0 s")


def waiting() -> TopologyDriver:
    topology = Topology("shop")
    prices = topology.table("prices", key="item STRING", value="price BIGINT", history="10 minutes")
    orders = topology.stream("orders", key="item STRING", value="pieces BIGINT")
    orders.left_join(prices, grace="5 minutes").to("priced")
    return TopologyDriver(topology)


def order(to: TopologyDriver, minute: int, pieces: int) -> None:
    at = minute * MINUTE
    to.input_topic("orders").pipe_input("pen", {"pieces": pieces}, timestamp_ms=at)


def test_records_wait_for_the_row_of_their_time_and_are_emitted_in_time_order() -> None:
    to = waiting()
    order(to, 12, 1)
    order(to, 10, 2)
    price(to, 11, 7)
    assert not to.output_topic("priced").read_records()

    order(to, 17, 3)

    assert to.output_topic("priced").read_key_values() == [
        ("pen", {"pieces": 2, "price": None}),
        ("pen", {"pieces": 1, "price": 7}),
    ]


def test_a_record_later_than_the_grace_period_does_not_wait() -> None:
    to = waiting()
    order(to, 12, 1)
    order(to, 6, 2)

    assert to.output_topic("priced").read_key_values() == [("pen", {"pieces": 2, "price": None})]


@pytest.mark.parametrize("history", [None, "4 minutes"])
def test_a_history_shorter_than_the_wait_is_refused(history: str | None) -> None:
    topology = Topology("shop")
    prices = topology.table("prices", key="item STRING", value="price BIGINT", history=history)
    orders = topology.stream("orders", key="item STRING", value="pieces BIGINT")

    with pytest.raises(StatementError, match="cannot wait 300000 ms") as refused:
        orders.join(prices, grace="5 minutes")

    assert "history=" in str(refused.value.hint)


def test_changes_of_a_versioned_table_cannot_be_suppressed() -> None:
    prices = Topology("shop").table("prices", key="k STRING", value="v STRING", history="1 day")

    with pytest.raises(StatementError, match="cannot buffer changes of versioned table"):
        prices.filter(col("v") != "x").suppress("1 minute")
