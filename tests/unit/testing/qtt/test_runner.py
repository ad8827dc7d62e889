"""Outcomes of the query test runner for cases that do not pass."""

from typing import Any

import pytest

from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.function_names import AGGREGATE, NAMES, SCALAR, TABLE
from duolog.testing.qtt.runner import run_case

SOURCE = "CREATE STREAM s (k STRING KEY, a INT) WITH (kafka_topic='s', value_format='JSON');"


def case_of(query: str, **spec: Any) -> Case:
    return Case("f", "c", "n", (SOURCE, query), spec)


def test_a_case_with_a_function_of_the_test_jar_is_skipped() -> None:
    query = "CREATE STREAM o AS SELECT k, NO_SUCH(a) AS b FROM s;"

    outcome = run_case(case_of(query))
    expecting = run_case(case_of(query, expectedException={"message": "something else"}))

    assert outcome.status == expecting.status == "skip"
    assert outcome.reason == "calls NO_SUCH, a function of ksqlDB's test jar"


def test_all_functions_of_ksqldb_exist() -> None:
    assert (len(SCALAR), len(AGGREGATE), len(TABLE), len(NAMES)) == (129, 18, 2, 149)
    assert sorted(NAMES - FUNCTIONS.keys()) == []


def test_a_missing_function_of_ksqldb_is_not_taken_for_one_of_the_test_jar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(SQL_FUNCTIONS, "ABS")
    query = "CREATE STREAM o AS SELECT k, ABS(a) AS b FROM s;"

    outcome = run_case(case_of(query))
    expecting = run_case(case_of(query, expectedException={"message": "something else"}))

    assert (outcome.status, expecting.status) == ("error", "fail")
    assert "Can't find any functions with the name 'ABS'" in outcome.reason


def test_an_expected_unknown_function_passes() -> None:
    query = "CREATE STREAM o AS SELECT k, NO_SUCH(a) AS b FROM s;"
    error = {"message": "Can't find any functions with the name 'NO_SUCH'"}

    assert run_case(case_of(query, expectedException=error)).status == "pass"


def test_an_unexpected_error_is_a_failure() -> None:
    outcome = run_case(
        case_of("CREATE STREAM o AS SELECT k, b FROM s;", expectedException={"message": "x"})
    )

    assert outcome.status == "fail"
    assert "cannot be resolved" in outcome.reason


def test_server_tests_insert_refuse_and_query_rows() -> None:
    row = "INSERT INTO s VALUES ('x', 1.5);"
    wrong = {"suite": "RQTT", "expectedError": {"message": "Expected type INTEGER for field `A`"}}

    assert run_case(case_of(row, **wrong)).status == "pass"
    assert run_case(case_of("", suite="RQTT", responses=[{"query": []}])).status == "fail"
    header = {"header": {"schema": "`K` STRING, `A` INTEGER"}}
    end = {"finalMessage": "Query Completed"}
    row_too_many = [header, {"row": {"columns": ["x", 1]}}, end]
    for rows, status in (([header, end], "pass"), ([header], "fail"), (row_too_many, "fail")):
        asked = case_of(
            "SELECT * FROM s;", suite="RQTT", responses=[{"admin": {}}, {"query": rows}]
        )
        assert run_case(asked).status == status
    assert run_case(case_of("", suite="RQTT")).status == "pass"
    assert run_case(case_of("")).reason == "test did not generate any queries"


def test_functions_of_the_test_jar_run_as_python_functions() -> None:
    query = "CREATE TABLE o AS SELECT k, MID_VAR_ARG(a, k, 'xy', 10, 20) AS b FROM s GROUP BY k;"
    record = {"topic": "s", "key": "key", "value": {"a": 5}}
    wanted = {"topic": "O", "key": "key", "value": {"B": 40}}

    outcome = run_case(case_of(query, inputs=[record], outputs=[wanted]))
    other = run_case(case_of(query, inputs=[record], outputs=[wanted | {"value": {"B": 41}}]))

    assert (outcome.status, outcome.reason) == ("pass", "")
    assert other.status == "fail"


def test_an_overload_of_the_test_jar_that_no_case_determines_is_skipped() -> None:
    outcome = run_case(case_of("CREATE STREAM o AS SELECT BAD_UDF(k) AS b FROM s;"))

    assert outcome.status == "skip"
    assert outcome.reason == "calls BAD_UDF with STRING, an overload of ksqlDB's test jar"
