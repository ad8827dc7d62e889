"""The order rule: the head with the smallest timestamp, ties by edge, then source partition."""

from collections import defaultdict
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from unit.kernel.driver import In, KernelDriver
from unit.kernel.specs import history_spec

pytestmark = pytest.mark.spark

TOPICS = ("left", "right")

keys = count()


class Number(NamedTuple):
    """A record of one of the two inputs."""

    topic: int
    partition: int
    ts: int


def merged(numbers: list[Number]) -> list[int]:
    """The order rule in its plainest form; returns indices into `numbers`."""
    queues: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, number in enumerate(numbers):
        queues[number.topic, number.partition].append(i)
    order = []
    while any(queues.values()):
        heads = [(numbers[queue[0]].ts, place) for place, queue in queues.items() if queue]
        order.append(queues[min(heads)[1]].pop(0))
    return order


def records(numbers: list[Number], key: str = "k") -> list[In]:
    offsets: dict[tuple[int, int], int] = defaultdict(int)
    result = []
    for i, (topic, partition, ts) in enumerate(numbers):
        offset = offsets[topic, partition]
        offsets[topic, partition] += 1
        result.append(In(TOPICS[topic], key, f'{{"n":{i}}}', ts, partition, offset))
    return result


NUMBERS = st.lists(
    st.builds(Number, st.integers(0, 1), st.integers(0, 2), st.integers(0, 9)), max_size=30
)


@pytest.fixture(scope="module")
def driver(spark: SparkSession) -> KernelDriver:
    """One for all examples: each has a key, and so a history, of its own."""
    return KernelDriver(spark, history_spec(cache_bytes_max=0))


@pytest.fixture(scope="module")
def caching_driver(spark: SparkSession) -> KernelDriver:
    """The same driver with the default record cache."""
    return KernelDriver(spark, history_spec())


@given(numbers=NUMBERS, data=st.data())
def test_a_micro_batch_is_merged_by_the_rule_however_it_arrives(
    driver: KernelDriver,
    caching_driver: KernelDriver,
    numbers: list[Number],
    data: st.DataObject,
) -> None:
    key = f"key {next(keys)}"
    arrival = data.draw(st.permutations(records(numbers, key)), label="arrival")

    outputs, last = driver.batch(arrival), caching_driver.batch(arrival)

    letters = [f"{TOPICS[numbers[i].topic][0]}{i}" for i in merged(numbers)]
    reported = [" ".join(letters[: end + 1]) for end in range(len(letters))]
    assert [out.value for out in outputs] == reported
    assert [out.value for out in last] == reported[-1:]


def test_a_slow_input_keeps_record_order(driver: KernelDriver) -> None:
    fast = [Number(0, 0, ts) for ts in (10, 20, 30)]
    slow = [Number(1, 0, 25)]

    outputs = driver.batch(records(fast + slow))

    assert outputs[-1].value == "l0 l1 r3 l2"
