"""User functions in persistent queries: on the kernel, which calls them in processes of their own."""

import json
from typing import Final

import pytest
from pyspark.sql import SparkSession

from duolog.cli.sql.function_modules import catalog_of
from duolog.engine.settings import ErrorHandling
from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord
from duolog.testing.sql import read_tests, run_test

MODULE: Final = "unit.ksql.udf.sample_functions"
STREAM: Final = (
    "CREATE STREAM s (k STRING KEY, a STRING, n INT) "
    "WITH (kafka_topic='s', value_format='JSON', partitions=1);"
)
ROWS: Final = """\
--@test: projections, conditions and keys may call functions; a failed call returns null
STREAM
CREATE STREAM x AS SELECT k, score(a) + 1 AS c, COALESCE(inverse(n), -1.0) AS i, shown(a) AS t FROM s WHERE score(k, 1) = 1;
CREATE STREAM keyed AS SELECT score(a) AS c, k FROM s PARTITION BY score(a);
INSERT INTO s VALUES ('k', 'abc', 2);
INSERT INTO s VALUES ('long', 'abc', 2);
INSERT INTO s VALUES ('k', NULL, 0);
ASSERT VALUES x (k, c, i, t) VALUES ('k', 10, 0.5, 'abc');
ASSERT VALUES x (k, c, i, t) VALUES ('k', NULL, -1.0, 'nothing');
ASSERT VALUES keyed (c, k) VALUES (9, 'k');
ASSERT VALUES keyed (c, k) VALUES (9, 'long');
"""
TYPES: Final = """\
--@test: values of all types go in and out
CREATE STREAM s (k STRING KEY, p STRUCT<lat DOUBLE, lon DOUBLE>, l ARRAY<INT>, at TIMESTAMP, t TIME, d DECIMAL(6,3))
WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM x AS SELECT k, score(p) AS p, pick(l, 1) AS e, later(at, t) AS at, half(d) AS d, total(1.5, p->lat) AS n FROM s;
CREATE STREAM c AS SELECT k, corners(p)->lat AS lat, words(k, 'x y') AS w FROM s;
INSERT INTO s VALUES ('a b', STRUCT(lat := 1.5, lon := 2.0), ARRAY[4, 5], '2026-01-01T00:00:00.250', '01:30:00', 3.125);
ASSERT VALUES x (k, p, e, at, d, n) VALUES ('a b', STRUCT(lat := 2.5, lon := CAST(NULL AS DOUBLE)), 5, '2026-01-01T01:30:00.250', 1.56, 3.0);
ASSERT VALUES c (k, lat, w) VALUES ('a b', 1.5, 'a');
ASSERT VALUES c (k, lat, w) VALUES ('a b', -1.5, 'b');
ASSERT VALUES c (k, lat, w) VALUES ('a b', NULL, 'x');
ASSERT VALUES c (k, lat, w) VALUES ('a b', NULL, 'y');
"""
GROUPS: Final = """\
--@test: an aggregate over groups, and over windows; values that are null are passed over
STREAM
CREATE TABLE m AS SELECT k, mean(n) AS m, mean(n, 3) AS thrice, longest(a) AS l FROM s GROUP BY k HAVING mean(n) < 100;
CREATE TABLE w AS SELECT k, mean(n) AS m FROM s WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k;
INSERT INTO s (ROWTIME, k, a, n) VALUES (0, 'k', 'a', 1);
INSERT INTO s (ROWTIME, k, a, n) VALUES (15000, 'k', 'abc', 2);
INSERT INTO s (ROWTIME, k, a, n) VALUES (8000, 'k', NULL, 6);
INSERT INTO s (ROWTIME, k, a, n) VALUES (8000, 'k', 'x', NULL);
ASSERT VALUES m (k, m, thrice, l) VALUES ('k', 1.0, 3.0, 'a');
ASSERT VALUES m (k, m, thrice, l) VALUES ('k', 1.5, 4.5, 'abc');
ASSERT VALUES m (k, m, thrice, l) VALUES ('k', 3.0, 9.0, 'abc');
ASSERT VALUES m (k, m, thrice, l) VALUES ('k', 3.0, 9.0, 'abc');
ASSERT VALUES w (k, WINDOWSTART, WINDOWEND, m) VALUES ('k', 0, 0, 1.0);
ASSERT VALUES w (k, WINDOWSTART, WINDOWEND, m) VALUES ('k', 15000, 15000, 2.0);
"""
TABLES: Final = """\
--@test: over a table an aggregate takes back
CREATE TABLE t (k STRING PRIMARY KEY, g STRING, n INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE m AS SELECT g, mean(n) AS m FROM t GROUP BY g;
CREATE TABLE p AS SELECT k, score(g) AS c FROM t WHERE score(g) > 3;
INSERT INTO t VALUES ('a', 'x', 2);
INSERT INTO t VALUES ('b', 'x', 4);
INSERT INTO t VALUES ('a', 'xy', 8);
ASSERT VALUES m (g, m) VALUES ('x', 2.0);
ASSERT VALUES m (g, m) VALUES ('x', 3.0);
ASSERT VALUES m (g, m) VALUES ('x', 4.0);
ASSERT VALUES m (g, m) VALUES ('xy', 8.0);
ASSERT VALUES p (k, c) VALUES ('a', 6);
"""


FAILING: Final = """\
--@test: a failing aggregate ends its query and is reported with its line and record
--@expected.message: cannot process the record of topic "s", partition 0, offset 1 at aggregate
STREAM
CREATE TABLE m AS SELECT k, mean(n) AS m FROM s GROUP BY k;
INSERT INTO s VALUES ('k', 'a', 1);
INSERT INTO s VALUES ('k', 'a', 13);
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    "text", [ROWS, TYPES, GROUPS, TABLES, FAILING], ids=lambda text: text.splitlines()[0][10:40]
)
def test_persistent_queries_call_user_functions(spark: SparkSession, text: str) -> None:
    (test,) = read_tests(text.replace("\nSTREAM\n", f"\n{STREAM}\n"), "functions.sql")

    outcome = run_test(test, catalog_of([MODULE]))

    assert outcome.passed, outcome.render()


def test_a_failing_call_is_in_the_processing_log(spark: SparkSession) -> None:
    assert spark is not None, "the kernel finds the session of this run"
    session = SqlSession()
    list(session.run(f"CREATE FUNCTION inverse FROM '{MODULE}:inverse';{STREAM}"))
    # In a CASE it is asked for by itself, elsewhere with all that wait.
    (done,) = session.run(
        "CREATE STREAM x AS SELECT k, inverse(n) AS i, CASE WHEN n = 0 THEN inverse(n + 0) END AS c FROM s;"
    )
    assert done.query is not None
    log = ErrorHandling(dead_letter_topic="log", processing_log=True, log_rows=True)
    evaluator = KernelEvaluator(done.query.planned.plan, tasks=1, cache_bytes_max=0, errors=log)
    try:
        out = evaluator.run(
            [SourceRecord("s", 0, n, n, b"k", b'{"A":"a","N":%d}' % n) for n in (2, 0, 4)]
        )
    finally:
        evaluator.close()

    values = [json.loads(one.value or b"") for one in out if one.topic == "X"]
    entries = [json.loads(one.value or b"")["message"] for one in out if one.topic == "log"]
    assert values == [{"I": 0.5, "C": None}, {"I": None, "C": None}, {"I": 0.25, "C": None}]
    reported = [entry["recordProcessingError"] for entry in entries]
    assert len(reported) == 2
    for one in reported:
        assert (
            'a call returned null for the record of topic "s", partition 0, offset 0'
            in one["errorMessage"]
        )
        assert "INVERSE (sample_functions.py:" in one["errorMessage"]
        assert "ZeroDivisionError: division by zero" in one["cause"][0]
        assert json.loads(one["record"]) == {"A": "a", "N": 0}
