"""Aggregate functions: results in the kernel and in the reference, and refused arguments."""

import json
import math
import statistics
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core.errors import QueryError
from duolog.engine.settings import OF_SQL, ErrorHandling
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.planner import Planned
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import AggregateNode
from duolog.plan.sql.aggregates import SQL_AGGREGATES
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

COLUMNS: Final = """
    G STRING, I INT, K INT, B BIGINT, D DOUBLE, N DECIMAL(3,1), S STRING, A ARRAY<INT>,
    M MAP<STRING, INT>, R STRUCT<X INT, Y MAP<STRING, INT>>
"""
SOURCES: Final = f"""
    CREATE STREAM V (ID STRING KEY, {COLUMNS}) WITH (kafka_topic='v', value_format='JSON');
    CREATE TABLE T (ID STRING PRIMARY KEY, {COLUMNS}) WITH (kafka_topic='v', value_format='JSON');
    CREATE TABLE HOURS (ID STRING PRIMARY KEY, G STRING, C BIGINT)
        WITH (kafka_topic='v', value_format='JSON', window_type='TUMBLING', window_size='1 HOUR');
    CREATE STREAM TEXTS (ID STRING KEY, I INT, S STRING) WITH (kafka_topic='t', value_format='DELIMITED');
"""
STRICT: Final = "SET 'ksql.compatibility' = 'strict';"
Row = dict[str, object]
Given = tuple[str, Row | None, int]
"""Key, value and timestamp of a record."""


def planned(query: str) -> Planned:
    *_, done = SqlSession().run(SOURCES + query)
    assert done.query is not None
    return done.query.planned


def in_python(query: str, records: Iterable[Given]) -> list[Any]:
    """Return the values that a query writes, record for record, computed in plain Python."""
    return _run(ReferenceEvaluator(planned(query).plan), records)


def in_kernel(query: str, records: Iterable[Given]) -> list[Any]:
    evaluator = KernelEvaluator(planned(query).plan, tasks=1, cache_bytes_max=0, passes_over=True)
    try:
        return _run(evaluator, records)
    finally:
        evaluator.close()


def _run(evaluator: ReferenceEvaluator | KernelEvaluator, of: Iterable[Given]) -> list[Any]:
    records = [
        SourceRecord("v", 0, offset, at, key.encode(), row and json.dumps(row).encode())  # type: ignore[arg-type]
        for offset, (key, row, at) in enumerate(of)
    ]
    written = [out for record in records for out in evaluator.run([record])]
    return [None if out.value is None else json.loads(out.value) for out in written]


Run = Callable[[str, Iterable[Given]], list[Any]]
BOTH: Final = [in_python, in_kernel]

ROWS: Final[list[Given]] = [
    ("a", {"G": "g", "I": 3, "K": 1, "D": 1.5, "N": 1.5, "S": "x", "A": [1, None, 2],
           "M": {"k": 1, "l": 2}, "R": {"X": 1, "Y": {"k": 1}}}, 0),
    ("b", {"G": "g", "I": None}, 1),
    ("c", {"G": "g", "I": 7, "K": 2, "D": -2.5, "N": 2.5, "S": "w", "A": [4],
           "M": {"l": 2, "k": 1}, "R": {"X": 1, "Y": {"k": 1}}}, 2),
]  # fmt: skip
OF_STREAM: Final[dict[str, object]] = {
    "ATTR(S)": None,
    "ATTR(G)": "g",
    "AVG(I)": 5.0,
    "AVG(D)": -0.5,
    "COLLECT_LIST(S)": ["x", None, "w"],
    "COLLECT_SET(M)": [{"k": 1, "l": 2}, None],
    "COLLECT_SET(R)": [{"X": 1, "Y": {"k": 1}}, None],
    "CORRELATION(I, K)": 1.0,
    "COUNT(*)": 3,
    "COUNT(1)": 3,
    "COUNT(I)": 2,
    "COUNT_DISTINCT(S)": 2,
    "EARLIEST_BY_OFFSET(I)": 3,
    "EARLIEST_BY_OFFSET(I, 2)": [3, 7],
    "EARLIEST_BY_OFFSET(I, 2, FALSE)": [3, None],
    "HISTOGRAM(S)": {"w": 1, "x": 1},
    "LATEST_BY_OFFSET(S)": "w",
    "LATEST_BY_OFFSET(M, 1)": [{"k": 1, "l": 2}],
    "LATEST_BY_OFFSET(I, 2, FALSE)": [None, 7],
    "MAX(S)": "x",
    "MAX(N)": 2.5,
    "MIN(D)": -2.5,
    "STDDEV_SAMP(I)": 8.0,
    "STDDEV_SAMPLE(I)": math.sqrt(8),
    "SUM(I)": 10,
    "SUM(N)": 4.0,
    "SUM(N + I)": 14.0,
    "SUM(LEN(S))": 2,
    "SUM_LIST(A)": 7,
    "TOPK(I, 1)": [7],
    "TOPK(S, I, 2)": [{"sort_col": "x", "col0": 3}, {"sort_col": "w", "col0": 7}],
    "TOPKDISTINCT(I, 5)": [7, 3],
}
NOT_IN_PYTHON: Final = {"SUM(N + I)", "SUM(LEN(S))", "COLLECT_SET(M)", "COLLECT_SET(R)"}
"""Aggregates that call other SQL functions or compare maps; only the kernel supports them."""


def each(run: Run, calls: Iterable[str], records: Iterable[Given], source: str = "V") -> list[Row]:
    """Return what calls give after each record."""
    wanted = list(calls)
    columns = ", ".join(f"{call} AS C{at}" for at, call in enumerate(wanted))
    query = f"CREATE TABLE O AS SELECT G, {columns} FROM {source} GROUP BY G;"  # noqa: S608
    return [{call: row[f"C{at}"] for at, call in enumerate(wanted)} for row in run(query, records)]


@pytest.mark.parametrize("run", BOTH)
def test_aggregates_return_the_documented_results(run: Run) -> None:
    wanted = {
        call: of for call, of in OF_STREAM.items() if run is in_kernel or call not in NOT_IN_PYTHON
    }

    *_, last = each(run, wanted, ROWS)

    assert last == wanted
    assert {call.partition("(")[0] for call in OF_STREAM} == SQL_AGGREGATES.keys()


@pytest.mark.parametrize("run", BOTH)
def test_an_aggregate_of_nulls_only_returns_its_initial_value(run: Run) -> None:
    calls = {
        "SUM(I)": 0, "SUM_LIST(A)": 0, "AVG(I)": 0.0, "STDDEV_SAMPLE(D)": 0.0, "CORRELATION(I, K)": "NaN",
        "MIN(I)": None, "ATTR(I)": None, "COLLECT_LIST(I)": [None], "TOPK(I, 2)": [], "HISTOGRAM(S)": {},
        "LATEST_BY_OFFSET(I)": None, "LATEST_BY_OFFSET(I, 2)": [], "COUNT_DISTINCT(I)": 0,
    }  # fmt: skip

    assert each(run, calls, [("a", {"G": "g"}, 0)]) == [calls]


@pytest.mark.parametrize("run", BOTH)
def test_updates_of_table_rows_undo_the_old_row(run: Run) -> None:
    calls = [
        "ATTR(S)", "AVG(I)", "COLLECT_LIST(S)", "CORRELATION(I, K)", "COUNT(I)", "HISTOGRAM(S)",
        "STDDEV_SAMPLE(I)", "SUM(N)", "SUM_LIST(A)", "MAX(I)", "MIN(I)", "TOPK(I, 2)", "COLLECT_SET(S)", "COUNT_DISTINCT(S)",
    ]  # fmt: skip
    other: Row = {"G": "g", "I": 5, "K": 5, "S": "y", "N": 9.5, "A": [9]}

    both: list[Given] = [*ROWS, ("d", other, 3), ("c", None, 4), ("a", {"G": "g", "S": "y"}, 5)]
    *_, last = each(run, calls, both, "T")
    gone = each(run, calls, [ROWS[0], ("a", None, 1)], "T")[-1]

    assert last == {
        "ATTR(S)": None, "AVG(I)": 5.0, "COLLECT_LIST(S)": [None, "y", "y"], "CORRELATION(I, K)": "NaN", "COUNT(I)": 1,
        "HISTOGRAM(S)": {"y": 2}, "STDDEV_SAMPLE(I)": 0.0, "SUM(N)": 9.5, "SUM_LIST(A)": 9, "MAX(I)": 5, "MIN(I)": 5,
        "TOPK(I, 2)": [5], "COLLECT_SET(S)": ["y"], "COUNT_DISTINCT(S)": 1,
    }  # fmt: skip
    assert gone == {
        "ATTR(S)": None, "AVG(I)": 0.0, "COLLECT_LIST(S)": [], "CORRELATION(I, K)": "NaN", "COUNT(I)": 0, "HISTOGRAM(S)": {},
        "STDDEV_SAMPLE(I)": 0.0, "SUM(N)": 0.0, "SUM_LIST(A)": 0, "MAX(I)": None, "MIN(I)": None, "TOPK(I, 2)": [],
        "COLLECT_SET(S)": [], "COUNT_DISTINCT(S)": 0,
    }  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(-9, 9)), max_size=15))
def test_adds_and_undos_in_any_order_equal_a_full_recomputation(
    changes: list[tuple[str, int | None]],
) -> None:
    rows: list[Given] = [
        (key, None if number is None else {"G": "g", "I": number, "K": number * number}, at)
        for at, (key, number) in enumerate(changes)
    ]
    now = [number for number in dict(changes).values() if number is not None]

    found = each(in_python, ["SUM(I)", "AVG(I)", "STDDEV_SAMP(I)", "CORRELATION(I, K)"], rows, "T")

    if not found:
        return
    spread = statistics.variance(now) if len(now) > 1 else 0.0
    mean = statistics.mean(now) if now else 0.0
    assert list(found[-1].values())[:3] == [
        sum(now),
        pytest.approx(mean),
        pytest.approx(spread, abs=1e-9),
    ]
    if len(set(now)) > 1 and len({number * number for number in now}) > 1:
        wanted = statistics.correlation(now, [number * number for number in now])
        assert found[-1]["CORRELATION(I, K)"] == pytest.approx(wanted, abs=1e-9)
    else:
        assert found[-1]["CORRELATION(I, K)"] == "NaN"


def test_undo_removes_one_of_several_equal_maps() -> None:
    turned: Row = {"G": "g", "M": {"l": 2, "k": 1}}
    rows: list[Given] = [("a", {"G": "g", "M": {"k": 1, "l": 2}}, 0), ("b", turned, 1)]

    found = each(
        in_kernel,
        ["ATTR(M)", "COLLECT_LIST(M)"],
        [*rows, ("c", {"G": "g"}, 2), ("c", None, 3), ("a", None, 4)],
        "T",
    )

    assert [row["ATTR(M)"] for row in found] == [
        {"k": 1, "l": 2},
        {"k": 1, "l": 2},
        None,
        {"k": 1, "l": 2},
        {"k": 1, "l": 2},
    ]
    assert found[-1]["COLLECT_LIST(M)"] == [{"k": 1, "l": 2}]


@pytest.mark.parametrize("run", BOTH)
def test_merged_sessions_combine_their_aggregates(run: Run) -> None:
    calls = ["SUM(I)", "AVG(I)", "STDDEV_SAMP(I)", "CORRELATION(I, K)", "MAX(I)", "ATTR(S)", "COLLECT_LIST(I)", "COLLECT_SET(I)",
             "TOPK(I, 2)", "LATEST_BY_OFFSET(I)", "EARLIEST_BY_OFFSET(I, 2)", "HISTOGRAM(S)", "COUNT_DISTINCT(I)"]  # fmt: skip
    columns = ", ".join(f"{call} AS C{at}" for at, call in enumerate(calls))
    query = f"CREATE TABLE O AS SELECT G, {columns} FROM V WINDOW SESSION (1 SECOND) GROUP BY G;"  # noqa: S608
    rows = [
        ("a", {"G": "g", "S": "x", "I": value, "K": 2 * value}, at)
        for value, at in [(1, 0), (3, 1500), (8, 700)]
    ]

    *_, last = run(query, rows)

    assert list(last.values()) == [
        12, 4.0, 13.0, 1.0, 8, "x", [1, 3, 8], [1, 3, 8], [8, 3], 8, [1, 3], {"x": 3}, 3,
    ]  # fmt: skip


def test_the_session_limits_the_length_of_a_collection() -> None:
    limits = "SET 'ksql.functions.collect_list.limit' = '2'; SET 'ksql.functions.collect_set.limit' = '1';"
    query = f"{limits} CREATE TABLE O AS SELECT G, COLLECT_LIST(S) AS L, COLLECT_SET(S) AS S FROM V GROUP BY G;"  # noqa: S608

    assert in_python(query, ROWS)[-1] == {"L": ["x", None], "S": ["x"]}


def test_a_record_that_overflows_a_sum_is_skipped() -> None:
    rows: list[Given] = [("a", {"G": "g", "N": number}, 0) for number in (60.5, 50.0, 1.5)]

    assert each(in_kernel, ["SUM(N)"], rows) == [{"SUM(N)": 60.5}, {"SUM(N)": 62.0}]


FINAL: Final = (
    "CREATE TABLE O AS SELECT G, WINDOWSTART AS W, COUNT(*) AS C FROM V "
    "WINDOW {} GROUP BY G EMIT FINAL;"
)


@pytest.mark.parametrize("run", BOTH)
@pytest.mark.parametrize(
    ("windows", "kept", "lost"),
    [
        ("TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS)", [0, 10, 40], [0, 40]),
        ("TUMBLING (SIZE 10 MILLISECONDS, RETENTION 30 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS)", [0, 10, 40], [0, 10, 40]),
        ("HOPPING (SIZE 10 MILLISECONDS, ADVANCE BY 5 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS)",
         [0, 5, 10, 15, 35, 40], [0, 40]),
        ("SESSION (10 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS)", [3], [3]),
    ],
)  # fmt: skip
def test_a_jump_in_time_loses_final_results_in_strict_mode_only(
    run: Run, windows: str, kept: list[int], lost: list[int]
) -> None:
    records: list[Given] = [("a", {"G": "g"}, at) for at in (3, 12, 18, 44, 56)]

    found = [row["W"] for row in run(FINAL.format(windows), records)]
    strictly = [row["W"] for row in run(STRICT + FINAL.format(windows), records)]

    assert (found, strictly) == (kept, lost)


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SUM(S) FROM V", "Function 'SUM' does not accept parameters (STRING)."),
        ("SUM(A) FROM V", "Function 'SUM' does not accept parameters (ARRAY<INTEGER>)."),
        ("AVG(I, D) FROM V", "Function 'AVG' does not accept parameters (INTEGER, DOUBLE)."),
        ("HISTOGRAM(I) FROM V", "Function 'HISTOGRAM' does not accept parameters (INTEGER)."),
        ("COLLECT_LIST(NULL) FROM V", "Function 'COLLECT_LIST' does not accept parameters"),
        ("TOPK(M, 2) FROM V", "Function 'TOPK' does not accept parameters (MAP<STRING, INTEGER>, INTEGER)."),
        ("TOPK(I, B) FROM V", "Function 'TOPK' does not accept parameters (INTEGER, BIGINT)."),
        ("TOPK(B, I) FROM V", "Parameter 2 passed to function TOPK must be a literal constant, but was expression: 'I'"),
        ("TOPK(B, S, 0) FROM V", "Parameter 3 passed to function TOPK must be 1 or greater"),
        ("SUM(I) FROM T WINDOW TUMBLING (SIZE 1 HOUR)", "Windowing not supported for table aggregations."),
        ("SUM(MAX(I)) FROM V", "Aggregate functions can not be nested: SUM(MAX())"),
        ("LATEST_BY_OFFSET(I), EARLIEST_BY_OFFSET(I) FROM T",
         "The aggregation function(s) (LATEST_BY_OFFSET, EARLIEST_BY_OFFSET) cannot be applied to a table source"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(query: str, expected_message: str) -> None:
    calls, _, source = query.partition(" FROM ")

    with pytest.raises(SqlError) as caught:
        planned(f"CREATE TABLE O AS SELECT G, {calls} FROM {source} GROUP BY G;")  # noqa: S608

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        (
            "CREATE TABLE O AS SELECT G, MAX(I), SUM(I) FROM T GROUP BY G;",
            "The aggregation function(s) (MAX) cannot be applied to a table source, only to a stream source.",
        ),
        (
            "CREATE TABLE O AS SELECT G, SUM(C) FROM HOURS GROUP BY G;",
            "KSQL does not support persistent queries on windowed tables.",
        ),
        (
            "CREATE TABLE O AS SELECT ID, AVG(I) FROM TEXTS GROUP BY ID;",
            "One of the functions used in the statement has an intermediate type that the value format can not handle.",
        ),
    ],
)
def test_strict_mode_refuses_what_ksqldb_refuses(query: str, expected_message: str) -> None:
    assert planned(query).columns

    with pytest.raises(SqlError) as caught:
        planned(STRICT + query)

    assert expected_message in caught.value.message


def test_the_kafka_format_can_hold_single_valued_aggregates() -> None:
    query = "CREATE TABLE O AS SELECT ID, SUM(I), MIN(S), COUNT(S) FROM TEXTS GROUP BY ID;"

    assert len(planned(STRICT + query).columns) == 4


def test_windows_are_kept_for_their_retention() -> None:
    aggregate = next(
        node
        for node in planned(
            "CREATE TABLE O AS SELECT G, COUNT(*) FROM V "
            "WINDOW TUMBLING (SIZE 1 SECOND, RETENTION 1 MINUTE, GRACE PERIOD 2 SECONDS) GROUP BY G;"
        ).plan.nodes
        if isinstance(node, AggregateNode)
    )

    assert (aggregate.kept_ms, aggregate.retention_ms) == (60_000, 60_000)


def test_the_functions_are_listed_and_described() -> None:
    listed, described = SqlSession().run("SHOW FUNCTIONS; DESCRIBE FUNCTION topk;")

    (names,) = listed.rows
    _, variations = described.rows
    assert ("TOPK", "AGGREGATE") in names.rows
    assert ("TOPK(val STRING, k INTEGER)", "ARRAY<STRING>") in variations.rows
    assert any("others ANY..., k INTEGER" in str(call) for call, _ in variations.rows)


def test_a_sum_of_decimals_that_overflows_ends_the_query() -> None:
    """The record used to be skipped: sums continued without it, and no error was logged."""
    query = "CREATE TABLE S AS SELECT G, SUM(N) AS N FROM V GROUP BY G;"
    evaluator = KernelEvaluator(planned(query).plan, tasks=1, cache_bytes_max=0, errors=OF_SQL)
    try:
        assert _run(evaluator, [("a", {"G": "g", "N": 99.9}, 0)]) == [{"N": 99.9}]

        with pytest.raises(
            QueryError, match=r"Numeric field overflow: 101\.0 does not fit DECIMAL\(3,1\)"
        ):
            _run(evaluator, [("a", {"G": "g", "N": 1.1}, 0)])
    finally:
        evaluator.close()


@pytest.mark.parametrize(("rows", "expected_message"), [(True, "bm8ganNvbg=="), (False, None)])
def test_the_processing_log_has_the_record_where_rows_are_included(
    *, rows: bool, expected_message: str | None
) -> None:
    log = ErrorHandling(dead_letter_topic="log", processing_log=True, log_rows=rows)
    query = "CREATE STREAM W AS SELECT ID, I FROM V;"
    evaluator = KernelEvaluator(planned(query).plan, tasks=1, cache_bytes_max=0, errors=log)
    try:
        (entry,) = evaluator.run([SourceRecord("v", 0, 0, 0, b"k", b"no json")])
    finally:
        evaluator.close()

    assert entry.topic == "log"
    assert entry.value is not None
    assert (
        json.loads(entry.value)["message"]["deserializationError"]["recordB64"] == expected_message
    )
