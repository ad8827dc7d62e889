"""Aggregates that collect values: their result types, and errors."""

import json
from collections.abc import Callable

import pytest

from duolog import (
    Topology,
    approx_count_distinct,
    col,
    collect_list,
    collect_map,
    collect_set,
    corr,
    count_distinct,
    first,
    histogram,
    last,
    max_,
    min_,
    percentile,
    row_time,
    session,
    stddev,
    top_k,
    top_k_distinct,
    tumbling,
)
from duolog.core.errors import StatementError
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.streams import Grouped
from duolog.testing import TopologyDriver
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

COLUMNS = (
    "g STRING, n BIGINT, s STRING, price DECIMAL(10,2), tags MAP<STRING, INT>, parts ARRAY<INT>"
)


def of_stream() -> Grouped:
    return Topology("t").stream("rows", key="id STRING", value=COLUMNS).group_by("g")


def of_table() -> Grouped:
    return Topology("t").table("rows", key="id STRING", value=COLUMNS).group_by("g")


@pytest.mark.parametrize(
    ("made", "of"),
    [
        (first("price"), "DECIMAL(10,2)"),
        (last("n", 3), "ARRAY<BIGINT>"),
        (first("tags"), "MAP<STRING, INT>"),
        (collect_list("tags"), "ARRAY<MAP<STRING, INT>>"),
        (collect_set("parts"), "ARRAY<ARRAY<INT>>"),
        (collect_map("s", "n"), "MAP<STRING, BIGINT>"),
        (histogram("s"), "MAP<STRING, BIGINT>"),
        (top_k("price", 2), "ARRAY<DECIMAL(10,2)>"),
        (top_k("n", 2, "s"), "ARRAY<STRUCT<n BIGINT, s STRING>>"),
        (top_k(row_time(), 2, "s"), "ARRAY<STRUCT<rowtime BIGINT, s STRING>>"),
        (top_k(col("n").alias("most"), 2, "s"), "ARRAY<STRUCT<most BIGINT, s STRING>>"),
        (top_k(col("n") * 2, 2, "s"), "ARRAY<STRUCT<sort_col BIGINT, s STRING>>"),
        (top_k("n", 2, col("s").upper()), "ARRAY<STRUCT<n BIGINT, col0 STRING>>"),
        (count_distinct("s") + 1, "BIGINT"),
        (approx_count_distinct("parts"), "BIGINT"),
        (percentile("price", 0.5), "DOUBLE"),
        (percentile("n", [0.1, 0.9]), "ARRAY<DOUBLE>"),
        (stddev("n"), "DOUBLE"),
        (corr("n", "price"), "DOUBLE"),
    ],
    ids=repr,
)
def test_a_result_has_the_type_of_the_collected_values(made: Expr, of: str) -> None:
    table = of_stream().aggregate(a=made)

    assert [str(column.type) for column in table.schema.value] == [of]


def test_top_k_returns_rows_with_the_names_of_their_columns() -> None:
    topology = Topology("t")
    rows = topology.stream("rows", key="id STRING", value=COLUMNS)
    best = rows.group_by("g").aggregate(best=top_k("n", 2, "s", col("price").alias("euro")))
    best.to("best")

    with TopologyDriver(topology) as driver:
        for n, s in ((1, "a"), (3, "b"), (2, "c")):
            driver.input_topic("rows").pipe_input(s, {"g": "x", "n": n, "s": s})
        found = driver.output_topic("best").read_table()

    expected = [{"n": 3, "s": "b", "euro": None}, {"n": 2, "s": "c", "euro": None}]
    assert found == {"x": {"best": expected}}


def test_top_k_refuses_two_fields_with_the_same_name() -> None:
    with pytest.raises(StatementError, match=r'two fields of .* have the name "n"') as caught:
        of_stream().aggregate(best=top_k("n", 2, "n"))

    assert "alias" in caught.value.hint
    twice = of_stream().aggregate(best=top_k("n", 2, col("n").alias("again")))
    assert str(twice.schema.value[0].type) == "ARRAY<STRUCT<n BIGINT, again BIGINT>>"


@pytest.mark.parametrize(
    ("group", "make", "said"),
    [
        (of_table, lambda: first("n"), 'by="time"'),
        (of_table, lambda: last("n", 2), 'by="time"'),
        (of_table, lambda: approx_count_distinct("n"), "count_distinct"),
        (of_table, lambda: collect_set("n", nulls=True), "to_stream"),
        (of_table, lambda: collect_list("tags"), "cannot be compared"),
        (of_stream, lambda: collect_set("tags"), "cannot be compared"),
        (of_stream, lambda: top_k("tags", 2), "cannot be compared"),
        (of_stream, lambda: count_distinct("tags"), "cannot be compared"),
        (of_stream, lambda: percentile("s", 0.5), "needs numbers"),
        (of_stream, lambda: percentile("n", 50), "0.5 is the median"),
        (of_stream, lambda: percentile("n", []), "0.5 is the median"),
        (of_stream, lambda: stddev("s"), "needs numbers"),
        (of_stream, lambda: corr("n", "s"), "needs numbers"),
        (of_stream, lambda: top_k("n", 0), "at least 1"),
        (of_stream, lambda: collect_list("n", limit=-1), "at least 1"),
        (of_stream, lambda: first("n", 2, by="time"), "top_k(row_time()"),
        (of_stream, lambda: first("n", by="clock"), 'Use "offset" or "time"'),  # type: ignore[arg-type]
        (of_stream, lambda: top_k("m", 2), '"m"'),
    ],
)
def test_values_that_cannot_be_collected_are_refused_with_a_hint(
    group: Callable[[], Grouped], make: Callable[[], Expr], said: str
) -> None:
    with pytest.raises(StatementError) as caught:
        group().aggregate(a=make())

    assert said in " ".join((str(caught.value), caught.value.detail or "", caught.value.hint or ""))


def test_the_first_row_of_a_join_by_time_is_refused_as_its_time_changes() -> None:
    topology = Topology("t")
    rows, others = (
        topology.table(name, key="id STRING", value=f"{name} BIGINT") for name in ("n", "m")
    )
    joined = rows.left_join(others).filter(col("n") > 0).group_by("m")

    with pytest.raises(StatementError, match="by time") as caught:
        joined.aggregate(first=first("n", by="time"))

    assert "top_k" in caught.value.hint
    joined.aggregate(newest=top_k("n", 1, "id"))


def test_a_table_of_windows_can_be_aggregated_again() -> None:
    per_minute = of_stream().windowed_by(tumbling("1 minute")).aggregate(low=min_("n"))

    table = per_minute.group_by("g").aggregate(lowest=min_("low"), highest=max_("low"))

    assert str(table.schema) == "key (g STRING) value (lowest BIGINT, highest BIGINT)"


def test_merged_sessions_have_the_values_of_both() -> None:
    topology = Topology("t")
    rows = topology.stream("rows", key="id STRING", value="n BIGINT")
    visits = rows.group_by_key().windowed_by(session("5 ms", grace="1 s"))
    visits.aggregate(
        first=first("n"),
        last=last("n", 2),
        all=collect_list("n", limit=3),
        top=top_k_distinct("n", 2),
        median=percentile("n", 0.5),
        different=count_distinct(col("n") % 2),
    ).to("visits")
    given = [(0, 7), (4, 1), (14, 9), (18, 7), (9, 3)]
    records = [
        SourceRecord("rows", 0, at, time, b"a", b'{"n": %d}' % n)
        for at, (time, n) in enumerate(given)
    ]

    found = ReferenceEvaluator(topology.build(), tasks=1).run(records)

    assert json.loads(found[-1].value or b"") == {
        "first": 7,
        "last": [7, 3],
        "all": [7, 1, 9],
        "top": [9, 7],
        "median": pytest.approx(7, rel=0.01),
        "different": 1,
    }
