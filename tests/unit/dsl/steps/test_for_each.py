"""`for_each` and `peek` in the DSL."""

from typing import Any

import pytest

from duolog import Topology, col, tumbling
from duolog.core.errors import QueryError, StatementError
from duolog.serde.called_record import CalledRecord
from duolog.testing.driver import TopologyDriver


def test_a_function_is_called_with_each_record_and_its_metadata() -> None:
    called: list[CalledRecord] = []
    topology = Topology("t")
    orders = topology.stream("orders", key="id BIGINT", value="amount BIGINT")
    orders.filter(col("amount") > 1).for_each(called.append)

    orders_in = TopologyDriver(topology).input_topic("orders")
    orders_in.pipe_input(1, {"amount": 1})
    orders_in.pipe_input(2, {"amount": 2}, 70, headers=(("trace", b"x"),))

    assert called == [CalledRecord(2, {"amount": 2}, 70, (("trace", b"x"),), "orders", 0, 1)]


def test_peeked_records_are_forwarded() -> None:
    called: list[Any] = []
    topology = Topology("t")
    stream = topology.stream("orders", value="amount BIGINT")
    stream.peek(lambda record: called.append((record.key, record.value))).to("out")

    driver = TopologyDriver(topology)
    driver.input_topic("orders").pipe_input(None, {"amount": 1})

    assert called == [(None, {"amount": 1})]
    assert driver.output_topic("out").read_key_values() == [(None, {"amount": 1})]


def test_for_a_table_it_is_called_with_new_rows_and_none_for_deletions() -> None:
    called: list[Any] = []
    topology = Topology("t")
    people = topology.table("people", key="id STRING, at INT", value="age INT")
    people.for_each(lambda record: called.append((record.key, record.value)))

    people_in = TopologyDriver(topology).input_topic("people")
    people_in.pipe_inputs([(("a", 1), {"age": 3}), (("a", 1), None)])

    assert called == [(("a", 1), {"age": 3}), (("a", 1), None)]


def test_a_windowed_key_ends_with_its_window() -> None:
    called: list[Any] = []
    topology = Topology("t")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    counted = visits.group_by("place").windowed_by(tumbling("1 s")).count()
    counted.for_each(lambda record: called.append((record.key, record.value)))

    TopologyDriver(topology).input_topic("visits").pipe_input("a", {"place": "park"}, 1500)

    assert called == [(("park", 1000, 2000), {"count": 1})]


def test_an_exception_of_a_function_is_an_error_of_its_record() -> None:
    def refuse(record: CalledRecord) -> None:
        raise ValueError(f"no {record.key}")

    topology = Topology("t")
    topology.stream("orders", key="id BIGINT", value="n BIGINT").for_each(refuse)

    with pytest.raises(QueryError) as caught:
        TopologyDriver(topology).input_topic("orders").pipe_input(7, {"n": 1})

    assert caught.value.detail == "at for-each-2: ValueError: no 7"
    passing = TopologyDriver(topology, processing_exception_handler="log_and_continue")
    passing.input_topic("orders").pipe_input(7, {"n": 1})
    assert passing.skipped == 1


def test_describe_names_the_function() -> None:
    topology = Topology("t")
    topology.stream("orders", value="n BIGINT").for_each(print)

    assert "for-each-2: call print" in topology.describe()
    assert "Processor: for-each-2" in topology.describe("kafka-streams")


async def wait_for(_record: CalledRecord) -> None:
    """Accept the time, and do nothing."""


def test_an_object_that_cannot_be_called_is_refused() -> None:
    stream = Topology("t").stream("orders", value="n BIGINT")

    with pytest.raises(StatementError, match="'orders-out' cannot be called"):
        stream.for_each("orders-out")  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="wait_for is a coroutine function"):
        stream.for_each(wait_for)


def test_the_kernel_in_memory_refuses_for_each() -> None:
    topology = Topology("t")
    topology.stream("orders", value="n BIGINT").for_each(print)

    with pytest.raises(StatementError, match='"for-each-2" calls a function, which the kernel'):
        TopologyDriver(topology, engine="kernel")
