"""Compare collecting aggregates of the kernel with the reference evaluator and DuckDB."""

import math
import random
from collections.abc import Sequence
from typing import Any, Final

import duckdb
import pytest
from pyspark.sql import SparkSession

from aggregates import COLUMNS, OF_STREAMS, over_a_stream, over_a_table, results_of
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import ByTopic, Given
from duolog import (
    Topology,
    approx_count_distinct,
    count_distinct,
    first,
    last,
    max_,
    min_,
    percentile,
    session,
    top_k,
    tumbling,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

SEEDS: Final = range(3)


def over_windows() -> Topology:
    """Mergeable aggregates, in windows and in sessions."""
    found = Topology("in-windows")
    records = found.stream("rows", key="id STRING", value=COLUMNS).group_by("g")
    results = results_of(OF_STREAMS)
    records.windowed_by(tumbling("5 ms", grace="9 ms")).aggregate(*results).to("results")
    records.windowed_by(session("2 ms", grace="9 ms")).aggregate(*results).to("in-sessions")
    return found


@pytest.mark.parametrize("make", [over_a_table, over_a_stream, over_windows])
@pytest.mark.parametrize("seed", SEEDS)
def test_kernel_aggregates_like_the_reference_evaluator(
    spark: SparkSession, make: Any, seed: int
) -> None:
    drawn = random.Random(seed)  # noqa: S311 - the same records each time
    plan = make().build()
    records = [changed(drawn) for _ in range(60)]
    batches = cut(drawn, records)

    for cache in (0, 1 << 20):
        ours = run_in_memory(spark, plan, batches, cache_bytes_max=cache)
        theirs = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=1)
        for found, wanted in zip(ours, theirs, strict=True):
            for topic, rows in wanted.items():
                assert len(found[topic]) == len(rows), (topic, seed)
                for one, other in zip(found[topic], rows, strict=True):
                    assert alike(one, other), f"{plan}, seed {seed}, {topic}:\n{one}\n{other}"


def test_aggregates_are_independent_of_micro_batch_boundaries(spark: SparkSession) -> None:
    drawn = random.Random(5)  # noqa: S311 - the same records each time
    plan = over_a_table().build()
    records = [changed(drawn) for _ in range(60)]

    whole, one_by_one = (
        last_rows(run_in_memory(spark, plan, batches, cache_bytes_max=0))
        for batches in ([records], [[record] for record in records])
    )

    assert whole
    assert whole == one_by_one


def changed(drawn: random.Random) -> Given:
    row = (
        drawn.choice(["x", "y"]),
        drawn.choice([None, "a", "b", "c", "d", "é", "a\0b"]),
        drawn.choice([None, *range(-5, 6)]),
        drawn.choice([None, -(2**63), 2**63 - 1, 2**62, -1, 0, 1]),
        drawn.choice([None, *(n / 8 for n in range(-20, 20))]),
    )
    key = (drawn.choice("abcdefgh"),)
    return Given("rows", key, None if drawn.random() < 0.15 else row, drawn.randrange(30))


def cut(drawn: random.Random, records: list[Given]) -> list[list[Given]]:
    batches, at = [], 0
    while at < len(records):
        size = drawn.randrange(1, 20)
        batches.append(records[at : at + size])
        at += size
    return batches


def alike(one: Any, other: Any) -> bool:
    match one, other:
        case float(), float():
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        case dict(), dict():
            return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
        case tuple() | list(), tuple() | list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(alike(*pair) for pair in pairs)
        case _:
            return bool(one == other)


def last_rows(written: Sequence[ByTopic]) -> dict[Any, Any]:
    return {out.key: out.value for batch in written for out in batch["results"]}


def test_group_with_thousands_of_values_is_stored_in_pages(spark: SparkSession) -> None:
    drawn = random.Random(3)  # noqa: S311 - the same records each time
    topology = Topology("large")
    rows = topology.table("rows", key="id STRING", value="g STRING, n BIGINT, s STRING")
    rows.group_by("g").aggregate(
        low=min_("n"),
        high=max_("n"),
        top=top_k("n", 5),
        different=count_distinct("s"),
        oldest=first("n", by="time"),
        newest=last("n", by="time"),
    ).to("results")
    now: dict[str, tuple[int, str, int]] = {}
    batches: list[list[Given]] = []
    for at, keep in enumerate((1.0, 1.0, 0.5, 0.1, 0.02, 0.6)):
        batches.append(changes_of_many(drawn, now, at, keep))

    written = run_in_memory(spark, topology.build(), batches, cache_bytes_max=1 << 20)

    assert written[-1]["results"][-1].value == expected_of_many(now)


def changes_of_many(
    drawn: random.Random, now: dict[str, tuple[int, str, int]], at: int, keep: float
) -> list[Given]:
    """Change random rows of the only group: insert or update a number, delete the others."""
    found = []
    for step, key in enumerate(drawn.sample(range(900), 500)):
        time = at * 10_000 + step
        now.pop(str(key), None)
        if drawn.random() < keep:
            n = drawn.randrange(1 << 40)
            now[str(key)] = (n, f"{n % 999}" * drawn.randrange(1, 9), time)
        row = now.get(str(key))
        found.append(Given("rows", (str(key),), row and ("all", *row[:2]), time))
    return found


def expected_of_many(now: dict[str, tuple[int, str, int]]) -> tuple[object, ...]:
    numbers = sorted((n for n, _, _ in now.values()), reverse=True)
    by_time = sorted((time, n) for n, _, time in now.values())
    different = len({text for _, text, _ in now.values()})
    return (numbers[-1], numbers[0], numbers[:5], different, by_time[0][1], by_time[-1][1])


def test_aggregates_of_a_finished_stream_equal_duckdb(spark: SparkSession) -> None:
    drawn = random.Random(11)  # noqa: S311 - the same records each time
    records = [record for record in (changed(drawn) for _ in range(400)) if record.value]
    topology = Topology("ended")
    stream = topology.stream("rows", key="id STRING", value=COLUMNS)
    results = results_of({name: OF_STREAMS[name] for name in COMPARED})
    nearly, median = approx_count_distinct("d"), percentile("d", 0.5)
    stream.group_by("g").aggregate(*results, nearly=nearly, median=median).to("results")

    found = last_rows(run_in_memory(spark, topology.build(), [records], cache_bytes_max=0))

    for row in by_duckdb(records):
        for name, one, wanted in zip(
            (*COMPARED, "nearly", "median"), found[row[:1]], row[1:], strict=True
        ):
            near = 0.011 if name == "median" else 1e-9
            same = (
                math.isclose(one, wanted, rel_tol=near) if isinstance(one, float) else one == wanted
            )
            assert same, (name, one, wanted)


COMPARED: Final = {
    "low": "min(b)",
    "high": "max(s)",
    "different": "count(distinct s)",
    "often": "histogram(s)",
    "top": "max(b, 3)",
    "first": "first(n order by place) filter (n is not null)",
    "last_two": "(list(n order by place))[-2:]",
    "all": "list(s order by place)",
    "spread": "var_samp(n)",
    "deviation": "stddev_samp(n)",
    "related": "corr(n, d)",
}


def by_duckdb(records: list[Given]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        database.execute(
            "create table rows (place INT, g TEXT, s TEXT, n BIGINT, b BIGINT, d DOUBLE)"
        )
        given = [(at, *(record.value or ())) for at, record in enumerate(records)]
        database.executemany("insert into rows values (?, ?, ?, ?, ?, ?)", given)
        columns = ", ".join((*COMPARED.values(), "count(distinct d)", "quantile_disc(d, 0.5)"))
        return database.execute(f"select g, {columns} from rows group by g").fetchall()  # noqa: S608
