"""CREATE FUNCTION, DROP FUNCTION, and statements that call user-defined functions."""

from typing import Final

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import Done
from duolog.ksql.syntax.types import sql_name

MODULE: Final = "unit.ksql.udf.sample_functions"
MADE: Final = (
    "".join(
        f"CREATE FUNCTION {name} FROM '{MODULE}:{of}';"
        for name, of in [
            ("score", "score"),
            ("pick", "pick"),
            ("words", "words"),
            ("mean2", "Mean"),
            ("longest", "Longest"),
        ]
    )
    + "CREATE STREAM s (k STRING KEY, a STRING, n INT, p STRUCT<lat DOUBLE, lon DOUBLE>, l ARRAY<INT>) "
    "WITH (kafka_topic='s', value_format='JSON', partitions=1);"
    "CREATE TABLE t (k STRING PRIMARY KEY, g STRING, n INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);"
)


def last_result(text: str, session: SqlSession | None = None) -> Done:
    """Return what the last statement has done."""
    *_, done = (session or SqlSession()).run(MADE * (session is None) + text)
    return done


@pytest.mark.parametrize(
    ("selected", "columns"),
    [
        ("k, score(a, n) + 1 AS x FROM s", ["`X` BIGINT"]),
        ("k, score(p)->lat AS x FROM s WHERE score(a) > 3", ["`X` DOUBLE"]),
        ("k, pick(l, 1) AS x, pick(ARRAY[a], 0) AS y FROM s", ["`X` INTEGER", "`Y` STRING"]),
        ("k, words(a, k) AS x FROM s", ["`X` STRING"]),
        ("k, score(CASE WHEN score(a) > 1 THEN a END) AS x FROM s", ["`X` BIGINT"]),
        ("score(a) AS x, k FROM s PARTITION BY score(a)", ["`X` BIGINT KEY", "`K` STRING"]),
        (
            "k, mean2(n) AS x, score(longest(a)) AS y FROM s GROUP BY k",
            ["`X` DOUBLE", "`Y` BIGINT"],
        ),
        (
            "k, mean2(n, 3) AS x FROM s WINDOW SESSION (5 SECONDS) GROUP BY k HAVING mean2(n) > 2",
            ["`X` DOUBLE"],
        ),
        ("g, mean2(n) AS x FROM t GROUP BY g", ["`X` DOUBLE"]),
        ("k, TRANSFORM(l, i => score(CAST(i AS STRING))) AS x FROM s", ["`X` ARRAY<BIGINT>"]),
    ],
)
def test_user_functions_can_be_called_like_built_in_ones(selected: str, columns: list[str]) -> None:
    kind = "TABLE" if "GROUP BY" in selected else "STREAM"

    query = last_result(f"CREATE {kind} x AS SELECT {selected};").query

    assert query is not None
    found = [str(column) for column in query.planned.columns]
    assert [one for one in found if "KEY" in one or one.partition(" ")[0] in "`X` `Y` `K`"][
        -len(columns) :
    ] == columns


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT score(n, n, n) FROM s EMIT CHANGES;", r"Function 'score' does not accept parameters \(INTEGER, INTEGER, INTEGER\)\."),
        ("SELECT pick(null, 1) FROM s EMIT CHANGES;", r"Function 'pick' is called with a null that has no type\."),
        ("SELECT score(words(a)) AS x FROM s WHERE words(a) = 'x' EMIT CHANGES;", "WORDS is a table function and cannot be called here"),
        ("SELECT k, mean2(n, n) FROM s GROUP BY k EMIT CHANGES;", "Parameter 2 passed to function MEAN2 must be a literal constant"),
        ("SELECT k, mean2(DISTINCT n) FROM s GROUP BY k EMIT CHANGES;", "MEAN2 does not support DISTINCT"),
        ("SELECT g, longest(k) FROM t GROUP BY g EMIT CHANGES;", r"The aggregation function\(s\) \(LONGEST\) cannot be applied to a table source"),
        ("SELECT k, longest(a) FROM s WINDOW SESSION (5 SECONDS) GROUP BY k EMIT CHANGES;", "LONGEST cannot be used in session windows: it has no merge"),
        ("SELECT k, mean2(mean2(n)) FROM s GROUP BY k EMIT CHANGES;", "Aggregate functions can not be nested"),
        ("SELECT TRANSFORM(l, i => i) AS x, score(i => i) FROM s EMIT CHANGES;", "SCORE does not accept lambdas"),
        (f"CREATE FUNCTION score FROM '{MODULE}:score';", "Cannot create function SCORE: it already exists, from"),
        (f"CREATE FUNCTION ucase FROM '{MODULE}:score';", "Cannot create function UCASE: a built-in function has this name"),
        (f"CREATE FUNCTION x FROM '{MODULE}:nothing';", "Cannot create function X from .*: module .* has no function \"nothing\""),
        ("CREATE FUNCTION x FROM 'nothing';", "\"nothing\" is not the name of a function"),
        ("DROP FUNCTION x;", r"Function X does not exist\."),
        ("DESCRIBE FUNCTION scores;", "Can't find any functions with the name 'SCORES'"),
    ],
)  # fmt: skip
def test_invalid_statements_are_refused(statement: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        last_result(statement)


def test_a_function_is_listed_and_described() -> None:
    session = SqlSession()
    list(session.run(MADE))

    (listed,) = last_result("SHOW FUNCTIONS;", session).rows
    facts, ways = last_result("DESCRIBE FUNCTION score;", session).rows

    assert ("MEAN2", "AGGREGATE") in listed.rows
    assert ("WORDS", "TABLE") in listed.rows
    assert list(listed.rows) == sorted(listed.rows)
    assert ("From", f"{MODULE}:score") in facts.rows
    assert ("SCORE(name STRING, times BIGINT)", "BIGINT") in ways.rows


def test_a_function_in_use_is_kept_and_replaced_by_one_of_the_same_types_only() -> None:
    session = SqlSession()
    list(session.run(MADE + "CREATE STREAM x AS SELECT k, score(a) AS n FROM s;"))  # noqa: S608 - made of constants
    before = session.state.queries["CSAS_X_0"]

    with pytest.raises(SqlError, match=r"Cannot drop function SCORE: it is called by CSAS_X_0\."):
        last_result("DROP FUNCTION score;", session)
    with pytest.raises(SqlError, match="Cannot replace function SCORE: queries call it"):
        last_result(f"CREATE OR REPLACE FUNCTION score FROM '{MODULE}:shown';", session)
    done = last_result(f"CREATE OR REPLACE FUNCTION score FROM '{MODULE}:score';", session)

    assert done.message == f"Function SCORE replaced from '{MODULE}:score'"
    assert session.state.queries["CSAS_X_0"].planned is not before.planned, "it starts again"
    assert session.state.queries["CSAS_X_0"].planned.plan is before.planned.plan
    assert (
        last_result("TERMINATE CSAS_X_0; DROP FUNCTION score;", session).message
        == "Function SCORE dropped"
    )


def test_if_not_exists_leaves_an_existing_function_unchanged() -> None:
    assert (
        last_result(f"CREATE FUNCTION IF NOT EXISTS score FROM '{MODULE}:shown';").message
        == f"Function SCORE already exists, from '{MODULE}:score'"
    )
    assert (
        last_result("DROP FUNCTION IF EXISTS nothing;").message == "Function NOTHING does not exist"
    )


def test_the_state_of_an_aggregate_has_its_own_type() -> None:
    query = last_result("CREATE TABLE x AS SELECT k, mean2(n) AS x FROM s GROUP BY k;").query

    assert query is not None
    (node,) = [one for one in query.planned.plan.nodes if one.stores]
    (kept,) = node.accumulators  # type: ignore[attr-defined] # It is the aggregate.
    assert sql_name(kept.type) == "STRUCT<`LAT` DOUBLE, `LON` DOUBLE>"
    assert kept.name == "sql:MEAN2(sql:CAST(`S.N`, CAST(NULL AS DOUBLE)), constants=())"


def test_explain_shows_which_user_functions_are_called_and_how() -> None:
    done = last_result("EXPLAIN CREATE STREAM x AS SELECT k, score(a, n) AS x FROM s;")

    (calls,) = [rows for rows in done.rows if rows.title == "Functions in Python"]

    assert calls.columns == ("Function", "Step", "Kind", "Modes", "Called")
    ((function, _step, kind, modes, how),) = calls.rows
    assert str(function).startswith("SCORE (sample_functions.py:"), function
    assert (kind, modes) == ("scalar", "both modes")
    assert str(how).startswith("in a process next to each task; up to 1000 records")
