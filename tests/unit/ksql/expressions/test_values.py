"""Values of expressions, computed by the kernel."""

import json
from typing import Final

import pytest

from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

SOURCE: Final = """
    CREATE STREAM V (
        ID STRING KEY, I INT, B BIGINT, D DOUBLE, N DECIMAL(4,2), S STRING, T BOOLEAN,
        A ARRAY<BIGINT>, M MAP<STRING, INT>, R STRUCT<X INT, Y STRING>
    ) WITH (kafka_topic='v', value_format='JSON');
"""
ROW: Final = {
    "I": 7,
    "B": 9_000_000_000,
    "D": 1.5,
    "N": 2.50,
    "S": " 12 ",
    "T": True,
    "A": [1, 2, 3],
    "M": {"a": 1, "b": None},
    "R": {"X": 4, "Y": None},
}
NULLS: Final[dict[str, object]] = {}

VALUES: Final[list[tuple[str, object]]] = [
    # Arithmetic is Java's.
    ("I / 2", 3),
    ("-I / 2", -3),
    ("-I % 4", -3),
    ("2147483647 + I", -2147483642),
    ("I / 0", None),
    ("N / 0", None),
    ("D / 0 > 1e300", True),
    ("D % 0 = D", False),
    ("N + I", 9.50),
    ("S + '!'", " 12 !"),
    # A part that fails is null, and not all of the column.
    ("ARRAY[I, I / 0]", [7, None]),
    ("CAST('x' AS INT) IS NULL", True),
    # Casts.
    ("CAST(S AS INT)", 12),
    ("CAST('1.5' AS INT)", None),
    ("CAST(B AS INT)", 410065408),
    ("CAST(-1.9e0 AS INT)", -1),
    ("CAST(0.125e0 AS DECIMAL(3,2))", 0.13),
    ("CAST(123.4 AS DECIMAL(3,2))", None),
    ("CAST('TR' AS BOOLEAN)", True),
    ("CAST('maybe' AS BOOLEAN)", False),
    ("CAST(D AS STRING)", "1.5"),
    ("CAST(N AS STRING)", "2.50"),
    ("CAST(A AS STRING)", "[1, 2, 3]"),
    ("CAST(M AS STRING)", "{a=1, b=null}"),
    ("CAST(R AS STRING)", "Struct{X=4}"),
    ("CAST(A AS ARRAY<STRING>)", ["1", "2", "3"]),
    ("CAST(M AS MAP<STRING, DOUBLE>)", {"a": 1.0, "b": None}),
    ("CAST(R AS STRUCT<Z INT, X STRING>)", {"Z": None, "X": "4"}),
    ("CAST(CAST('2020-02' AS DATE) AS STRING)", "2020-02-01"),
    ("CAST(CAST('2020-02-03T04:05:06.7' AS TIMESTAMP) AS STRING)", "2020-02-03T04:05:06.700"),
    ("CAST(CAST('2020-02-03T04:05:06' AS TIMESTAMP) AS TIME) = '04:05:06'", True),
    ("CAST(TIME '10:15' AS STRING)", "10:15"),
    # Comparisons are never null.
    ("N = 2.5", True),
    ("D = 1.5", True),
    ("M = MAP('b' := CAST(NULL AS INT), 'a' := 1)", True),
    ("M IN (MAP('a' := '1'))", False),
    ("A = ARRAY[1, 2, 3]", True),
    ("R = STRUCT(X := 4, Y := CAST(NULL AS STRING))", True),
    ("I IN (1, '7.0')", True),
    ("I NOT IN (1, NULL)", True),
    ("S LIKE ' 1_ '", True),
    ("'a%' LIKE 'a!%' ESCAPE '!'", True),
    ("'ab' LIKE 'a!%' ESCAPE '!'", False),
    ("'a\\b' LIKE 'a\\b'", True),
    # Parts.
    ("A[1] + A[-1]", 4),
    ("A[0]", None),
    ("A[9]", None),
    ("M['a']", 1),
    ("R->X", 4),
    ("MAP(CAST(NULL AS STRING) := I)", {"null": 7}),
    ("MAP('k' := 1, 'k' := 2)", {"k": 2}),
    ("CASE I WHEN 7 THEN 'seven' END", "seven"),
    # Lambdas; in one arithmetic of a null costs the result, and in a part of a STRUCT that part.
    ("TRANSFORM(A, x => x * 2)", [2, 4, 6]),
    ("FILTER(A, x => x > I - 5)", [3]),
    ("FILTER(M, (k, v) => v IS NOT NULL)", {"a": 1}),
    ("FILTER(M, (k, v) => v > 0)", {"a": 1}),
    ("FILTER(M, (k, v) => v + 1 > 0)", None),
    ("TRANSFORM(MAP_VALUES(M), x => x + 1)", None),
    ("TRANSFORM(MAP_VALUES(M), x => STRUCT(Z := x + 1))", [{"Z": 2}, {"Z": None}]),
    ("REDUCE(A, 0, (s, x) => s + x)", 6),
    ("REDUCE(A, 0, (s, x) => s / 0)", None),
    (".5 + 1", 1.5),
    ("GEO_DISTANCE(0, 181, 0, 0)", None),
]
OF_NULLS: Final[list[tuple[str, object]]] = [
    ("I = 7", False),
    ("I <> 7", False),
    ("NOT (I = 7)", True),
    ("I IS DISTINCT FROM 7", True),
    ("I IN (7)", False),
    ("S LIKE '%'", False),
    ("I + 1", None),
    ("A[1]", None),
    ("R->X", None),
    ("CAST(A AS STRING)", None),
    ("CAST(R AS STRUCT<X STRING>)", None),
    ("A = A", False),
    ("CASE WHEN I > 1 THEN 'x' ELSE 'y' END", "y"),
]


def computed(expressions: list[str], row: dict[str, object]) -> list[object]:
    columns = ", ".join(f"{text} AS C{at}" for at, text in enumerate(expressions))
    query = " ".join(["CREATE STREAM O AS SELECT ID,", columns, "FROM V;"])
    *_, done = SqlSession().run(SOURCE + query)
    assert done.query is not None
    evaluator = KernelEvaluator(done.query.planned.plan, tasks=1, cache_bytes_max=0)
    try:
        record = SourceRecord("v", 0, 0, 0, b"k", json.dumps(row).encode())
        (out,) = evaluator.run([record])
    finally:
        evaluator.close()
    assert out.value is not None
    found = json.loads(out.value)
    return [found[f"C{at}"] for at in range(len(expressions))]


@pytest.mark.parametrize(("row", "wanted"), [(ROW, VALUES), (NULLS, OF_NULLS)])
def test_expressions_return_the_documented_values(
    row: dict[str, object], wanted: list[tuple[str, object]]
) -> None:
    found = computed([text for text, _ in wanted], row)

    assert [(text, one) for (text, _), one in zip(wanted, found, strict=True)] == wanted
