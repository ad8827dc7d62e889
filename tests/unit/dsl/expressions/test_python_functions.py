"""Python functions in place of expressions, called by tests of a topology."""

import asyncio
import enum
import functools
import sys
import uuid
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
import pytest

from duolog import Processor, Record, Topology, call, col, sum_
from duolog.core.errors import QueryError, StatementError
from duolog.dsl.streams import Stream
from duolog.testing import TopologyDriver


@dataclass
class Priced:
    item: str
    total: float


def price(n: int, item: str | None) -> Priced:
    return Priced(item or "nothing", n * 1.5)


def region(id: str) -> str:  # noqa: A002 - a column's name
    return id.partition("-")[0]


def words(item: str) -> list[tuple[str, int]]:
    return [(word, len(word)) for word in item.split()]


def orders() -> tuple[Topology, Stream]:
    topology = Topology("shop")
    return topology, topology.stream("orders", key="id STRING", value="n BIGINT, item STRING")


def piped(topology: Topology, *records: tuple[str | None, Any]) -> list[tuple[Any, Any]]:
    with TopologyDriver(topology) as driver:
        topic = driver.input_topic("orders")
        for key, value in records:
            topic.pipe_input(key, value, 7)
        return driver.output_topic("out").read_key_values()


def test_the_fields_of_a_returned_dataclass_are_the_new_value() -> None:
    topology, stream = orders()
    stream.map_values(price).to("out")

    out = piped(topology, ("a", {"n": 2, "item": None}), ("a", None))

    assert out == [("a", {"item": "nothing", "total": 3.0}), ("a", None)]


def test_a_plain_result_type_is_one_column() -> None:
    topology, stream = orders()
    stream.with_columns(twice=call(lambda n: n * 2, col("n"), returns=int)).map_values(region).to(
        "out"
    )

    assert piped(topology, ("eu-1", {"n": 2, "item": "x"})) == [("eu-1", {"value": "eu"})]


def test_keys_values_and_several_records_come_from_functions() -> None:
    topology, stream = orders()
    stream.select_key(region).flat_map(words).to("out")

    out = piped(topology, ("eu-1", {"n": 2, "item": "an old hat"}))

    assert out == [("an", {"value": 2}), ("old", {"value": 3}), ("hat", {"value": 3})]


def test_a_map_function_returns_key_and_value() -> None:
    def priced(id: str, value: dict[str, Any]) -> tuple[str, Priced]:  # noqa: A002
        return region(id), Priced(str(value), 1.0)

    topology, stream = orders()
    stream.map(priced).to("out")

    out = piped(topology, ("eu-1", {"n": 2, "item": "x"}))

    assert out == [("eu", {"item": "{'n': 2, 'item': 'x'}", "total": 1.0})]


def test_a_filter_function_needs_no_annotations() -> None:
    topology, stream = orders()
    stream.filter(lambda n, timestamp: n + timestamp > 9).filter_not(lambda n: n > 5).to("out")

    out = piped(topology, *(("a", {"n": n, "item": ""}) for n in (2, 3, 6)))

    assert [value["n"] for _, value in out] == [3]


def test_an_exception_names_its_record() -> None:
    topology, stream = orders()
    stream.map_values(rest=call(lambda n: 6 // n, col("n"), returns=int)).to("out")

    with pytest.raises(QueryError, match=r"ZeroDivisionError") as caught:
        piped(topology, ("a", {"n": 0, "item": ""}))

    assert "test_python_functions.py:" in str(caught.value) + caught.value.detail
    assert 'topic "orders", offset 0' in str(caught.value) + caught.value.detail


def test_a_function_that_does_not_fit_is_refused_at_its_line() -> None:
    _, stream = orders()

    def untyped(n):  # type: ignore[no-untyped-def]
        return n

    def wrong(item: int) -> int:
        return item

    def elsewhere(nn: int) -> int:
        return nn

    def elsewhere_too(n: int) -> int:
        return n

    with pytest.raises(StatementError, match="has no result type"):
        stream.map_values(untyped)
    with pytest.raises(StatementError, match="does not take"):
        stream.map_values(wrong)
    with pytest.raises(StatementError, match=r"column for the parameter of .*elsewhere"):
        stream.map_values(elsewhere)
    with pytest.raises(StatementError, match="returns BIGINT, not BOOLEAN"):
        stream.filter(elsewhere_too)
    with pytest.raises(StatementError, match="not a key with a value"):
        stream.map(price)


async def awaited(n: int) -> int:
    return n


class Awaited:
    async def __call__(self, n: int) -> int:
        return n


def yielded(n: int):  # type: ignore[no-untyped-def]
    yield n


async def both(n: int):  # type: ignore[no-untyped-def]
    yield n


@pytest.mark.parametrize(
    "given",
    [awaited, Awaited(), functools.partial(awaited), yielded, both],
    ids=["awaited", "object", "partial", "yielded", "both"],
)
@pytest.mark.parametrize(
    "step",
    [
        lambda stream, of: stream.map_values(call(of, returns=int)),
        lambda stream, of: stream.with_columns(m=call(of, col("n"), returns=int)),
        lambda stream, of: stream.map(call(of, returns=int), key="item"),
        lambda stream, of: stream.select_key(call(of, returns=int)),
        lambda stream, of: stream.filter(call(of, returns=bool)),
        lambda stream, of: stream.group_by_key().aggregate(n=sum_(call(of, returns=int))),
        lambda stream, of: stream.to("out", partitioner=of),
        lambda stream, of: stream.for_each(of),
        lambda stream, of: stream.peek(of),
    ],
)
def test_coroutines_that_would_not_be_awaited_are_refused(step: Any, given: Any) -> None:
    _, stream = orders()

    with pytest.raises(StatementError, match=r"is a (coroutine function|generator)"):
        step(stream, given)


def test_a_coroutine_function_is_refused_with_a_hint_to_map_async() -> None:
    topology, stream = orders()

    for step in (stream.map_values, stream.select_key, stream.filter, stream.flat_map_values):
        with pytest.raises(StatementError, match="awaited is a coroutine") as caught:
            step(awaited if step != stream.filter else is_awaited)
        assert "map_async" in caught.value.hint
    with pytest.raises(StatementError, match="begin is a coroutine"):
        stream.group_by_key().aggregate(initializer=begin, adder=added)
    with pytest.raises(StatementError, match="both is a generator"):
        stream.map_async(both, returns=int)
    stream.map_async(Awaited()).to("out")

    assert piped(topology, ("a", {"n": 4, "item": ""})) == [("a", {"value": 4})]


async def is_awaited(n: int) -> bool:
    return n > 0


async def begin() -> int:
    return 0


def added(kept: int, n: int) -> int:
    return kept + n


def test_a_generator_may_yield_the_results_of_a_flat_map() -> None:
    topology, stream = orders()

    def parts(item: str):  # type: ignore[no-untyped-def]
        yield from item.split()

    stream.flat_map_values(call(parts, returns=list[str])).to("out")

    assert piped(topology, ("a", {"n": 1, "item": "x y"})) == [
        ("a", {"parts": "x"}),
        ("a", {"parts": "y"}),
    ]


@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_function_that_returns_a_coroutine_fails_with_a_hint() -> None:
    topology, stream = orders()
    stream.map_values(call(lambda n: awaited(n), returns=int)).to("out")  # noqa: PLW0108

    with pytest.raises(QueryError) as caught:
        piped(topology, ("a", {"n": 0, "item": ""}))

    assert "is not awaited here; use map_async" in str(caught.value) + caught.value.detail


def leaves(n: int) -> int:
    return sys.exit(n)


def leaves_with(record: Any) -> None:
    sys.exit(record.value["n"])


@pytest.mark.parametrize(
    "step",
    [
        lambda stream: stream.map_values(leaves).to("out"),
        lambda stream: stream.map_async(leaves, retries=0).to("out"),
        lambda stream: stream.for_each(leaves_with),
        lambda stream: stream.process(Leaving),
    ],
)
def test_a_function_that_exits_does_not_end_the_test(step: Any) -> None:
    topology, stream = orders()
    step(stream)

    with (
        TopologyDriver(topology) as driver,
        pytest.raises(QueryError, match='topic "orders", offset 0') as caught,
    ):
        driver.input_topic("orders").pipe_input("a", {"n": 3, "item": ""})

    assert "SystemExit: 3" in caught.value.detail


class Leaving(Processor):
    def process(self, record: Record) -> None:
        sys.exit(record.value["n"])


def test_vector_annotations_declare_their_element_type() -> None:
    def plus(n: pa.Array) -> Annotated[pa.Array, int]:
        return pa.array([None if one is None else one + 1 for one in n.to_pylist()])

    topology, stream = orders()
    stream.map_values(n=plus).to("out")

    out = piped(topology, ("a", {"n": 2, "item": ""}), ("a", {"n": None, "item": ""}))

    assert out == [("a", {"n": 3}), ("a", {"n": None})]


@dataclass
class Placed:
    item: str
    shelf: int


def shout(item: str) -> str:
    return item.upper()


def test_look_ups_are_concurrent_and_keep_the_order() -> None:
    """The reference evaluator calls them one after the other, so that a test needs no time limit."""

    async def city(id: str, n: int) -> str:  # noqa: A002 - a column's name
        await asyncio.sleep(0)
        return f"{id}{n}"

    topology, stream = orders()
    stream.map_async(city, limit=2).to("out")

    out = piped(topology, *(("a", {"n": n, "item": ""}) for n in (1, 2)))

    assert out == [("a", {"value": "a1"}), ("a", {"value": "a2"})]
    with pytest.raises(StatementError, match="performs no look-ups"):
        stream.map_async(city, limit=0)


def test_a_look_up_keeps_the_columns_and_adds_its_result_under_the_name_of_the_function() -> None:
    async def city(id: str, n: int) -> str:  # noqa: A002 - a column's name
        return f"{id}{n}"

    topology, stream = orders()
    stream.map_async(city, keep=True).to("out")

    out = piped(topology, ("a", {"n": 1, "item": "tea"}))

    assert out == [("a", {"n": 1, "item": "tea", "city": "a1"})]


def test_a_look_up_that_gives_several_columns_adds_them_and_replaces_those_of_their_names() -> None:
    asked = []

    def place(n: int) -> Placed:
        asked.append(n)
        return Placed(item=f"{n}!", shelf=n)

    topology, stream = orders()
    stream.map_async(place, keep=True).to("out")

    out = piped(topology, ("a", {"n": 1, "item": "tea"}), ("b", None))

    assert out == [("a", {"n": 1, "item": "1!", "shelf": 1}), ("b", None)]
    assert asked == [1]


def test_the_pauses_of_a_look_up_begin_with_its_backoff() -> None:
    _, stream = orders()

    ((_, call),) = stream.map_async(shout, backoff="2 seconds", retries=2).node.values  # type: ignore[attr-defined]

    lookups = call.function.lookups
    assert (lookups.pause_ms, lookups.retries) == (2_000, 2)
    assert lookups.tries_ms == 3 * 10_000 + 2_000 + 4_000
    with pytest.raises(StatementError, match="backoff"):
        stream.map_async(shout, backoff="soon")


class Status(enum.Enum):
    NEW = "n"
    PAID = "p"


class Size(enum.StrEnum):
    SMALL = "s"


@dataclass
class Judged:
    status: Status
    ids: list[uuid.UUID]
    sizes: dict[str, Size | None]


def judged(n: int) -> Judged:
    return Judged(Status.PAID, [uuid.UUID(int=n)], {"a": Size.SMALL, "b": None})


def status(n: int) -> Status | None:
    return None if n == 0 else Status.NEW


def identity(n: int) -> uuid.UUID:
    return uuid.UUID(int=n)


def test_enums_and_uuids_of_results_are_texts() -> None:
    topology, stream = orders()
    made = stream.map_values(judged).with_columns(same=col("status") == "PAID")
    made.to("judged")
    stream.map_values(status=status, by=identity).to("single")

    assert str(made.schema) == (
        "key (id STRING) value (status STRING, ids ARRAY<STRING>, sizes MAP<STRING, STRING>, "
        "same BOOLEAN)"
    )
    with TopologyDriver(topology) as driver:
        driver.input_topic("orders").pipe_input("eu", {"n": 1, "item": "a"})
        driver.input_topic("orders").pipe_input("eu", {"n": 0, "item": "a"})
        found = [value for _, value in driver.output_topic("judged").read_key_values()]
        single = [value for _, value in driver.output_topic("single").read_key_values()]

    one, none = str(uuid.UUID(int=1)), str(uuid.UUID(int=0))
    assert found[0] == {
        "status": "PAID",
        "ids": [one],
        "sizes": {"a": "s", "b": None},
        "same": True,
    }
    assert single == [{"status": "NEW", "by": one}, {"status": None, "by": none}]


def of_status(status: Status) -> int:
    return len(status.name)


def test_an_enum_is_not_the_type_of_a_parameter() -> None:
    topology = Topology("t")
    stream = topology.stream("s", value="status STRING")

    with pytest.raises(StatementError, match="Status"):
        stream.map_values(n=of_status)
