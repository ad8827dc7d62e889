"""Files of SQL tests, on the kernel of the test run."""

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from duolog.cli.main import cli
from duolog.core.errors import StatementError
from duolog.testing.sql import TestOutcome, read_tests, run_test

FLIGHTS: Final = "CREATE STREAM flights (id INT KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');"
CHAIN: Final = f"""\
--@test: late flights are counted
{FLIGHTS}
CREATE STREAM late AS SELECT id, delay * 2 AS twice FROM flights WHERE delay > 10;
CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM late GROUP BY id;
INSERT INTO flights (ROWTIME, id, delay) VALUES (5, 1, 25);
INSERT INTO flights VALUES (1, 5);
INSERT INTO flights VALUES (1, 50);
ASSERT VALUES late (ROWTIME, id, twice) VALUES (5, 1, 50);
ASSERT VALUES late (id, twice) VALUES (1, 100);
ASSERT VALUES n (id, n) VALUES (1, 1);
ASSERT VALUES n (id, n) VALUES (1, 2);
ASSERT STREAM late (id INT KEY, twice INT) WITH (kafka_topic='LATE', value_format='JSON');
ASSERT TABLE n (id INT KEY, n BIGINT);
ASSERT TOPIC LATE;

--@test: windows and rows that go
{FLIGHTS}
CREATE TABLE t (id INT PRIMARY KEY, a INT) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM flights WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id;
CREATE TABLE big AS SELECT id, a FROM t WHERE a > 10;
INSERT INTO flights (ROWTIME, id, delay) VALUES (15000, 1, 25);
ASSERT VALUES n (id, WINDOWSTART, WINDOWEND, n) VALUES (1, 10000, 20000, 1);
INSERT INTO t VALUES (1, 20);
INSERT INTO t VALUES (1, 2);
ASSERT VALUES big VALUES (1, 20);
ASSERT NULL VALUES big (id) KEY (1);

--@test: a statement must fail
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: NOTHING does not exist
SELECT * FROM nothing EMIT CHANGES;

--@test: a query that was begun late reads what was there, and one that has ended nothing
{FLIGHTS}
INSERT INTO flights VALUES (1, 50);
CREATE STREAM late AS SELECT * FROM flights WHERE delay > 10;
ASSERT VALUES late VALUES (1, 50);
TERMINATE ALL;
INSERT INTO flights VALUES (2, 50);
CREATE STREAM other AS SELECT * FROM flights WHERE delay > 10;
ASSERT VALUES other VALUES (1, 50);
ASSERT VALUES other VALUES (2, 50);
"""  # noqa: S608 - made of constants
WRONG: Final = f"""\
--@test: another value
{FLIGHTS}
INSERT INTO flights VALUES (1, 20);

ASSERT VALUES flights VALUES (1, 21);

--@test: no row
{FLIGHTS}
ASSERT VALUES flights VALUES (1, 21);

--@test: another time
{FLIGHTS}
INSERT INTO flights (ROWTIME, id) VALUES (7, 1);
ASSERT VALUES flights (ROWTIME, id) VALUES (8, 1);

--@test: a row that should be gone
{FLIGHTS}
INSERT INTO flights VALUES (1, 20);
ASSERT NULL VALUES flights (id) KEY (1);

--@test: no error
--@expected.message: nothing
SHOW STREAMS;

--@test: another error
--@expected.message: no such thing
SELCT 1;

--@test: an error
SELCT 1;
"""  # noqa: S608 - as above


def outcomes(text: str) -> list[TestOutcome]:
    return [run_test(test) for test in read_tests(text, "a.sql")]


@pytest.mark.spark
def test_rows_go_through_all_queries_and_results_are_compared(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert [(one.test.name, one.reason) for one in outcomes(CHAIN) if not one.passed] == []


@pytest.mark.spark
def test_a_wrong_assertion_fails_with_its_line(spark: SparkSession) -> None:
    assert spark is not None

    found = [(one.line, one.reason.splitlines()[0]) for one in outcomes(WRONG)]

    assert found == [
        (5, "the next row of FLIGHTS differs"),
        (9, "FLIGHTS has no more rows"),
        (14, "ROWTIME of the next row of FLIGHTS differs"),
        (19, "the next row of FLIGHTS differs"),
        (23, "expected an error, and there was none: nothing"),
        (27, "expected an error with: no such thing"),
        (30, "line 30:1: Syntax Error"),
    ]


@pytest.mark.spark
def test_the_command_prints_a_line_for_each_test_and_sets_its_status(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark is not None
    path = tmp_path / "a.sql"
    path.write_text(f"--@test: right\n{FLIGHTS}\n--@test: wrong\nSELCT 1;\n")

    both = CliRunner().invoke(cli, ["sql", "test", str(path)], standalone_mode=False)
    one = CliRunner().invoke(
        cli, ["sql", "test", "--only", "right", str(path)], standalone_mode=False
    )

    assert both.return_value == 1
    lines = both.stdout.splitlines()
    assert lines[0].startswith("ok    right (")
    assert lines[1:3] == ["FAIL  wrong", f"      {path}:4: line 4:1: Syntax Error"]
    assert both.stderr == "1 passed, 1 failed\n"
    assert (one.return_value, one.stderr) == (0, "1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SHOW STREAMS;", 'no test in "a.sql"'),
        ("--@test: a\n--@expects: b\n", "unknown directive --@expects"),
    ],
)
def test_an_invalid_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(StatementError, match=said):
        list(read_tests(text, "a.sql"))
