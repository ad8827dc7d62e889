"""Python functions that choose the partition of a key."""

import pytest

from duolog import Topology, tumbling
from duolog.core.errors import QueryError, StatementError
from duolog.dsl.streams import Stream
from duolog.testing.driver import TopologyDriver
from duolog.testing.reference import ReferenceEvaluator, SourceRecord


def by_region(key: str | None) -> int | None:
    """Return the partition of a region; None for an unknown one."""
    return {"eu": 3, "us": 1}.get(key or "")


def orders(topology: Topology) -> Stream:
    return topology.stream("orders", key="region STRING", value="n BIGINT")


def test_a_key_function_chooses_the_partition_or_leaves_it_to_the_hash() -> None:
    topology = Topology("t")
    orders(topology).to("out", partitioner=by_region)
    driver = TopologyDriver(topology)

    for key in ("eu", "us", "asia", None):
        driver.input_topic("orders").pipe_input(key, {"n": 1})

    written = driver.output_topic("out").read_records()
    assert [(record.key, record.partition) for record in written] == [
        ("eu", 3),
        ("us", 1),
        ("asia", None),
        (None, None),
    ]
    assert "partition by_region(region)" in topology.describe()


def test_a_function_receives_a_composite_key_as_tuple_with_its_window_last() -> None:
    keys: list[object] = []
    topology = Topology("t")
    stream = topology.stream("orders", key="region STRING, shop INT", value="n BIGINT")
    stream.to("out", partitioner=keys.append)
    hourly = stream.group_by("shop").windowed_by(tumbling("1 s")).count()
    hourly.to("hourly", partitioner=keys.append)

    piped = TopologyDriver(topology).input_topic("orders")
    piped.pipe_input(("eu", 7), {"n": 1}, 1500)
    piped.pipe_input(None, {"n": 1}, 1500)

    assert keys == [("eu", 7), (7, 1000, 2000), None]


def test_records_are_counted_in_the_tasks_that_a_function_chooses() -> None:
    topology = Topology("t")
    sent = orders(topology).repartition(partitioner=by_region)
    sent.group_by_key().count().to("out")
    rows = [
        SourceRecord("orders", 0, at, at, key, b'{"n": 1}')
        for at, key in enumerate([b"eu", b"us", b"eu"])
    ]

    written = ReferenceEvaluator(topology.build(), tasks=4).run(rows)

    found = sorted((record.timestamp_ms, record.task, record.value) for record in written)
    assert found == [(0, 3, b'{"count":1}'), (1, 1, b'{"count":1}'), (2, 3, b'{"count":2}')]


def raising(key: str) -> int:
    raise KeyError(key)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (raising, "raising: KeyError: 'eu'"),
        (lambda _key: "one", "'one' is not a partition"),
        (lambda _key: True, "True is not a partition"),
        (lambda _key: -1, "the partition is -1"),
    ],
)
def test_a_wrong_result_of_a_function_is_an_error_of_its_record(
    function: object, expected: str
) -> None:
    topology = Topology("t")
    orders(topology).to("out", partitioner=function)  # type: ignore[arg-type]

    with pytest.raises(QueryError) as caught:
        TopologyDriver(topology).input_topic("orders").pipe_input("eu", {"n": 1})

    assert expected in str(caught.value.detail)


async def later(_key: str) -> int:
    return 1


def test_a_function_that_cannot_be_called_is_refused() -> None:
    topology = Topology("t")
    keyless = topology.stream("visits", value="n BIGINT")

    with pytest.raises(
        StatementError, match="chooses a partition by key, but the records have no key"
    ):
        keyless.to("out", partitioner=by_region)
    with pytest.raises(StatementError, match="later is a coroutine function"):
        orders(topology).to("out", partitioner=later)  # type: ignore[arg-type]
    with pytest.raises(
        StatementError, match="'eu' is neither an expression over columns nor a function"
    ):
        orders(topology).to("out", partitioner="eu")  # type: ignore[arg-type]


def test_the_kernel_in_memory_refuses_key_functions() -> None:
    topology = Topology("t")
    orders(topology).to("out", partitioner=by_region)

    with pytest.raises(StatementError, match="asks a function for partitions, which the kernel"):
        TopologyDriver(topology, engine="kernel")
