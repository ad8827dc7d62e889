"""Values of SQL's functions of texts, bytes, patterns, URLs and JSON, parsed and bound as in a statement."""

import pytest
from pyspark.sql import SparkSession

from duolog.engine.lowering.sql_functions.registry import lower_sql_function
from duolog.plan.types import (
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Struct,
    Type,
)
from unit.engine.lowering.sql_functions.sql_values import Values, compiled, lowered, values
from unit.engine.lowering.sql_functions.text_samples import (
    CODES,
    FAIL,
    JSON,
    MASKS,
    PATTERNS,
    TEXTS,
    URLS,
)
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    kernel_package(spark)
    return spark


@pytest.mark.parametrize("family", [TEXTS, MASKS, CODES, PATTERNS, URLS, JSON, FAIL])
def test_a_function_gives_its_value_interpreted_and_compiled(
    session: SparkSession, family: Values
) -> None:
    interpreted = values(session, list(family))
    with compiled(session):
        in_java = values(session, list(family))

    assert interpreted == family
    assert in_java == family


def test_each_call_makes_another_uuid(session: SparkSession) -> None:
    rows = session.range(2).selectExpr(f"{lowered('UUID()')} a", f"{lowered('UUID()')} b").collect()

    assert len({value for row in rows for value in row}) == 4
    assert all(value[14] == "4" for row in rows for value in row)


@pytest.mark.parametrize(
    ("kind", "value", "json"),
    [
        (TIME, "47107250", '"13:05:07.250"'),
        (INT, "47107250", "47107250"),
        (TIME, "CAST(NULL AS INT)", "null"),
        (DATE, "DATE '1972-09-27'", '"1972-09-27"'),
        (TIMESTAMP, "TIMESTAMP '1969-12-31 23:59:59.999'", '"1969-12-31T23:59:59.999"'),
        (
            Struct((Column("it's", Array(TIME)), Column("n", DOUBLE))),
            "named_struct('it\\'s', array(0, NULL), 'n', CAST(NULL AS DOUBLE))",
            '{"it\'s":["00:00",null],"n":null}',
        ),
        (Map(STRING, TIME), "map('a', 60000)", '{"a":"00:01"}'),
    ],
)
def test_json_of_a_value_distinguishes_times_from_numbers(
    session: SparkSession, kind: Type, value: str, json: str
) -> None:
    sql = lower_sql_function("TO_JSON_STRING", [value], [kind], STRING)

    assert session.range(1).selectExpr(sql).collect()[0][0] == json


def test_functions_run_in_a_lambda(session: SparkSession) -> None:
    sql = "transform(array('a', NULL), x -> {})".format(
        lower_sql_function("LPAD", ["x", "3", "'-'"], [STRING] * 3, STRING)
    )

    assert session.range(1).selectExpr(sql).collect()[0][0] == ["--a", None]
