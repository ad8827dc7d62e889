"""Skipped records whose expressions fail: an overflowing DECIMAL sum, an invalid pattern.

The in-memory kernel and the reference evaluator must have the same state afterwards.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from duolog import Topology, acc, avg, coalesce, col, count, lit, sum_
from duolog.dsl.expressions.columns import Expr
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.lower import lower
from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan
from duolog.testing.packed_records import pack, unpack
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = pytest.mark.spark

WIDE = "9" * 34
AMOUNTS = ("0.0000000001", "-1.5", WIDE + "00", "-" + WIDE + "00", "null")
BIG = (2**63 - 1, -(2**63), 7)
PATTERNS = ("%", "a_", "\\\\x")
ROW = "g STRING, amount DECIMAL(38,2), n BIGINT, pattern STRING"

rows = st.builds(
    lambda group, amount, n, pattern: (
        f'{{"g":"{group}","amount":{amount},"n":{n},"pattern":"{pattern}"}}'.encode()
    ),
    st.sampled_from("ab"),
    st.sampled_from(AMOUNTS),
    st.sampled_from(BIG),
    st.sampled_from(PATTERNS),
)
batches = st.lists(
    st.lists(st.tuples(st.sampled_from([b"k", b"l"]), st.none() | rows), max_size=8), max_size=3
)


def plan_of(*, table: bool, products: bool = True) -> Plan:
    """Built-in and custom sums by group, of all records and of those matching their pattern."""
    topology = Topology("overflows")
    source: Any = (topology.table if table else topology.stream)("t", key="id STRING", value=ROW)
    liked = source.filter(col("g").like(col("pattern")))
    liked.map_values("g", "n").to("liked")
    for name, of in (("all", source), ("of-liked", liked)):
        of.group_by("g").aggregate(
            rows=count(), total=sum_("amount"), mean=avg("amount"), whole=sum_("n")
        ).to(name)
    own, amount = acc("own"), coalesce(col("amount"), lit(0))
    source.group_by("g").aggregate(
        initializer={"own": lit(0).cast("DECIMAL(38,2)"), "rows": lit(0)},
        adder={"own": own + amount, "rows": acc("rows") + lit(1)},
        subtractor={"own": own - amount, "rows": acc("rows") - lit(1)} if table else None,
    ).to("own")
    if products:
        source.group_by("g").aggregate(
            initializer={"own": lit(1).cast("DECIMAL(20,6)")},
            adder={"own": own * amount},
            subtractor={"own": own / amount} if table else None,
        ).to("product")
    return topology.build()


@pytest.mark.parametrize("table", [False, True], ids=["stream", "table"])
@pytest.mark.parametrize("cache", [False, True], ids=["every update", "record cache"])
@settings(max_examples=settings().max_examples // 8)  # Each case takes as long as ten others.
@given(given=batches)
def test_skipped_records_leave_the_same_state(
    spark: SparkSession,
    table: bool,  # noqa: FBT001 - a parameter of the test
    cache: bool,  # noqa: FBT001 - a parameter of the test
    given: list[list[tuple[bytes, bytes | None]]],
) -> None:
    plan = plan_of(table=table)
    reference = ReferenceEvaluator(plan, cache=cache, passes_over=True)
    driver = driver_of(spark, plan, CACHE_BYTES_MAX_DEFAULT if cache else 0)

    offset = 0
    for batch in given:
        records = []
        for key, value in batch:
            records.append(SourceRecord("t", 0, offset, offset, key, value))
            offset += 1
        expected = [
            (out.topic, out.key, out.value, out.timestamp_ms) for out in reference.run(records)
        ]
        assert drive(driver, records) == sorted(expected, key=repr)


def test_decimal_sum_overflow_is_a_record_error(spark: SparkSession) -> None:
    """Regression: streams skipped it silently, and in a table it stayed null."""
    for table in (False, True):
        driver = driver_of(
            spark, plan_of(table=table, products=False), 0, processing="log_and_fail"
        )
        row = f'{{"g":"a","amount":{WIDE}00,"n":1,"pattern":"%"}}'.encode()
        drive(driver, [SourceRecord("t", 0, 0, 0, b"k", row)])

        with pytest.raises(
            Exception, match=r"offset 1 at aggregate-.* does not fit DECIMAL\(38,2\)"
        ):
            drive(driver, [SourceRecord("t", 0, 1, 0, b"l", row)])


def test_custom_sum_overflow_is_a_record_error(spark: SparkSession) -> None:
    """Regression: the value silently became null for good."""
    topology = Topology("own")
    topology.stream("t", key="id STRING", value=ROW).group_by("g").aggregate(
        initializer={"own": lit(0).cast("DECIMAL(38,2)")},
        adder={"own": acc("own") + col("amount")},
    ).to("own")
    driver = driver_of(spark, topology.build(), 0, processing="log_and_fail")
    rows = [
        f'{{"g":"a","amount":{amount}}}'.encode() for amount in ("0.5", WIDE + "00", WIDE + "00")
    ]

    first, second = (drive(driver, [SourceRecord("t", 0, n, 0, b"k", rows[n])]) for n in range(2))

    assert [out[2] for out in first + second] == [
        b'{"own":0.50}',
        f'{{"own":{WIDE}00.50}}'.encode(),
    ]
    with pytest.raises(Exception, match=r"offset 2 at aggregate-.* does not fit DECIMAL\(38,2\)"):
        drive(driver, [SourceRecord("t", 0, 2, 0, b"k", rows[2])])


@pytest.mark.parametrize(
    ("step", "amounts"),
    [
        (acc("own") * col("amount"), ("2", WIDE + "00", WIDE + "00")),
        (acc("own") / col("amount"), ("0.5", "0.01", "0.00")),
        (acc("own") * col("amount") / col("n"), ("2", WIDE + "00", WIDE + "00")),
    ],
)
def test_custom_product_overflow_is_a_record_error(
    spark: SparkSession, step: Expr, amounts: tuple[str, ...]
) -> None:
    """Regression: the value silently became null. Division by zero returns null, as elsewhere."""
    topology = Topology("own")
    topology.stream("t", key="id STRING", value=ROW).group_by("g").aggregate(
        initializer={"own": lit(3).cast("DECIMAL(38,2)")}, adder={"own": step}
    ).to("own")
    plan = topology.build()
    driver = driver_of(spark, plan, 0, processing="log_and_fail")
    rows = [
        SourceRecord("t", 0, at, 0, b"k", f'{{"g":"a","amount":{amount},"n":1}}'.encode())
        for at, amount in enumerate(amounts)
    ]
    by_zero = amounts[-1] == "0.00"

    for row in rows[: 3 if by_zero else 1]:
        written = drive(driver, [row])

    if by_zero:
        assert [out[2] for out in written] == [b'{"own":null}']
    else:
        with pytest.raises(Exception, match=r"offset \d at aggregate-.* does not fit DECIMAL\(38,"):
            drive(driver, rows[1:])


def driver_of(
    spark: SparkSession, plan: Plan, cache_bytes_max: int, processing: str = "log_and_continue"
) -> Any:
    spec = lower(find_levels(plan, 1), "overflows", cache_bytes_max=cache_bytes_max)
    spec["errors"] = {"processing": processing}
    jvm: Any = spark._jvm  # noqa: SLF001
    kernel_class(jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    return kernel_class(jvm, "Driver")(spark._jsparkSession, json.dumps(spec))  # noqa: SLF001


def drive(driver: Any, records: list[SourceRecord]) -> list[tuple[Any, ...]]:
    written = unpack(driver.runPacked(pack(records)))
    return sorted(((out.topic, out.key, out.value, out.ts) for out in written), key=repr)
