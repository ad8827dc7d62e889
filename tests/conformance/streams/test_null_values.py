"""Null values in each step that takes a function, compared with the step as an expression.

| the step | Kafka Streams | here |
|---|---|---|
| chooses: filter, split, a key, a timestamp, a partition | the function gets a null | its columns are null |
| makes a value: map_values, a look-up | the function gets a null | a null value stays null, as in ksqlDB |
| makes a list of records: explode, flat_map | the function gets a null | no records |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from duolog import Processor, Record, Topology, call, col, concat, lit, row_time
from duolog.dsl.streams import Stream
from duolog.testing import TopologyDriver

pytestmark = pytest.mark.spark

Form = Literal["reference", "kernel"]
Build = Callable[[Topology, Stream], Stream | None]
Seen = tuple[Any, Any, int]
DELETED: Final = ("a", None, 3)


@dataclass(frozen=True)
class Pair:
    value: str
    size: int


def always(k: str) -> bool:
    return True


def never(k: str) -> bool:
    return False


def no_value(v: str | None) -> bool:
    return v is None


def is_a(k: str) -> bool:
    return k == "a"


def all_is_a(k: Annotated[pa.Array, str]) -> Annotated[pa.Array, bool]:
    return pa.array([one == "a" for one in k.to_pylist()])


def gathered(value: dict[str, Any]) -> bool:
    return value["v"] is None


def longer(k: str) -> str:
    return f"u-{k}"


def pair_key(k: str) -> Pair:
    return Pair(k, 1)


def later(timestamp: int) -> int:
    return timestamp + 1000


def first(k: str) -> int:
    return 1


def named(k: str, v: str | None) -> tuple[str, Pair]:
    return f"u-{k}", Pair("none" if v is None else v, 1)


def listed(k: str, v: str | None) -> list[tuple[str, Pair]]:
    return [named(k, v)] * 2


def texts(v: str | None) -> list[str]:
    return ["?"] if v is None else [v, v]


def shout(v: str | None) -> str:
    return "none" if v is None else v.upper()


async def looked_up(v: str | None) -> str:
    return shout(v)


class Forwarding(Processor):
    """Forwards each record with a key that says if the value is null."""

    def init(self, context: Any) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record.with_key(f"{record.key} {record.value}"))


LONGER: Final = ("u-a", None, 3)
CASES: Final[Sequence[tuple[str, list[Seen], Build]]] = [
    ("filter always", [DELETED], lambda _, s: s.filter(always)),
    ("filter true", [DELETED], lambda _, s: s.filter(lit(1) == 1)),
    ("filter by key", [DELETED], lambda _, s: s.filter(is_a)),
    ("filter by key, an expression", [DELETED], lambda _, s: s.filter(col("k") == "a")),
    ("filter by key, call", [DELETED], lambda _, s: s.filter(call(is_a, col("k")))),
    ("filter by key, two calls", [DELETED], lambda _, s: s.filter(call(always, call(longer)))),
    ("filter by key, of vectors", [DELETED], lambda _, s: s.filter(all_is_a)),
    ("filter by value", [DELETED], lambda _, s: s.filter(no_value)),
    ("filter by value, an expression", [DELETED], lambda _, s: s.filter(col("v").is_null())),
    ("filter by a dict of the value", [DELETED], lambda _, s: s.filter(gathered)),
    ("filter twice", [DELETED], lambda _, s: s.filter(always).filter(is_a).filter(no_value)),
    ("filter before a map", [DELETED], lambda _, s: s.filter(always).map_values(v=shout)),
    ("filter never", [], lambda _, s: s.filter(never)),
    ("filter_not", [DELETED], lambda _, s: s.filter_not(never)),
    ("filter_not of true", [], lambda _, s: s.filter_not(no_value)),
    ("select_key", [LONGER], lambda _, s: s.select_key(longer)),
    ("select_key by name", [LONGER], lambda _, s: s.select_key(id=longer)),
    (
        "select_key, an expression",
        [LONGER],
        lambda _, s: s.select_key(id=concat(lit("u-"), col("k"))),
    ),
    ("select_key of fields", [(("a", 1), None, 3)], lambda _, s: s.select_key(pair_key)),
    ("select_key after a filter", [LONGER], lambda _, s: s.filter(no_value).select_key(longer)),
    ("map by a function", [LONGER], lambda _, s: s.map(named)),
    ("map to a key by a function", [LONGER], lambda _, s: s.map("v", key=call(longer).alias("i"))),
    (
        "map, an expression",
        [LONGER],
        lambda _, s: s.map("v", key=concat(lit("u-"), col("k")).alias("i")),
    ),
    ("map_values", [DELETED], lambda _, s: s.map_values(v=shout)),
    ("map_values by a function alone", [DELETED], lambda _, s: s.map_values(shout)),
    ("map_values, an expression", [DELETED], lambda _, s: s.map_values(v=col("v").upper())),
    ("with_columns", [DELETED], lambda _, s: s.with_columns(w=shout)),
    ("map_async", [DELETED], lambda _, s: s.map_async(looked_up)),
    ("with_time", [("a", None, 1003)], lambda _, s: s.with_time(later)),
    ("with_time, an expression", [("a", None, 1003)], lambda _, s: s.with_time(row_time() + 1000)),
    ("split", [DELETED], lambda _, s: s.split(a=call(is_a), default="z")["a"]),
    ("split, an expression", [DELETED], lambda _, s: s.split(a=col("k") == "a", default="z")["a"]),
    ("split, the others", [DELETED], lambda _, s: s.split(a=call(never), default="z")["z"]),
    ("explode", [], lambda _, s: s.explode(w=call(texts))),
    ("flat_map_values", [], lambda _, s: s.flat_map_values(texts)),
    ("flat_map", [], lambda _, s: s.flat_map(listed)),
    ("repartition", [DELETED], lambda _, s: s.repartition(partitioner=first)),
    ("process", [("a None", None, 3)], lambda _, s: s.process(Forwarding)),
    ("headers", [DELETED], lambda _, s: s.with_headers(h=call(longer))),
    ("group_by", [], lambda _, s: s.group_by(call(longer).alias("i")).count().to_stream()),
    ("to_table, filtered", [DELETED], lambda _, s: s.to_table().filter(is_a).to_stream()),
]


def seen_by(engine: Form, build: Build) -> list[Seen]:
    """Return the output of a topology for the deletion of a table row."""
    topology = Topology("nulls")
    changes = topology.table("t", key="k STRING", value="v STRING").to_stream()
    built = build(topology, changes)
    assert built is not None
    built.to("out")
    driver = TopologyDriver(topology, engine=engine)
    try:
        driver.input_topic("t").pipe_input("a", {"v": "x"}, 1)
        driver.output_topic("out").read_records()
        driver.input_topic("t").pipe_input("a", None, 3)
        written = driver.output_topic("out").read_records()
        return [(one.key, one.value, one.timestamp_ms) for one in written]
    finally:
        driver.close()


@pytest.mark.parametrize(
    ("wanted", "build"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_functions_see_null_values_as_expressions_do(
    spark: SparkSession, wanted: list[Seen], build: Build
) -> None:
    assert spark is not None, "drivers find the session of this run"

    assert seen_by("reference", build) == wanted
    assert seen_by("kernel", build) == wanted


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_null_values_reach_partitioners_topic_choosers_and_for_each(
    spark: SparkSession, engine: Form
) -> None:
    assert spark is not None
    called: list[Any] = []
    topology = Topology("nulls")
    changes = topology.table("t", key="k STRING", value="v STRING").to_stream()
    if engine == "reference":  # The in-memory kernel calls no functions in the driver's process.
        changes = changes.peek(lambda record: called.append(record.value))
    changes.to("out", partitioner=first)
    changes.to(call(longer), topics=["u-a"])

    driver = TopologyDriver(topology, engine=engine)
    driver.input_topic("t").pipe_input("a", {"v": "x"}, 1)
    driver.input_topic("t").pipe_input("a", None, 3)
    (_, deletion) = driver.output_topic("out").read_records()

    assert (deletion, deletion.partition) == (DELETED, 1)
    assert driver.output_topic("u-a").read_records()[-1] == DELETED
    assert called == ([{"v": "x"}, None] if engine == "reference" else [])
    driver.close()


def test_function_failing_on_a_null_value_is_reported(spark: SparkSession) -> None:
    assert spark is not None
    for engine in ("reference", "kernel"):
        topology = Topology("nulls")
        changes = topology.table("t", key="k STRING", value="v STRING").to_stream()
        changes.filter(lambda v: v.upper() == "X").to("out")
        driver = TopologyDriver(
            topology, engine=engine, processing_exception_handler="log_and_continue"
        )
        driver.input_topic("t").pipe_input("a", {"v": "x"}, 1)
        driver.input_topic("t").pipe_input("a", None, 3)

        assert driver.output_topic("out").read_records() == [("a", {"v": "x"}, 1)]
        assert driver.skipped == 1, engine
        driver.close()
