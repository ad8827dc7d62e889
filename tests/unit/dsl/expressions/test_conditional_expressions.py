"""Unused operands of an expression are not computed, so they may fail: in both engines."""

from typing import Final, Literal

import pytest

from duolog import Topology, coalesce, col, when
from duolog.core.errors import QueryError
from duolog.dsl.expressions.columns import Expr
from duolog.testing import TopologyDriver

ENGINES: Final = ["reference", pytest.param("kernel", marks=pytest.mark.spark)]
Engine = Literal["reference", "kernel"]

FAILS: Final = col("s").like("a\\b")
"""Fails for each text: a backslash precedes another character."""
NUMBER: Final = when(FAILS, 1.0).otherwise(2.0)

NEEDED: Final[dict[str, Expr]] = {
    "isin": col("d").isin(2.0, NUMBER),
    "between": col("d").between(0.5, NUMBER),
    "case": when(col("d") == 2.0, col("d")).otherwise(NUMBER) > 0,
    "coalesce": coalesce(col("none"), NUMBER) > 0,
    "and": (col("d") == 1.0) & FAILS,
    "or": (col("d") == 2.0) | FAILS,
}
NOT_NEEDED: Final[dict[str, Expr]] = {
    "isin": col("d").isin(1.0, NUMBER),
    "isin of null": col("none").isin(1.0, NUMBER).is_null(),
    "isin of whole numbers": col("n").isin(1, when(FAILS, 1).otherwise(2)),
    "between": ~col("d").between(2.0, NUMBER),
    "between of null": col("none").between(NUMBER, 2.0).is_null(),
    "between of whole numbers": ~col("n").between(2, when(FAILS, 1).otherwise(2)),
    "case": when(col("d") == 1.0, col("d")).otherwise(NUMBER) > 0,
    "coalesce": coalesce(col("d"), NUMBER) > 0,
    "and": ~((col("d") == 2.0) & FAILS),
    "or": (col("d") == 1.0) | FAILS,
    "a null": (col("none") + NUMBER).is_null(),
}


def kept(condition: Expr, engine: Engine) -> int:
    """Return how many of one record stay where a condition holds."""
    topology = Topology("t")
    numbers = topology.stream("numbers", value="d DOUBLE, n BIGINT, none DOUBLE, s STRING")
    numbers.filter(condition).to("out")
    with TopologyDriver(topology, engine=engine) as driver:
        driver.input_topic("numbers").pipe_input(None, {"d": 1.0, "n": 1, "none": None, "s": "a"})
        return len(driver.output_topic("out").read_records())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NOT_NEEDED)
def test_a_failure_in_an_unneeded_column_is_ignored(case: str, engine: Engine) -> None:
    """`d.isin(1.0, x)` failed with x, though d was 1.0."""
    assert kept(NOT_NEEDED[case], engine) == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NEEDED)
def test_a_failure_in_a_needed_column_fails_the_record(case: str, engine: Engine) -> None:
    with pytest.raises(QueryError):
        kept(NEEDED[case], engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_doubles_are_compared_with_several_by_sqls_rules(engine: Engine) -> None:
    nan = col("d") * float("inf") - col("d") * float("inf")
    cases: dict[str, tuple[Expr, bool | None]] = {
        "one is equal": (col("d").isin(2.0, 1.0), True),
        "none is": (col("d").isin(2.0, 3.0), False),
        "none is, one is null": (col("d").isin(2.0, col("none")), None),
        "one is equal, one is null": (col("d").isin(col("none"), 1.0), True),
        "NaN equals nothing": (nan.isin(1.0, nan), False),
        "whole numbers are widened": (col("d").isin(2, col("n")), True),
        "between": (col("d").between(1, 1.5), True),
        "not between": (col("d").between(0, 0.5), False),
        "below a bound, the other one is null": (col("d").between(2.0, col("none")), False),
        "above a bound, the other one is null": (col("d").between(0.0, col("none")), None),
        "NaN is between nothing": (nan.between(0.0, 1.0), False),
    }
    for name, (given, value) in cases.items():
        holds = given.is_null() if value is None else given == value
        assert kept(holds, engine) == 1, name
