from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from duolog import Topology, col, count, session, sum_, tumbling
from duolog.core.errors import QueryError, SerdeError, StatementError
from duolog.testing import TopologyDriver


def counted() -> Topology:
    topology = Topology("counted")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().materialized("counts").count("visits").to("visits-by-name")
    return topology


def test_every_update_of_a_table_is_written_in_order() -> None:
    driver = TopologyDriver(counted())

    driver.input_topic("visits").pipe_inputs((name, {"place": "park"}) for name in ("b", "a", "b"))

    out = driver.output_topic("visits-by-name")
    assert len(out) == 3
    assert out.read_record() == ("b", {"visits": 1}, 0)
    assert out.read_key_values() == [("a", {"visits": 1}), ("b", {"visits": 2})]
    assert len(out) == 0
    with pytest.raises(LookupError, match='topic "visits-by-name" has no unread record'):
        out.read_record()


def test_a_record_is_fully_processed_before_the_next_one() -> None:
    """As in Kafka Streams' driver, each visit finds the current count after a shuffle."""
    topology = Topology("levels")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    by_place = visits.group_by("place").count("visits")
    by_place.group_by("visits").count("places").to("places-by-visits")
    driver = TopologyDriver(topology)

    driver.input_topic("visits").pipe_inputs([("a", {"place": "park"}), ("b", {"place": "park"})])

    out = driver.output_topic("places-by-visits")
    assert out.read_key_values() == [
        (1, {"places": 1}),
        (1, {"places": 0}),
        (2, {"places": 1}),
    ]


def test_a_table_contains_the_last_row_of_each_key_without_deleted_ones() -> None:
    topology = Topology("users")
    users = topology.table("users", key="name STRING", value="city STRING", store="users")
    users.to("copy")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("users").pipe_input

    pipe("bob", {"city": "Oslo"})
    pipe("amy", {"city": "Rome"})
    pipe("bob", None)
    pipe("amy", {"city": "Bonn"})

    assert driver.store("users") == {"amy": {"city": "Bonn"}}
    assert driver.output_topic("copy").read_table() == {"amy": {"city": "Bonn"}}


def test_the_store_of_an_aggregate_shows_results_and_not_accumulators() -> None:
    topology = Topology("mean")
    fares = topology.stream("fares", key="rider STRING", value="fare DOUBLE")
    by_rider = fares.group_by_key().materialized("mean")
    by_rider.aggregate(mean=sum_("fare") / count()).to("means")
    driver = TopologyDriver(topology)

    driver.input_topic("fares").pipe_inputs([("ann", {"fare": 1.0}), ("ann", {"fare": 4.0})])

    assert driver.stores == ("mean",)
    assert driver.store("mean") == {"ann": {"mean": 2.5}}


@dataclass
class Key:
    row: int
    seat: str


@pytest.mark.parametrize("key", [(1, "a"), {"seat": "a", "row": 1}])
def test_a_key_of_several_columns_is_a_tuple(key: object) -> None:
    topology = Topology("seats")
    seats = topology.table("seats", key=Key, value={"guests": list[str]}, store="seats")
    seats.to("taken")
    driver = TopologyDriver(topology)

    driver.input_topic("seats").pipe_input(key, {"guests": ["ann"]})

    assert driver.store("seats") == {(1, "a"): {"guests": ["ann"]}}
    assert driver.output_topic("taken").read_table() == {(1, "a"): {"guests": ["ann"]}}


@dataclass
class Click:
    page: str
    seconds: float | None = None


def test_values_may_be_rows_or_dataclasses_and_missing_columns_are_null() -> None:
    topology = Topology("clicks")
    topology.stream("clicks", key=str, value=Click).to("copy")
    topology.stream("lines", value=str).to("plain", value_format="KAFKA")
    driver = TopologyDriver(topology)

    driver.input_topic("clicks").pipe_input("ann", Click("home", 1.5))
    driver.input_topic("clicks").pipe_input("ann", {"page": "shop"})
    driver.input_topic("lines").pipe_input(None, "hello")

    assert driver.output_topic("copy").read_key_values() == [
        ("ann", {"page": "home", "seconds": 1.5}),
        ("ann", {"page": "shop", "seconds": None}),
    ]
    assert driver.output_topic("plain").read_key_values() == [(None, "hello")]


def test_times_come_from_the_record_the_topic_or_the_wall_clock() -> None:
    topology = Topology("copy")
    topology.stream("lines", value=str).to("copy")
    driver = TopologyDriver(topology, wall_clock_ms=5)
    from_clock = driver.input_topic("lines")
    from_topic = driver.input_topic("lines", timestamp_ms=100, advance_ms=10)

    from_clock.pipe_input(None, "a")
    driver.advance_wall_clock_time(timedelta(seconds=2))
    from_clock.pipe_input(None, "b")
    from_topic.pipe_input(None, "c")
    from_topic.pipe_input(None, "d", timestamp_ms=7)
    from_topic.pipe_input(None, "e")

    times = [record.timestamp_ms for record in driver.output_topic("copy").read_records()]
    assert times == [5, 2005, 100, 7, 110]


def test_records_written_to_an_input_topic_are_read() -> None:
    topology = Topology("twice")
    first = topology.stream("first", key="k STRING", value="n BIGINT")
    first.map_values(n=col("n") + 1).to("second")
    second = topology.stream("second", key="k STRING", value="n BIGINT")
    second.group_by_key().materialized("sums").aggregate(total=sum_("n")).to("sums")
    driver = TopologyDriver(topology)

    driver.input_topic("first").pipe_inputs([("a", {"n": 1}), ("a", {"n": 2})])

    assert driver.output_topic("second").read_key_values() == [("a", {"n": 2}), ("a", {"n": 3})]
    assert driver.output_topic("sums").read_key_values() == [
        ("a", {"total": 2}),
        ("a", {"total": 5}),
    ]


def test_a_record_that_cannot_be_processed_fails_the_test_or_is_skipped() -> None:
    topology = Topology("sums")
    fares = topology.stream("fares", key="k STRING", value={"fare": "DECIMAL(38,0)"})
    fares.group_by_key().aggregate(total=sum_("fare")).to("sums")
    huge = {"fare": 10**38 - 1}

    driver = TopologyDriver(topology)
    driver.input_topic("fares").pipe_input("a", huge)
    with pytest.raises(QueryError, match='cannot process the record of topic "fares", offset 1'):
        driver.input_topic("fares").pipe_input("a", huge)

    driver = TopologyDriver(topology, processing_exception_handler="log_and_continue")
    driver.input_topic("fares").pipe_inputs([("a", huge), ("a", huge)])
    assert driver.skipped == 1
    assert len(driver.output_topic("sums")) == 1


def test_unreadable_bytes_are_skipped() -> None:
    driver = TopologyDriver(counted())

    driver.input_topic("visits").pipe_bytes(b"a", b"no json")
    driver.input_topic("visits").pipe_input("a", {"place": "park"}, timestamp_ms=-1)

    assert driver.skipped == 2
    assert driver.store("counts") == {}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d: d.input_topic("vists"), 'unknown source topic "vists"'),
        (lambda d: d.output_topic("visits"), 'unknown result topic "visits"'),
        (lambda d: d.store("count"), 'unknown store "count"'),
        (lambda d: d.input_topic("visits").pipe_input("a", {"plce": 1}), 'unknown column "plce"'),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(
    act: Callable[[TopologyDriver], object], message: str
) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        act(TopologyDriver(counted()))

    assert "Did you mean" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (("a", "b"), {}, "is not a key of topic"),
        (7, {}, 'cannot write column "name"'),
        ("a", "park", "is not a value of topic"),
        ("a", {"place": b"park"}, "cannot write a row as JSON"),
    ],
)
def test_values_that_do_not_fit_the_columns_are_refused(
    key: object, value: object, message: str
) -> None:
    with pytest.raises(SerdeError, match=message):
        TopologyDriver(counted()).input_topic("visits").pipe_input(key, value)


def test_windows_are_tuples_in_keys_and_late_records_change_nothing() -> None:
    topology = Topology("windowed")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    windowed = visits.group_by_key().windowed_by(tumbling("10 s"))
    windowed.materialized("counts").count("visits").to("visits-by-name")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("visits").pipe_input

    for time in (1_000, 2_000, 11_000, 3_000):
        pipe("b", {"place": "park"}, time)

    assert driver.output_topic("visits-by-name").read_key_values() == [
        (("b", 0, 10_000), {"visits": 1}),
        (("b", 0, 10_000), {"visits": 2}),
        (("b", 10_000, 20_000), {"visits": 1}),
    ]
    assert list(driver.store("counts")) == [("b", 10_000, 20_000)]


def test_a_record_between_two_sessions_merges_them() -> None:
    topology = Topology("sessions")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().windowed_by(session("5 s", grace="1 hour")).count("n").to("sessions")
    driver = TopologyDriver(topology)
    pipe = driver.input_topic("visits").pipe_input

    for time in (1_000, 9_000, 5_000):
        pipe("b", {"place": "park"}, time)

    assert driver.output_topic("sessions").read_key_values() == [
        (("b", 1_000, 1_000), {"n": 1}),
        (("b", 9_000, 9_000), {"n": 1}),
        (("b", 1_000, 1_000), None),
        (("b", 9_000, 9_000), None),
        (("b", 1_000, 9_000), {"n": 3}),
    ]


def test_a_row_of_a_global_table_is_found_by_any_key_at_once() -> None:
    topology = Topology("shop")
    rates = topology.global_table("rates", key="currency STRING", value="rate DOUBLE")
    orders = topology.stream("orders", key="id STRING", value="paid STRING")
    orders.left_join(rates, on=col("paid").upper()).to("valued")
    driver = TopologyDriver(topology)

    driver.input_topic("orders").pipe_input("a", {"paid": "eur"}, timestamp_ms=2)
    driver.input_topic("rates").pipe_input("EUR", {"rate": 1.5}, timestamp_ms=9)
    driver.input_topic("orders").pipe_input("b", {"paid": "eur"}, timestamp_ms=3)

    assert driver.output_topic("valued").read_key_values() == [
        ("a", {"paid": "eur", "rate": None}),
        ("b", {"paid": "eur", "rate": 1.5}),
    ]
    assert driver.store("global-table-1-store") == {"EUR": {"rate": 1.5}}
