# ruff: noqa: S608 - the queries are ours
"""Compare final aggregates, joins and windows with DuckDB's result of all records.

Records come out of order in several micro-batches, to two tasks, with the record cache that a user
gets. Nothing is too late: grace periods are ample. A table is the last record of each key.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, Final

import duckdb
import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import CACHE_BYTES_MAX
from conformance.streams.in_memory import run_in_memory
from conformance.streams.oracle import Given
from duolog import (
    Topology,
    count,
    count_distinct,
    hopping,
    max_,
    min_,
    session,
    sum_,
    tumbling,
)
from topologies import KEY, VALUE, ms
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark

CASES: Final = 25
CASES_DEEP: Final = 500
AMPLE: Final = ms(10_000)
_OF_GROUP: Final = "count(*), sum(n)::BIGINT, min(n), max(n), count(DISTINCT k)"
_OF_WINDOW: Final = "count(*), sum(n)::BIGINT, max(a)"
_SESSIONS: Final = f"""
    WITH gaps AS (
        SELECT *, ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > 5 AS fresh FROM s1 WHERE valid),
    numbered AS (
        SELECT *, count(*) FILTER (WHERE fresh) OVER (PARTITION BY k ORDER BY ts) AS part FROM gaps)
    SELECT k, min(ts), max(ts), {_OF_WINDOW} FROM numbered GROUP BY k, part"""
SQL: Final = {
    "grouped": f"SELECT a, {_OF_GROUP} FROM s1 WHERE there AND a IS NOT NULL GROUP BY a",
    "regrouped": f"SELECT a, {_OF_GROUP} FROM t1_rows WHERE a IS NOT NULL GROUP BY a",
    "left": "SELECT l.k, l.a, l.n, r.a, r.n FROM t1_rows l LEFT JOIN t2_rows r USING (k)",
    "outer": "SELECT coalesce(l.k, r.k), l.a, l.n, r.a, r.n"
    " FROM t1_rows l FULL JOIN t2_rows r USING (k)",
    "foreign": "SELECT l.k, l.a, l.n, r.a, r.n FROM t1_rows l JOIN t2_rows r ON l.a = r.k",
    "tumbling": "SELECT k, ts // 10 * 10 AS start, ts // 10 * 10 + 10,"
    f" {_OF_WINDOW} FROM s1 WHERE valid GROUP BY k, start",
    "hopping": f"""SELECT k, start, start + 10, {_OF_WINDOW} FROM s1, range(0, 200, 4) hop(start)
        WHERE valid AND ts >= start AND ts < start + 10 GROUP BY k, start""",
    "sessions": _SESSIONS,
    "pairs": """SELECT l.k, count(*), sum(r.n)::BIGINT FROM s1 l JOIN s2 r USING (k)
        WHERE l.valid AND r.valid AND r.ts BETWEEN l.ts - 3 AND l.ts + 8 GROUP BY l.k""",
}
"""The tables, by the topics that they go to."""


def compared_topology() -> Topology:
    topology = Topology("compared-at-the-end")
    one, two = (topology.stream(name, key=KEY, value=VALUE) for name in ("s1", "s2"))
    left, right = (topology.table(name, key=KEY, value=VALUE) for name in ("t1", "t2"))
    of_group = [count(), sum_("n"), min_("n"), max_("n"), count_distinct("k")]
    of_group = [of.alias(f"r{number}") for number, of in enumerate(of_group)]
    one.group_by("a").aggregate(*of_group).to("grouped")
    left.group_by("a").aggregate(*of_group).to("regrouped")
    left.left_join(right, prefix="r_").to("left")
    left.outer_join(right, prefix="r_").to("outer")
    left.join(right, on="a", prefix="r_").to("foreign")
    of_window = [
        of.alias(f"r{number}") for number, of in enumerate([count(), sum_("n"), max_("a")])
    ]
    for windows, name in (
        (tumbling(ms(10), grace=AMPLE), "tumbling"),
        (hopping(ms(10), ms(4), grace=AMPLE), "hopping"),
        (session(ms(5), grace=AMPLE), "sessions"),
    ):
        one.group_by_key().windowed_by(windows).aggregate(*of_window).to(name)
    pairs = one.join(two, before=ms(3), after=ms(8), grace=AMPLE, prefix="r_")
    pairs.group_by_key().aggregate(pairs=count(), n=sum_("r_n")).to("pairs")
    return topology


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.deep] if first >= CASES else [])
        for first in range(0, CASES_DEEP, CASES)
    ],
)
def test_final_tables_equal_duckdb(
    spark: SparkSession, duck: duckdb.DuckDBPyConnection, first: int
) -> None:
    plan = compared_topology().build()

    @cache
    def bound(spec: str) -> Any:
        return kernel_package(spark).Driver(spark._jsparkSession, spec)  # noqa: SLF001

    def opened(_session: Any, spec: str) -> Any:
        driver = bound(spec)
        driver.reset()
        return driver

    for seed in range(first, first + CASES):
        batches = _batches(Random(seed))  # noqa: S311 - the same each time
        _load(duck, [record for batch in batches for record in batch])

        written = run_in_memory(
            spark, plan, batches, cache_bytes_max=CACHE_BYTES_MAX, tasks=2, open_driver=opened
        )

        for topic, sql in SQL.items():
            rows = {
                record.key: record.value for batch in written for record in batch[topic]
            }  # the last of each key
            found = [(*key, *value) for key, value in rows.items() if key and value]
            of_groups = {"grouped", "regrouped"}
            found = [row for row in found if topic not in of_groups or row[1]]
            expected = duck.execute(sql).fetchall()
            assert sorted(found, key=repr) == sorted(expected, key=repr), (seed, topic, batches)


def _batches(rng: Random) -> list[list[Given]]:
    """Out-of-order records near each other in time; times of one source are distinct."""
    times = list(range(180))
    rng.shuffle(times)
    found: list[list[Given]] = [[] for _ in range(rng.randint(1, 4))]
    for time in times[: rng.randint(20, 120)]:
        key = rng.choice([None, "x", "x", "y", "z"])
        row = (rng.choice([None, "x", "y", "z"]), rng.choice([None, *range(-3, 4)]))
        given = Given(
            rng.choice(["s1", "s1", "s2", "t1", "t2"]),
            None if key is None else (key,),
            None if rng.randrange(6) == 0 else row,
            time,
            rng.randrange(2) if key is None else "xyz".index(key) % 2,
        )
        rng.choice(found).append(given)
    return found


def _load(duck: duckdb.DuckDBPyConnection, records: list[Given]) -> None:
    for topic in ("s1", "s2", "t1", "t2"):
        duck.execute(
            f"CREATE OR REPLACE TABLE {topic} (place BIGINT, k VARCHAR, a VARCHAR, n BIGINT, ts BIGINT,"
            " there BOOLEAN, valid BOOLEAN)"
        )
    for at, (topic, key, row, time, *_) in enumerate(records):
        (name,), (text, number) = key or (None,), row or (None, None)
        there = row is not None
        of = [at, name, text, number, time, there, there and name is not None]
        duck.execute(f"INSERT INTO {topic} VALUES (?, ?, ?, ?, ?, ?, ?)", of)
    for topic in ("t1", "t2"):
        duck.execute(
            f"CREATE OR REPLACE VIEW {topic}_rows AS SELECT * FROM (SELECT * FROM {topic}"
            " WHERE k IS NOT NULL QUALIFY row_number() OVER (PARTITION BY k ORDER BY place DESC) = 1)"
            " WHERE there"
        )
