"""Values of SQL's functions of numbers, arrays, maps and times, parsed and bound as in a statement."""

import pytest
from pyspark.sql import SparkSession

from unit.engine.lowering.sql_functions.sql_values import Values, compiled, lowered, values
from unit.engine.lowering.sql_functions.value_samples import (
    ARRAYS,
    LAMBDAS,
    LARGE_SETS,
    MAPS,
    NUMBERS,
    TIMES,
)
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    kernel_package(spark)
    return spark


@pytest.mark.parametrize("family", [NUMBERS, ARRAYS, LARGE_SETS, LAMBDAS, MAPS, TIMES])
def test_a_function_gives_its_value_interpreted_and_compiled(
    session: SparkSession, family: Values
) -> None:
    interpreted = values(session, list(family))
    with compiled(session):
        in_java = values(session, list(family))

    assert interpreted == pytest.approx(family) if family is NUMBERS else interpreted == family
    assert in_java == interpreted


def test_each_call_draws_another_number(session: SparkSession) -> None:
    rows = session.range(2).selectExpr(f"{lowered('RANDOM()')} a", f"{lowered('RANDOM()')} b")

    assert len({value for row in rows.collect() for value in row}) == 4
