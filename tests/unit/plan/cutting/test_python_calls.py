"""The Python functions of a plan."""

import functools
import inspect
from typing import Annotated, Any

import pyarrow as pa
import pytest

from duolog import Processor, Record, Topology, call, col, when
from duolog.dsl.streams import Stream
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from duolog.plan.cutting.python_calls import function_calls


def price(n: int) -> float:
    return n * 1.5


def prices(n: pa.Array) -> Annotated[pa.Array, float]:
    return n


async def city(n: int) -> str:
    return str(n)


def put(kept: int, n: int) -> int:
    return kept + n


def empty() -> int:
    return 0


def by_region(_key: Any) -> int:
    return 0


def topology() -> tuple[Topology, Stream]:
    made = Topology("calls")
    return made, made.stream("numbers", key="id STRING", value="n BIGINT")


def test_function_calls_describe_how_each_function_is_called() -> None:
    made, numbers = topology()
    numbers.with_columns(p=price, q=prices).to("priced", partitioner=by_region)
    numbers.map_async(city, limit=7).for_each(print)
    numbers.group_by_key().aggregate(initializer=empty, adder=put).to("kept")

    calls = function_calls(find_levels(made.build()))

    assert [(call.called.partition(" ")[0], call.kind, call.how) for call in calls] == [
        ("price", "scalar", "up to 1000 records go there together in micro-batches, each alone in real time"),
        ("prices", "arrow", "up to 1000 records go there together in micro-batches, each alone in real time"),
        ("by_region", "of the key", "once for each key: answers are remembered"),
        ("city", "look-ups", "up to 7 look-ups of a task at once"),
        ("print", "for each", "each record, once it has come here"),
        ("empty", "scalar", "each record alone: a step of an aggregate waits for the one before it"),
        ("put", "scalar", "each record alone: a step of an aggregate waits for the one before it"),
    ]  # fmt: skip
    line = price.__code__.co_firstlineno
    assert str(calls[0]).startswith(
        f"price (test_python_calls.py:{line}): at map-values-2; scalar; both modes; in a process next to each task; up to"
    )
    assert calls[2].where.endswith("on a cluster next to each executor")


@pytest.mark.parametrize(
    ("step", "many"),
    [
        (lambda numbers: numbers.map_values(r=price).to("out"), True),
        (lambda numbers: numbers.map_values(r=when(col("n") > 1, call(price))).to("out"), False),
        (
            lambda numbers: (
                numbers.with_columns(r=price).join(numbers.group_by_key().count()).to("out")
            ),
            False,
        ),
        (lambda numbers: numbers.to_table().filter(lambda n: n > 1).to("out"), False),
        (lambda numbers: numbers.with_columns(r=price).group_by("r").count().to("out"), True),
    ],
)
def test_function_calls_match_the_specification_for_the_kernel(step: Any, *, many: bool) -> None:
    made, numbers = topology()
    step(numbers)
    levels = find_levels(made.build())

    (call,) = function_calls(levels)

    assert call.how.startswith("up to 1000") is many
    assert ("'kind': 'python'" in str(lower(levels, "calls", cache_bytes_max=0))) is many


class Passing(Processor):
    def process(self, record: Record) -> None:
        self.context.forward(record)


def made_here() -> Processor:
    return Passing()


def test_function_calls_include_processors() -> None:
    made, numbers = topology()
    for given in (Passing, functools.partial(Passing), made_here):
        numbers.process(given).to("out")
    levels = find_levels(made.build())

    calls = [str(call) for call in function_calls(levels)]

    lines, line = inspect.getsourcelines(Passing)
    assert lines[0].startswith("class Passing")
    by_class = f"Passing (test_python_calls.py:{line}): at process-2; processor; both modes; "
    assert calls[0] == (
        f"{by_class}in a process next to each task; each record alone, in the task of its key"
    )
    assert calls[1].startswith(f"Passing (test_python_calls.py:{line}): at process-")
    by_hand = made_here.__code__.co_firstlineno
    assert calls[2].startswith(f"made_here (test_python_calls.py:{by_hand}): at process-")
    assert len(calls) == 3
