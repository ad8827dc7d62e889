"""Compute the values of SQL expressions, parsed and bound as in a statement."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.session import parse
from duolog.plan.schema import parse_schema

Values = dict[str, object]
"""Expressions, and what they give."""


def lowered(expression: str) -> str:
    """Return an expression of the language as Spark SQL."""
    (statement,) = parse(f"SELECT {expression} FROM S;")  # noqa: S608 - the test's own text
    bound = Binder(SqlScope(()), {}).bind(statement.expressions[0])
    return lower_expression(bound.expression, Names.of(parse_schema("", "a INT")))


@contextmanager
def compiled(spark: SparkSession) -> Iterator[None]:
    """Make Spark compile expressions that it would otherwise fold, as it does for expressions of a column."""
    rules = "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"
    spark.conf.set("spark.sql.optimizer.excludedRules", rules)
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")


def values(spark: SparkSession, expressions: list[str]) -> Values:
    frame = spark.range(1).selectExpr(*map(lowered, expressions))
    return dict(zip(expressions, frame.collect()[0], strict=True))
